/** One step of the task machine: what it works on, and how it ends. */

import type { Job } from '../jobs/job.ts';
import {
  changeTask,
  type DecideChange,
  type LoadedVideo,
  type NextRun,
  rescheduledChange,
  type VideoChange,
} from './change.ts';
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
export type StepResult = 'again' | 'over';

/** Writes an outcome down, whatever happened to the task meanwhile. */
export async function saveChange(
  { context, job, signal }: TaskStep,
  decide: DecideChange,
  known?: LoadedVideo,
): Promise<StepResult> {
  await changeTask(context, job.ref, decide, { signal, known });
  return 'over';
}

/** Gives the job back until a moment, but not beyond the deadline of the task. */
export function reschedule(step: TaskStep, loaded: LoadedVideo, next: NextRun): VideoChange {
  const { deadlineAt } = loaded.task;
  const isLate = step.context.clock.now() >= deadlineAt;
  return rescheduledChange(loaded, step.job, {
    ...next,
    dueAt: isLate ? next.dueAt : Math.min(next.dueAt, deadlineAt),
  });
}

/** After a step that came to nothing. */
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

export function isLate({ clock }: VideoContext, task: VideoTask): boolean {
  return clock.now() >= task.deadlineAt;
}
