/** Video tasks for those who serve them: everything here reads and writes the store and asks no upstream. */

import type { Handler } from '../jobs/job.ts';
import type { Creation } from './creation.ts';
import type { AssetSource } from './mirror.ts';
import type { VideoStatus, VideoTask } from './task.ts';

export interface NewTask {
  /** The id of the caller's key. */
  owner: string;
  creation: Creation;
  /** The caller's `Idempotency-Key`. */
  idempotencyKey?: string;
  /** It says that it sends this again: an equal request a short while ago is taken for the same. */
  retried?: boolean;
}

export interface TaskQuery {
  limit: number;
  /** The id of the last task of the page before. */
  after?: string;
  order: 'asc' | 'desc';
  status?: VideoStatus;
  model?: string;
}

/** Unknown, foreign and deleted tasks are all `video_not_found`; every call throws `unavailable` when the store cannot. */
export interface Videos {
  /** Throws `idempotency_key_reused` and `model_not_found`. */
  create(task: NewTask): Promise<{ task: VideoTask; replayed: boolean }>;
  get(owner: string, id: string): Promise<VideoTask>;
  /** For who has proven otherwise that the task may be read. */
  find(id: string): Promise<VideoTask>;
  /** Everybody's without an owner. */
  list(owner: string | undefined, query: TaskQuery): Promise<{ tasks: VideoTask[]; more: boolean }>;
  /** Throws `cancel_not_possible`; a terminal task is returned as it is. */
  cancel(owner: string, id: string, options: { abandon: boolean }): Promise<VideoTask>;
  /** Throws `video_not_terminal`. */
  remove(owner: string, id: string): Promise<void>;
  /** Where a video of a completed task that is not mirrored is to be had: this one may ask the upstream. */
  source(task: VideoTask, index: number, signal: AbortSignal): Promise<AssetSource | undefined>;
  /** Sees that what is no longer kept gets cleared away. */
  start(): Promise<void>;
  /** For the scheduler. */
  readonly handlers: Handler[];
}
