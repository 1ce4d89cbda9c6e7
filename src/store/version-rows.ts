/** Counters of changes, one for each kind of object that caches hold. */

import type { Transaction } from './operation.ts';

export type VersionSubject = 'audit' | 'keys' | 'tags' | 'views';

/** Counts a change. Locks the row of the counter, so that the changes of all gateways are in one order. */
export async function nextVersion(transaction: Transaction, subject: VersionSubject): Promise<number> {
  const [row] = await transaction.all(
    `INSERT INTO version (subject, value) VALUES (:subject, 1)
     ON CONFLICT (subject) DO UPDATE SET value = version.value + 1 RETURNING value`,
    { subject },
  );
  return Number(row?.value);
}

/** The number of changes so far. */
export async function versionOf(transaction: Transaction, subject: VersionSubject): Promise<number> {
  const [row] = await transaction.all('SELECT value FROM version WHERE subject = :subject', { subject });
  return Number(row?.value ?? 0);
}
