/** Webhooks owed, as rows inside the transaction that settles their task. */

import { addJob, removeJob } from './job-rows.ts';
import type { Transaction } from './operation.ts';

/** The kind of the jobs that deliver. */
export const WEBHOOK = 'webhook';

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

/** The first attempt is due at once. Does nothing when the task has its delivery already. */
export async function addDelivery(transaction: Transaction, delivery: NewDelivery): Promise<void> {
  const { id, taskId, owner, url, body, createdAt } = delivery;
  const row = { id, task_id: taskId, owner, url, body, state: 'pending', created_at: createdAt };
  const added = await transaction.insert('delivery', [row], { ignoreDuplicates: true });
  if (added > 0) await addJob(transaction, { kind: WEBHOOK, ref: id, lane: laneOf(url), owner, dueAt: createdAt });
}

/** With its log, and without another attempt. */
export async function removeDelivery(transaction: Transaction, taskId: string): Promise<void> {
  const [delivery] = await transaction.all('SELECT id FROM delivery WHERE task_id = :taskId', { taskId });
  if (!delivery) return;
  const id = String(delivery.id);
  for (const ref of [id, replayOf(id)]) await removeJob(transaction, WEBHOOK, ref);
  await transaction.run('DELETE FROM delivery_attempt WHERE delivery_id = :id', { id });
  await transaction.run('DELETE FROM delivery WHERE id = :id', { id });
}

/** Forgets what the webhook of a task that was just deleted says, unless it is owed: then that is done when it is settled. */
export async function forgetBody(transaction: Transaction, taskId: string): Promise<void> {
  // Whoever is settling it cannot see the deletion yet: wait, and see theirs.
  await transaction.all(`SELECT id FROM delivery WHERE task_id = :taskId ${transaction.forUpdate}`, { taskId });
  await transaction.run("UPDATE delivery SET body = NULL WHERE task_id = :taskId AND state <> 'pending'", { taskId });
}

/** Receivers share a limit by their host and port. */
export function laneOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port || '443'}`;
}

/** What the job that replays a delivery is about. */
export function replayOf(deliveryId: string): string {
  return `${deliveryId}/replay`;
}
