/** The body of a webhook, made once when a task settles: every attempt sends the same bytes. */

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
  /** What `GET /v1/videos/{id}` answers. */
  task: object;
}

/** Receivers must not have to take more. */
const MAX_BODY_BYTES = 256 * 1024;
/** What a body that is too large goes without; the status endpoint still has it. */
const OMITTABLE_FIELDS = ['prompt', 'metadata'];

/** What the operation that settles the task adds in its transaction. */
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
