/** Video tasks: what the routes ask for, and the handlers that do the work. */

import { GatewayError } from '../core/errors.ts';
import type { JobHandler } from '../jobs/job.ts';
import { cancelTask } from './cancel.ts';
import type { VideoContext } from './context.ts';
import { type CreatedTask, createTask, type NewTask } from './create.ts';
import { createVideoHandler } from './machine.ts';
import type { AssetSource } from './mirror.ts';
import { createPollBudget } from './poll-budget.ts';
import { createCostReconciliationHandler } from './reconcile-cost.ts';
import { createUsageHandler } from './record-usage.ts';
import { currentSource, queryAssets } from './source.ts';
import { createSweepHandler, eraseMedia, SWEEP_JOB } from './sweep.ts';
import { isTerminal, type VideoStatus, type VideoTask } from './task.ts';

export interface TaskQuery {
  limit: number;
  /** The id of the last task of the page before. */
  after?: string;
  order: 'asc' | 'desc';
  status?: VideoStatus;
  model?: string;
}

/**
 * Everything but `source` reads and writes the store and asks no upstream. Unknown, foreign and deleted tasks are all
 * `video_not_found`; every call throws `unavailable` when the store cannot.
 */
export interface Videos {
  /** Throws `idempotency_key_reused`, `model_not_found` and what the reservation throws. */
  create(task: NewTask): Promise<CreatedTask>;
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
  readonly handlers: JobHandler[];
}

export interface VideosOptions extends Omit<VideoContext, 'pollBudget' | 'random'> {
  /** Polls of one credential in a second, by all gateways together. */
  pollRate?: number;
  /** How many gateways share the store; 1 if absent. */
  gateways?(): number;
  random?(): number;
}

const POLLS_PER_SECOND = 10;
const POLL_BURST = 20;

/** `start` once the store is open; the handlers are for the scheduler. */
export function createVideos(options: VideosOptions): Videos {
  const { pollRate = POLLS_PER_SECOND, gateways, random = Math.random, ...others } = options;
  const pollBudget = createPollBudget({ rate: pollRate, burst: POLL_BURST, gateways });
  const context: VideoContext = { ...others, pollBudget, random };
  const { store, clock } = context;

  async function readOwned(id: string, owner?: string): Promise<VideoTask> {
    const task = await store.call('readVideo', { id, owner });
    if (!task) throw notFound(id);
    return task;
  }

  return {
    create: (task) => createTask(context, task),
    get: (owner, id) => readOwned(id, owner),
    find: readOwned,
    async list(owner, { limit, ...query }) {
      const tasks = await store.call('listVideos', { owner, limit: limit + 1, ...query });
      if (!tasks)
        throw new GatewayError('invalid_request', 'after must be the id of one of your tasks.', { param: 'after' });
      return { tasks: tasks.slice(0, limit), more: tasks.length > limit };
    },
    async cancel(owner, id, { abandon }) {
      const before = await readOwned(id, owner);
      return isTerminal(before.status) ? before : ((await cancelTask(context, id, { abandon })) ?? before);
    },
    async remove(owner, id) {
      const task = await readOwned(id, owner);
      if (!isTerminal(task.status)) {
        throw new GatewayError('video_not_terminal', 'The task is not finished; cancel it first, or wait for its end.');
      }
      const { metadata: _metadata, user: _user, ...details } = task.details;
      const deletion = { id, owner, details: JSON.stringify(details), now: clock.now() };
      if (!(await store.call('deleteVideo', deletion))) throw notFound(id);
      // The sweep does what is left undone here.
      await eraseMedia(context, task).catch((error) =>
        context.log.warn({ err: error, task: id }, 'media not erased yet'),
      );
    },
    async source(task, index, signal) {
      const loaded = await store.call('loadVideo', { id: task.id });
      const asset = task.assets[index];
      if (!loaded || !asset) return undefined;
      const reported = 'inline' in asset.source ? await queryAssets(context, loaded.attempt, signal) : undefined;
      return currentSource(context, loaded.attempt, { asset, fresh: reported?.[index] }, signal);
    },
    start: () => store.call('ensureJob', { ...SWEEP_JOB, dueAt: clock.now() }),
    handlers: [
      ...[createVideoHandler(context), createCostReconciliationHandler(context)],
      ...[createUsageHandler(context), createSweepHandler(context)],
    ],
  };
}

function notFound(id: string): GatewayError {
  return new GatewayError('video_not_found', `There is no video task ${id}.`);
}
