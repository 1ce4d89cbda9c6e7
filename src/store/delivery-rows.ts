/** Delivery rows: webhooks, inserted in the transaction that settles their task. */

import { addJob, removeJob } from './job-rows.ts';
import type { Transaction } from './operation.ts';

/** Kind of the jobs that deliver webhooks. */
export const WEBHOOK_JOB_KIND = 'webhook';

export interface NewDelivery {
  /** The idempotency key `<task id>-<status>`. */
  id: string;
  taskId: string;
  owner: string;
  url: string;
  /** The bytes that every attempt signs and sends. */
  body: Uint8Array;
  /** Unix milliseconds. */
  createdAt: number;
}

/** The first attempt is due immediately. Does nothing if the task already has a delivery. */
export async function addDelivery(transaction: Transaction, delivery: NewDelivery): Promise<void> {
  const { id, taskId, owner, url, body, createdAt } = delivery;
  const row = { id, task_id: taskId, owner, url, body, state: 'pending', created_at: createdAt };
  const added = await transaction.insert('delivery', [row], { ignoreDuplicates: true });
  if (added > 0)
    await addJob(transaction, { kind: WEBHOOK_JOB_KIND, ref: id, lane: laneOf(url), owner, dueAt: createdAt });
}

/** Deletes the delivery of a task with its attempt log and its jobs. */
export async function removeDelivery(transaction: Transaction, taskId: string): Promise<void> {
  const [delivery] = await transaction.all('SELECT id FROM delivery WHERE task_id = :taskId', { taskId });
  if (!delivery) return;
  const id = String(delivery.id);
  for (const ref of [id, replayJobRef(id)]) await removeJob(transaction, WEBHOOK_JOB_KIND, ref);
  await transaction.run('DELETE FROM delivery_attempt WHERE delivery_id = :id', { id });
  await transaction.run('DELETE FROM delivery WHERE id = :id', { id });
}

/** Erases the body of the webhook of a deleted task. A pending delivery keeps its body until it is settled. */
export async function eraseDeliveryBody(transaction: Transaction, taskId: string): Promise<void> {
  // A concurrent settlement cannot see the deletion yet: wait for its lock, then read its result.
  await transaction.all(`SELECT id FROM delivery WHERE task_id = :taskId ${transaction.forUpdate}`, { taskId });
  await transaction.run("UPDATE delivery SET body = NULL WHERE task_id = :taskId AND state <> 'pending'", { taskId });
}

/** Concurrency lane of a receiver: its host and port. */
export function laneOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port || '443'}`;
}

/** `ref` of the job that replays a delivery. */
export function replayJobRef(deliveryId: string): string {
  return `${deliveryId}/replay`;
}
