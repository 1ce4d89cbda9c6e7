/** Optimistic locking: if the task changed since it was read, the change is decided again. */

import { isTerminal, type VideoAttempt, type VideoTask } from '../records/video-task.ts';
import type { Lease } from '../store/job-rows.ts';
import type { LoadedVideo, VideoChange } from '../store/operations/videos.ts';
import { retryWhileUnavailable } from '../store/unavailable.ts';
import { jobLaneOf, type VideoContext } from './context.ts';

/** Decides a change; undefined leaves the task as it is. Called again after each conflict, with the current task, and while the store is unavailable. */
export type DecideChange = (loaded: LoadedVideo) => VideoChange | undefined;

export interface ChangeResult extends LoadedVideo {
  /** Whether a change was made. */
  changed: boolean;
}

export interface TaskChangeOptions {
  /** Retries while the store is unavailable, until aborted. Without it, `unavailable` is thrown. */
  signal?: AbortSignal;
  /** The task as just read, to save a read if it is still current. */
  known?: LoadedVideo;
}

/** Returns the task after the change; undefined if it does not exist. Terminal tasks are never changed. */
export async function changeTask(
  context: VideoContext,
  id: string,
  decide: DecideChange,
  { signal, known }: TaskChangeOptions = {},
): Promise<ChangeResult | undefined> {
  const { store, clock } = context;
  const withRetry = <Result>(call: () => Promise<Result>) =>
    signal ? retryWhileUnavailable(call, { clock, signal }) : call();
  for (let first = known; ; first = undefined) {
    const loaded = first ?? (await withRetry(() => store.call('loadVideo', { id })));
    if (!loaded) return undefined;
    // Decided again for each try: readers of the feed of webhooks pass over one whose time is long before it is stored.
    const { decision, isSaved } = await withRetry(async () => {
      const decision = isTerminal(loaded.task.status) ? undefined : decide(loaded);
      return { decision, isSaved: decision !== undefined && (await store.call('saveVideo', decision)) };
    });
    if (!decision) return { ...loaded, changed: false };
    if (!isSaved) continue;
    notify(context, loaded.task, decision);
    const task = { ...decision.task, version: decision.task.version + 1 };
    return { task, attempt: decision.attempt ?? loaded.attempt, changed: true };
  }
}

function notify(
  { wake, events, mirror }: VideoContext,
  before: VideoTask,
  { task, settlement, job }: VideoChange,
): void {
  if (settlement) wake('video-use');
  if (settlement?.delivery) wake('webhook');
  if (settlement?.reconciliation) wake('video-booking');
  if (job && 'hasten' in job) wake('video');
  if (task.status !== before.status) events?.videoStatusChanged(task.status);
  const isUnmirrored = task.status === 'completed' && task.assets.some(({ kept }) => !kept);
  if (mirror && isUnmirrored) events?.videoMirrorFailed();
}

/** Change of a task that stays open, and the next run of its job. */
export interface NextRun {
  task?: Partial<VideoTask>;
  attempt?: Partial<VideoAttempt>;
  /** Unix milliseconds, never later than the deadline. */
  dueAt: number;
}

export function rescheduledChange({ task, attempt }: LoadedVideo, lease: Lease, next: NextRun): VideoChange {
  const changedTask = { ...task, ...next.task };
  const changedAttempt = next.attempt && { ...attempt, ...next.attempt };
  const lane = jobLaneOf({ task: changedTask, attempt: changedAttempt ?? attempt });
  return {
    task: changedTask,
    ...(changedAttempt && { attempt: changedAttempt }),
    job: { lease, dueAt: next.dueAt, lane },
  };
}
