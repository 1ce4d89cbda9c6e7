/** Video tasks: operations for the HTTP routes, and the job handlers. */

import { GatewayError } from '../core/errors.ts';
import type { JobHandler } from '../jobs/job.ts';
import { isTerminal, type VideoStatus, type VideoTask } from '../records/video-task.ts';
import type { CreatedBetween, ListTotal } from '../store/list-search.ts';
import { cancelTask } from './cancel.ts';
import type { VideoContext } from './context.ts';
import { type CreatedTask, createTask, type NewTask } from './create.ts';
import { createVideoHandler } from './machine.ts';
import type { AssetSource } from './mirror.ts';
import { createPollBudget } from './poll-budget.ts';
import { createCostReconciliationHandler } from './reconcile-cost.ts';
import { createUsageHandler } from './record-usage.ts';
import { createAssetQuery, currentSource } from './source.ts';
import { createSweepHandler, eraseMedia, SWEEP_JOB } from './sweep.ts';

export interface TaskQuery extends CreatedBetween {
  limit: number;
  /** Id of the last task of the previous page. */
  after?: string;
  order: 'asc' | 'desc';
  status?: VideoStatus;
  model?: string;
  /** Text of the id, the model, or the beginning of the prompt. */
  search?: string;
}

export interface TaskPage {
  tasks: VideoTask[];
  /** `after` of the next page; absent at the end. A page of a search may be empty although there is one. */
  next?: string;
}

/**
 * All methods but `source` use the store only, without upstream calls. Unknown tasks, deleted tasks and tasks of other
 * owners are `video_not_found`. Every method throws `unavailable` if the store is.
 */
export interface Videos {
  /** Throws `idempotency_key_reused`, `model_not_found` and the errors of the reservation. */
  create(task: NewTask): Promise<CreatedTask>;
  get(owner: string, id: string): Promise<VideoTask>;
  /** Reads a task without checking its owner, e.g. for a signed URL. */
  find(id: string): Promise<VideoTask>;
  /** Tasks of all owners if `owner` is undefined. */
  list(owner: string | undefined, query: TaskQuery): Promise<TaskPage>;
  /** Counts the tasks of a list, up to a number of the newest ones. */
  count(
    owner: string | undefined,
    query: Pick<TaskQuery, 'status' | 'model' | 'search' | 'from' | 'to'>,
  ): Promise<ListTotal>;
  /** Throws `cancel_not_possible`; a terminal task is returned as it is. */
  cancel(owner: string, id: string, options: { abandon: boolean }): Promise<VideoTask>;
  /** Throws `video_not_terminal`. */
  remove(owner: string, id: string): Promise<void>;
  /**
   * Source of a completed video that is not mirrored. May query the upstream, once a minute for each task. `isExpired`: the URL
   * from before has expired, so the upstream is asked for a new one.
   */
  source(task: VideoTask, index: number, options: SourceOptions): Promise<AssetSource | undefined>;
  /** Schedules the retention sweep. */
  start(): Promise<void>;
  /** Job handlers, for the scheduler. */
  readonly handlers: JobHandler[];
}

export interface SourceOptions {
  signal: AbortSignal;
  isExpired?: boolean;
}

export interface VideosOptions extends Omit<VideoContext, 'pollBudget' | 'random'> {
  /** Polls per second and credential, by all gateways together. */
  pollRate?: number;
  /** Memory for videos without a copy that were downloaded within the last minute; 150 MiB if absent. */
  maxRecentBytes?: number;
  /** Number of gateways that share the store; 1 if absent. */
  gateways?(): number;
  /** Random number from 0 to below 1; `Math.random` if absent. */
  random?(): number;
}

const POLLS_PER_SECOND = 10;
const POLL_BURST = 20;

/** Call `start` once the store is open. */
export function createVideos(options: VideosOptions): Videos {
  const { pollRate = POLLS_PER_SECOND, maxRecentBytes, gateways, random = Math.random, ...others } = options;
  const pollBudget = createPollBudget({ rate: pollRate, burst: POLL_BURST, gateways });
  const context: VideoContext = { ...others, pollBudget, random };
  const { store, clock } = context;
  const queryRecentAssets = createAssetQuery(context, maxRecentBytes);

  async function readOwned(id: string, owner?: string): Promise<VideoTask> {
    const task = await store.call('readVideo', { id, owner });
    if (!task) throw notFound(id);
    return task;
  }

  async function pageOf(owner: string | undefined, query: TaskQuery): Promise<TaskPage | undefined> {
    if (query.search !== undefined) return store.call('searchVideos', { owner, ...query });
    const { limit } = query;
    const tasks = await store.call('listVideos', { owner, ...query, limit: limit + 1 });
    const next = tasks && tasks.length > limit ? tasks[limit - 1]?.id : undefined;
    return tasks && { tasks: tasks.slice(0, limit), ...(next !== undefined && { next }) };
  }

  return {
    create: (task) => createTask(context, task),
    get: (owner, id) => readOwned(id, owner),
    find: readOwned,
    async list(owner, query) {
      const page = await pageOf(owner, query);
      if (page) return page;
      throw new GatewayError('invalid_request', 'after must be the id of one of your tasks.', { param: 'after' });
    },
    count: (owner, { status, model, search, from, to }) =>
      store.call('countVideos', { owner, status, model, search, from, to }),
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
      // The sweep deletes media that could not be deleted here.
      await eraseMedia(context, task).catch((error) =>
        context.log.warn({ err: error, task: id }, 'media not erased yet'),
      );
    },
    async source(task, index, { signal, isExpired = false }) {
      const loaded = await store.call('loadVideo', { id: task.id });
      const asset = task.assets[index];
      if (!loaded || !asset) return undefined;
      const isRenewed = isExpired && 'url' in asset.source;
      const isQueried = isRenewed || 'inline' in asset.source;
      const fresh = isQueried ? (await queryRecentAssets(loaded.attempt, signal))?.[index] : undefined;
      if (!isRenewed) return currentSource(context, loaded.attempt, { asset, fresh }, signal);
      return fresh && 'url' in fresh ? { type: 'url', url: fresh.url, mime: asset.mime } : undefined;
    },
    start: () => store.call('ensureJob', { ...SWEEP_JOB, dueAt: clock.now() }),
    handlers: [
      createVideoHandler(context),
      createCostReconciliationHandler(context),
      createUsageHandler(context),
      createSweepHandler(context),
    ],
  };
}

function notFound(id: string): GatewayError {
  return new GatewayError('video_not_found', `There is no video task ${id}.`);
}
