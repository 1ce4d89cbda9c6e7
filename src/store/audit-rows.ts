/** Audit log rows, inserted in the transaction of the change that they describe. */

import type { Transaction } from './operation.ts';

/** Author of a change. */
export interface Author {
  actor: 'admin' | 'command line' | 'gateway' | 'key';
  requestId?: string;
}

export interface AuditEntry {
  author: Author;
  /** Unix milliseconds. */
  at: number;
  /** Such as `key.create`. */
  action: string;
  /** Id of the changed object. */
  subject: string;
  /** Changed values; never a secret. */
  before?: object;
  after?: object;
}

/** Locks the row of the audit counter, so that all writers agree on one order. */
export async function addAudit(transaction: Transaction, entry: AuditEntry): Promise<void> {
  const { author, at, action, subject, before, after } = entry;
  const [counted] = await transaction.all(
    `INSERT INTO version (subject, value) VALUES ('audit', 1)
     ON CONFLICT (subject) DO UPDATE SET value = version.value + 1 RETURNING value`,
  );
  const row = {
    id: Number(counted?.value),
    at,
    action,
    subject,
    actor: author.actor,
    before: before ? JSON.stringify(before) : null,
    after: after ? JSON.stringify(after) : null,
    request_id: author.requestId ?? null,
  };
  await transaction.insert('audit', [row]);
}
