/** The upstream has taken a task. */

import type { VideoRef } from '../core/video.ts';
import { changeTask } from './change.ts';
import { laneOf, targetOf } from './context.ts';
import { pollDelay } from './delay.ts';
import { costReconciliationJob } from './settle.ts';
import { isTerminal } from './task.ts';
import { reschedule, type StepResult, type TaskStep } from './task-step.ts';

/** From here on a paid task exists: its name must be kept even if nobody wants it any more. */
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
    await context.store.call('bookVideoLater', { attempt, job: booking });
  }
  return 'over';
}
