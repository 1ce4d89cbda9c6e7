/** Changes to a task rest on what it was when they were decided: whoever comes second decides again. */

import { persist } from '../jobs/persistence.ts';
import type { Lease } from '../store/job-rows.ts';
import type { LoadedVideo, VideoChange } from '../store/operations/videos.ts';
import { laneOf, type VideoContext } from './context.ts';
import { isTerminal, type VideoAttempt, type VideoTask } from './task.ts';

export type { LoadedVideo, VideoChange } from '../store/operations/videos.ts';

/** Undefined leaves the task as it is. May be asked several times, each time with the task of that moment. */
export type Decide = (loaded: LoadedVideo) => VideoChange | undefined;

export interface Changed extends LoadedVideo {
  /** The decision was carried out. */
  changed: boolean;
}

export interface ChangeOptions {
  /** Waits for a store that is away for as long as it allows; without it `unavailable` is thrown. */
  signal?: AbortSignal;
  /** What was read just now: if nothing happened since, it need not be read again. */
  known?: LoadedVideo;
}

/** The task as it then is; a terminal one is left alone. Undefined when there is none. */
export async function change(
  context: VideoContext,
  id: string,
  decide: Decide,
  { signal, known }: ChangeOptions = {},
): Promise<Changed | undefined> {
  const { store, clock } = context;
  const patiently = <Result>(call: () => Promise<Result>) => (signal ? persist(call, { clock, signal }) : call());
  for (let first = known; ; first = undefined) {
    const loaded = first ?? (await patiently(() => store.call('loadVideo', { id })));
    if (!loaded) return undefined;
    const decision = isTerminal(loaded.task.status) ? undefined : decide(loaded);
    if (!decision) return { ...loaded, changed: false };
    if (!(await patiently(() => store.call('saveVideo', decision)))) continue;
    announce(context, loaded.task, decision);
    const task = { ...decision.task, version: decision.task.version + 1 };
    return { task, attempt: decision.attempt ?? loaded.attempt, changed: true };
  }
}

function announce(
  { wake, events, mirror }: VideoContext,
  before: VideoTask,
  { task, settlement, job }: VideoChange,
): void {
  if (settlement) wake('video-use');
  if (settlement?.delivery) wake('webhook');
  if (settlement?.booking) wake('video-booking');
  if (job && 'hasten' in job) wake('video');
  if (task.status !== before.status) events?.videoReached(task.status);
  const unkept = task.status === 'completed' && task.assets.some(({ kept }) => !kept);
  if (mirror && unkept) events?.videoUnmirrored();
}

/** What a task that goes on becomes, and when its job comes back. */
export interface Next {
  task?: Partial<VideoTask>;
  attempt?: Partial<VideoAttempt>;
  /** Unix milliseconds; never later than the deadline. */
  dueAt: number;
}

export function goOn({ task, attempt }: LoadedVideo, lease: Lease, next: Next): VideoChange {
  const changedAttempt = next.attempt && { ...attempt, ...next.attempt };
  return {
    task: { ...task, ...next.task },
    ...(changedAttempt && { attempt: changedAttempt }),
    job: { lease, dueAt: next.dueAt, lane: laneOf(changedAttempt ?? attempt) },
  };
}
