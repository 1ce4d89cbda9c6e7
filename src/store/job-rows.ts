/** Rows of the job table inside the transactions of other operations, so that what is done and what is to be done change together. */

import { randomUUID } from 'node:crypto';
import type { Transaction } from './operation.ts';

/** A job of which somebody holds the lease. Whoever lost it changes nothing any more. */
export interface Lease {
  id: string;
  lease: string;
}

export interface NewJob {
  kind: string;
  /** What it is about; one job of a kind for each. */
  ref: string;
  /** Jobs of a lane share a limit, e.g. the host of a receiver. */
  lane: string;
  /** Whose work it is, for limits per tenant. */
  owner: string;
  /** Unix milliseconds. */
  dueAt: number;
}

/** Does nothing when there is such a job already. */
export async function addJob(transaction: Transaction, { kind, ref, lane, owner, dueAt }: NewJob): Promise<void> {
  const row = { id: randomUUID(), kind, ref, lane, owner, due_at: dueAt };
  await transaction.insert('job', [row], { ignoreDuplicates: true });
}

/** Locks the job for the rest of the transaction. False when the lease is lost. */
export async function holdsJob(transaction: Transaction, { id, lease }: Lease): Promise<boolean> {
  const sql = `SELECT id FROM job WHERE id = :id AND lease = :lease ${transaction.forUpdate}`;
  return (await transaction.all(sql, { id, lease })).length > 0;
}

/** False when the lease is lost. */
export async function finishJob(transaction: Transaction, { id, lease }: Lease): Promise<boolean> {
  return (await transaction.run('DELETE FROM job WHERE id = :id AND lease = :lease', { id, lease })) > 0;
}

/** Gives the lease back. `attempts` says how many attempts had an outcome since the claim. False when the lease is lost. */
export async function rescheduleJob(
  transaction: Transaction,
  { id, lease }: Lease,
  dueAt: number,
  attempts = 0,
): Promise<boolean> {
  const sql = `UPDATE job SET due_at = :dueAt, attempt = attempt + :attempts, faults = 0, lease = '', lease_until = 0
    WHERE id = :id AND lease = :lease`;
  return (await transaction.run(sql, { id, lease, dueAt, attempts })) > 0;
}

/** From now on the job leaves room for those that had fewer attempts. */
export async function markLate(transaction: Transaction, id: string): Promise<void> {
  await transaction.run('UPDATE job SET late = 1 WHERE id = :id', { id });
}

/** Counts how often in a row the far end of a lane could not be reached; a lane without a row is in order. */
export async function recordLane(
  transaction: Transaction,
  lane: { kind: string; lane: string },
  reached: boolean,
): Promise<void> {
  const sql = reached
    ? 'DELETE FROM job_lane WHERE kind = :kind AND lane = :lane'
    : `INSERT INTO job_lane (kind, lane, failures) VALUES (:kind, :lane, 1)
       ON CONFLICT (kind, lane) DO UPDATE SET failures = job_lane.failures + 1`;
  await transaction.run(sql, { kind: lane.kind, lane: lane.lane });
}

/** Makes a job due at once unless somebody is at it; then its holder sees the change by itself. */
export async function hastenJob(transaction: Transaction, kind: string, ref: string, now: number): Promise<void> {
  const sql = 'UPDATE job SET due_at = :now WHERE kind = :kind AND ref = :ref AND due_at > :now';
  await transaction.run(sql, { kind, ref, now });
}

export async function removeJob(transaction: Transaction, kind: string, ref: string): Promise<void> {
  await transaction.run('DELETE FROM job WHERE kind = :kind AND ref = :ref', { kind, ref });
}
