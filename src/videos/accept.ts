/** Acceptance of a submission: stores the upstream's reference and starts polling. */

import type { VideoRef } from '../core/video.ts';
import { isTerminal } from '../records/video-task.ts';
import { retryWhileUnavailable } from '../store/unavailable.ts';
import { changeTask } from './change.ts';
import { laneOf, targetOf } from './context.ts';
import { pollDelay } from './delay.ts';
import { costReconciliationJob } from './settle.ts';
import { reschedule, type StepResult, type TaskStep } from './task-step.ts';

/** Stores the reference of a task that exists upstream and may be billed, even if it was cancelled meanwhile. */
export async function accept(step: TaskStep, ref: VideoRef): Promise<StepResult> {
  const { context, job, signal } = step;
  const now = context.clock.now();
  const accepted = { state: 'accepted', ref, acceptedAt: now } as const;
  const result = await changeTask(
    context,
    job.ref,
    (loaded) => {
      if (loaded.attempt.state === 'accepted') return undefined;
      const minIntervalMs = targetOf(context, loaded.attempt)?.video.minPollIntervalMs;
      const dueAt = now + pollDelay({ polls: 0, elapsedMs: 0, minIntervalMs, random: context.random });
      return reschedule(step, loaded, { task: { phase: 'polling', memory: {} }, attempt: accepted, dueAt });
    },
    { signal },
  );
  if (result && !result.changed && result.attempt.state !== 'accepted' && isTerminal(result.task.status)) {
    const attempt = { ...result.attempt, ...accepted };
    const booking = costReconciliationJob(result.task, laneOf(attempt), now);
    const schedule = () => context.store.call('scheduleCostReconciliation', { attempt, job: booking });
    await retryWhileUnavailable(schedule, { clock: context.clock, signal });
  }
  return 'over';
}
