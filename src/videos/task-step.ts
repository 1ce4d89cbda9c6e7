/** Steps of the task machine: their input, and helpers to save their outcome. */

import type { Clock } from '../core/clock.ts';
import type { Job } from '../jobs/job.ts';
import type { VideoTask } from '../records/video-task.ts';
import type { LoadedVideo, VideoChange } from '../store/operations/videos.ts';
import { changeTask, type DecideChange, type NextRun, rescheduledChange } from './change.ts';
import type { VideoContext } from './context.ts';
import { failureDelay } from './delay.ts';

export interface TaskStep {
  context: VideoContext;
  job: Job;
  loaded: LoadedVideo;
  signal: AbortSignal;
}

/** `again`: the next step can follow at once. `over`: the job was rescheduled or finished. */
export type StepResult = 'again' | 'over';

/** Saves the outcome of a step, deciding again if the task changed meanwhile. */
export async function saveChange(
  { context, job, signal }: TaskStep,
  decide: DecideChange,
  known?: LoadedVideo,
): Promise<StepResult> {
  await changeTask(context, job.ref, decide, { signal, known });
  return 'over';
}

/** Reschedules the job, at the latest for the deadline of the task; at once if its cancellation was requested during the step. */
export function reschedule(step: TaskStep, loaded: LoadedVideo, next: NextRun): VideoChange {
  const { deadlineAt, cancelRequested } = loaded.task;
  const now = step.context.clock.now();
  const isCancelledMeanwhile = cancelRequested && !step.loaded.task.cancelRequested;
  const latest = isCancelledMeanwhile ? now : deadlineAt;
  return rescheduledChange(loaded, step.job, {
    ...next,
    dueAt: now >= deadlineAt ? next.dueAt : Math.min(next.dueAt, latest),
  });
}

/** Reschedules the job with backoff after a failed step. */
export function retryLater(
  step: TaskStep,
  loaded: LoadedVideo,
  { retryAfter, task, attempt }: { retryAfter?: number } & Omit<NextRun, 'dueAt'> = {},
): VideoChange {
  const { clock, random } = step.context;
  const failures = (loaded.task.memory.failures ?? 0) + 1;
  const memory = { ...loaded.task.memory, ...task?.memory, failures };
  const dueAt = clock.now() + failureDelay({ failures, retryAfter, random });
  return reschedule(step, loaded, { task: { ...task, memory }, attempt, dueAt });
}

/** Whether the deadline of the task has passed, by a clock. */
export function isLate({ now }: Pick<Clock, 'now'>, task: VideoTask): boolean {
  return now() >= task.deadlineAt;
}
