/** Webhook body: encoded once, when the task settles, so that every attempt sends the same bytes. */

import type { TerminalStatus } from '../records/video-task.ts';
import type { NewDelivery } from '../store/delivery-rows.ts';

export interface SettledTask {
  taskId: string;
  status: TerminalStatus;
  /** The task's `callback_url`. */
  url: string;
  owner: string;
  /** Unix milliseconds. */
  createdAt: number;
  /** The task as returned by `GET /v1/videos/{id}`. */
  task: object;
}

/** Upper limit of the body, so that receivers can rely on it. */
const MAX_BODY_BYTES = 256 * 1024;
/** Fields left out of a body that would be too large. The status endpoint still returns them. */
const OMITTABLE_FIELDS = ['prompt', 'metadata'];

/** The delivery to insert in the transaction that settles the task. */
export function newDelivery({ taskId, status, url, owner, createdAt, task }: SettledTask): NewDelivery {
  const head = { event: `video.generation.${status}`, id: taskId, created_at: Math.floor(createdAt / 1000) };
  const encode = (data: object) => Buffer.from(JSON.stringify({ ...head, data }));
  let body = encode(task);
  const remaining = new Map(Object.entries(task));
  for (const field of OMITTABLE_FIELDS) {
    if (body.length <= MAX_BODY_BYTES) break;
    remaining.delete(field);
    body = encode(Object.fromEntries(remaining));
  }
  return { id: `${taskId}-${status}`, taskId, owner, url, body, createdAt };
}
