/** Job rows, written in the transactions of other operations, so that a change and its follow-up job commit together. */

import { randomUUID } from 'node:crypto';
import type { Transaction } from './operation.ts';

/** A leased job. A holder that lost its lease can no longer change the job. */
export interface Lease {
  id: string;
  lease: string;
}

export interface NewJob {
  kind: string;
  /** Id of the subject; unique among the jobs of a kind. */
  ref: string;
  /** Concurrency group with its own limit, e.g. the host of a receiver. */
  lane: string;
  /** Tenant, for the limit per owner. */
  owner: string;
  /** Unix milliseconds, at most two hours ahead: what is due later counts as written by a clock that was set back since. */
  dueAt: number;
}

/** Does nothing if the job already exists. */
export async function addJob(transaction: Transaction, { kind, ref, lane, owner, dueAt }: NewJob): Promise<void> {
  const row = { id: randomUUID(), kind, ref, lane, owner, due_at: dueAt };
  await transaction.insert('job', [row], { ignoreDuplicates: true });
}

/** Locks the job for the rest of the transaction. False when the lease is lost. */
export async function lockLeasedJob(transaction: Transaction, { id, lease }: Lease): Promise<boolean> {
  const sql = `SELECT id FROM job WHERE id = :id AND lease = :lease ${transaction.forUpdate}`;
  return (await transaction.all(sql, { id, lease })).length > 0;
}

/** False when the lease is lost. */
export async function finishJob(transaction: Transaction, { id, lease }: Lease): Promise<boolean> {
  return (await transaction.run('DELETE FROM job WHERE id = :id AND lease = :lease', { id, lease })) > 0;
}

/** Releases the lease. `attempts` is the number of attempts that had an outcome since the claim. False if the lease is lost. */
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

/** Lowers the priority of a job below those with fewer attempts. */
export async function markLate(transaction: Transaction, id: string): Promise<void> {
  await transaction.run('UPDATE job SET late = 1 WHERE id = :id', { id });
}

/** Counts consecutive connection failures of a lane; a healthy lane has no row. */
export async function recordLaneReachability(
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

/** Moves a job to a lane and makes it due immediately if it waits. The holder of a leased job sees the change itself. */
export async function makeJobDue(
  transaction: Transaction,
  { kind, ref, lane }: Pick<NewJob, 'kind' | 'ref' | 'lane'>,
  now: number,
): Promise<void> {
  const sql = `UPDATE job SET lane = :lane, due_at = CASE WHEN due_at > :now THEN :now ELSE due_at END
    WHERE kind = :kind AND ref = :ref`;
  await transaction.run(sql, { kind, ref, lane, now });
}

/** Deletes the job of a kind for an object, if there is one. */
export async function removeJob(transaction: Transaction, kind: string, ref: string): Promise<void> {
  await transaction.run('DELETE FROM job WHERE kind = :kind AND ref = :ref', { kind, ref });
}
