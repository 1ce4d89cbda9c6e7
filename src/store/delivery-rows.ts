/** Webhooks owed, inside the transactions of the operations that owe them. */

import { addJob } from './job-rows.ts';
import type { Transaction } from './operation.ts';

export interface NewDelivery {
  /** The idempotency key: `<task id>-<status>`. */
  id: string;
  taskId: string;
  owner: string;
  url: string;
  /** The bytes that are signed and sent at every attempt. */
  body: Uint8Array;
  /** Unix milliseconds. */
  createdAt: number;
}

/** Throws when the task has a delivery already. */
export async function addDelivery(transaction: Transaction, delivery: NewDelivery): Promise<void> {
  const { id, taskId, owner, url, body, createdAt } = delivery;
  const row = { id, task_id: taskId, owner, url, body, state: 'pending', created_at: createdAt };
  await transaction.insert('delivery', [row]);
  await addJob(transaction, { kind: 'webhook', ref: id, lane: new URL(url).host, owner, dueAt: createdAt });
}
