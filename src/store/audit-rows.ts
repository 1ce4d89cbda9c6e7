/** Rows of the audit log inside the transactions of operations: they stand exactly when the change does. */

import type { Transaction } from './operation.ts';

/** Who changes something. */
export interface Author {
  actor: 'admin' | 'command line' | 'gateway';
  requestId?: string;
}

export interface AuditEntry {
  author: Author;
  /** Unix milliseconds. */
  at: number;
  /** Such as `key.create`. */
  action: string;
  /** The id of what is changed. */
  subject: string;
  /** What is different afterwards; never a secret. */
  before?: object;
  after?: object;
}

/** Writers wait for each other here, so that the log has one order. */
export async function addAudit(transaction: Transaction, entry: AuditEntry): Promise<void> {
  const { author, at, action, subject, before, after } = entry;
  const [counted] = await transaction.all(
    `INSERT INTO version (subject, value) VALUES ('audit', 1)
     ON CONFLICT (subject) DO UPDATE SET value = version.value + 1 RETURNING value`,
  );
  const row = {
    ...{ id: Number(counted?.value), at, action, subject, actor: author.actor },
    before: before ? JSON.stringify(before) : null,
    after: after ? JSON.stringify(after) : null,
    request_id: author.requestId ?? null,
  };
  await transaction.insert('audit', [row]);
}
