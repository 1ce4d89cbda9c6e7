/** Looks for a task of ours that an upstream may have taken without our seeing it. */

import type { VideoRequest } from '../core/video.ts';
import { accept } from './accept.ts';
import { targetOf } from './context.ts';
import { ask } from './question.ts';
import { failure, settle } from './settle.ts';
import { backOff, conclude, type Progress, type Step, wait } from './step.ts';

/** Milliseconds for a submission: some upstreams answer late, and whoever hangs up knows nothing. */
export const SUBMISSION_DEADLINE = 180_000;
/** When it is surely over and a list would show what came of it; before, "none" means nothing. */
const LAG = SUBMISSION_DEADLINE + 60_000;
/** After this long without a clear answer it will not come. */
const PATIENCE = 10 * 60_000;

export async function seek(step: Step): Promise<Progress> {
  const { context, loaded, signal } = step;
  const { task, attempt } = loaded;
  const video = targetOf(context, attempt)?.video;
  const find = video?.find?.bind(video);
  const request: VideoRequest | undefined = await context.store.call('readVideoRequest', { id: task.id });
  const sentAt = attempt.sentAt ?? attempt.createdAt;
  const elapsed = context.clock.now() - sentAt;
  if (!find || !request) {
    // Who sent it may be alive, though its lease is lost.
    const mayAnswer = attempt.state === 'sending' && elapsed < SUBMISSION_DEADLINE;
    return mayAnswer ? conclude(step, (now) => wait(step, now, { dueAt: sentAt + SUBMISSION_DEADLINE })) : giveUp(step);
  }
  const lost = { attemptId: attempt.id, request, sentAt: Math.floor(sentAt / 1000) };
  const finding = await ask(context, attempt, () => find(lost), signal);
  const result = finding.type === 'read' ? finding.result : undefined;
  if (result?.type === 'found') return accept(step, result.ref);
  if (result?.type === 'none' && elapsed >= LAG) return sendAgain(step);
  if (elapsed >= PATIENCE) return giveUp(step);
  return conclude(step, (now) => backOff(step, now));
}

/** The upstream surely has no such task. */
function sendAgain(step: Step): Promise<Progress> {
  return conclude(step, (now) =>
    wait(step, now, { attempt: { state: 'intent', sentAt: undefined }, dueAt: step.context.clock.now() }),
  );
}

function giveUp(step: Step): Promise<Progress> {
  return conclude(step, (loaded) => ({
    ...settle(step.context, loaded, { status: 'failed', error: failure('submit_unknown') }),
    attempt: { ...loaded.attempt, state: 'ambiguous' },
  }));
}
