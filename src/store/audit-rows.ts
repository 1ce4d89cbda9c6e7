/** Audit log rows, inserted in the transaction of the change that they describe. */

import type { Transaction } from './operation.ts';
import { nextVersion } from './version-rows.ts';

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

export async function addAudit(transaction: Transaction, entry: AuditEntry): Promise<void> {
  const { author, at, action, subject, before, after } = entry;
  const row = {
    id: await nextVersion(transaction, 'audit'),
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
