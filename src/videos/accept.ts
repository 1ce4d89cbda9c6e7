/** The upstream has taken a task. */

import type { VideoRef } from '../core/video.ts';
import { change } from './change.ts';
import { laneOf, targetOf } from './context.ts';
import { pollDelay } from './delay.ts';
import { bookingJob } from './settle.ts';
import { type Progress, type TaskStep, wait } from './step.ts';
import { isTerminal } from './task.ts';

/** From here on a paid task exists: its name must be kept even if nobody wants it any more. */
export async function accept(step: TaskStep, ref: VideoRef): Promise<Progress> {
  const { context, job, signal } = step;
  const now = context.clock.now();
  const accepted = { state: 'accepted', ref, acceptedAt: now } as const;
  const result = await change(
    context,
    job.ref,
    (loaded) => {
      if (loaded.attempt.state === 'accepted') return undefined;
      const least = targetOf(context, loaded.attempt)?.video.pollInterval;
      const dueAt = now + pollDelay({ polls: 0, elapsed: 0, least, random: context.random });
      return wait(step, loaded, { task: { phase: 'polling', memory: {} }, attempt: accepted, dueAt });
    },
    { signal },
  );
  if (result && !result.changed && result.attempt.state !== 'accepted' && isTerminal(result.task.status)) {
    const attempt = { ...result.attempt, ...accepted };
    const booking = bookingJob(result.task, laneOf(attempt), now);
    await context.store.call('bookVideoLater', { attempt, job: booking });
  }
  return 'over';
}
