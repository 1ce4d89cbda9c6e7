/** Changes to a task rest on what it was when they were decided: whoever comes second decides again. */

import { retryWhileUnavailable } from '../jobs/store-retry.ts';
import type { Lease } from '../store/job-rows.ts';
import type { LoadedVideo, VideoChange } from '../store/operations/videos.ts';
import { laneOf, type VideoContext } from './context.ts';
import { isTerminal, type VideoAttempt, type VideoTask } from './task.ts';

export type { LoadedVideo, VideoChange } from '../store/operations/videos.ts';

/** Undefined leaves the task as it is. May be asked several times, each time with the task of that moment. */
export type DecideChange = (loaded: LoadedVideo) => VideoChange | undefined;

export interface ChangeResult extends LoadedVideo {
  /** The decision was carried out. */
  changed: boolean;
}

export interface TaskChangeOptions {
  /** Waits for a store that is away for as long as it allows; without it `unavailable` is thrown. */
  signal?: AbortSignal;
  /** What was read just now: if nothing happened since, it need not be read again. */
  known?: LoadedVideo;
}

/** The task as it then is; a terminal one is left alone. Undefined when there is none. */
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
    const decision = isTerminal(loaded.task.status) ? undefined : decide(loaded);
    if (!decision) return { ...loaded, changed: false };
    if (!(await withRetry(() => store.call('saveVideo', decision)))) continue;
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
  if (settlement?.booking) wake('video-booking');
  if (job && 'hasten' in job) wake('video');
  if (task.status !== before.status) events?.videoStatusChanged(task.status);
  const isUnmirrored = task.status === 'completed' && task.assets.some(({ kept }) => !kept);
  if (mirror && isUnmirrored) events?.videoMirrorFailed();
}

/** What a task that goes on becomes, and when its job comes back. */
export interface NextRun {
  task?: Partial<VideoTask>;
  attempt?: Partial<VideoAttempt>;
  /** Unix milliseconds; never later than the deadline. */
  dueAt: number;
}

export function rescheduledChange({ task, attempt }: LoadedVideo, lease: Lease, next: NextRun): VideoChange {
  const changedAttempt = next.attempt && { ...attempt, ...next.attempt };
  return {
    task: { ...task, ...next.task },
    ...(changedAttempt && { attempt: changedAttempt }),
    job: { lease, dueAt: next.dueAt, lane: laneOf(changedAttempt ?? attempt) },
  };
}
