/** One step of the task machine: what it works on, and how it ends. */

import type { Job } from '../jobs/job.ts';
import { change, type Decide, goOn, type LoadedVideo, type Next, type VideoChange } from './change.ts';
import type { VideoContext } from './context.ts';
import { failureDelay } from './delay.ts';
import type { VideoTask } from './task.ts';

export interface TaskStep {
  context: VideoContext;
  job: Job;
  loaded: LoadedVideo;
  signal: AbortSignal;
}

/** `again`: the task has moved on and the next step can be taken at once. `over`: the job was given back or is done. */
export type Progress = 'again' | 'over';

/** Writes an outcome down, whatever happened to the task meanwhile. */
export async function conclude(
  { context, job, signal }: TaskStep,
  decide: Decide,
  known?: LoadedVideo,
): Promise<Progress> {
  await change(context, job.ref, decide, { signal, known });
  return 'over';
}

/** Gives the job back until a moment, but not beyond the deadline of the task. */
export function wait(step: TaskStep, loaded: LoadedVideo, next: Next): VideoChange {
  const { deadlineAt } = loaded.task;
  const isLate = step.context.clock.now() >= deadlineAt;
  return goOn(loaded, step.job, { ...next, dueAt: isLate ? next.dueAt : Math.min(next.dueAt, deadlineAt) });
}

/** After a step that came to nothing. */
export function backOff(
  step: TaskStep,
  loaded: LoadedVideo,
  { retryAfter, task, attempt }: { retryAfter?: number } & Omit<Next, 'dueAt'> = {},
): VideoChange {
  const { clock, random } = step.context;
  const failures = (loaded.task.memory.failures ?? 0) + 1;
  const memory = { ...loaded.task.memory, ...task?.memory, failures };
  const dueAt = clock.now() + failureDelay({ failures, retryAfter, random });
  return wait(step, loaded, { task: { ...task, memory }, attempt, dueAt });
}

export function isLate({ clock }: VideoContext, task: VideoTask): boolean {
  return clock.now() >= task.deadlineAt;
}
