/** What becomes of a task of which nobody knows whether its upstream has taken it. */

import { accept } from './accept.ts';
import { findLost, SUBMISSION_DEADLINE } from './find-submission.ts';
import { failure, settle } from './settle.ts';
import { backOff, conclude, type Progress, type TaskStep, wait } from './step.ts';

/** Milliseconds until a submission is surely over and a list would show what came of it; before, "none" means nothing. */
const LAG = SUBMISSION_DEADLINE + 60_000;
/** After this long without a clear answer it will not come. */
const PATIENCE = 10 * 60_000;

export async function seek(step: TaskStep): Promise<Progress> {
  const { context, loaded, signal } = step;
  const { attempt } = loaded;
  const sentAt = attempt.sentAt ?? attempt.createdAt;
  const elapsed = context.clock.now() - sentAt;
  const finding = await findLost(context, loaded, signal);
  if (finding.type === 'impossible') {
    // Who sent it may be alive, though its lease is lost.
    const mayAnswer = attempt.state === 'sending' && elapsed < SUBMISSION_DEADLINE;
    return mayAnswer ? conclude(step, (now) => wait(step, now, { dueAt: sentAt + SUBMISSION_DEADLINE })) : giveUp(step);
  }
  if (finding.type === 'found') return accept(step, finding.ref);
  if (finding.type === 'none' && elapsed >= LAG) return sendAgain(step);
  if (elapsed >= PATIENCE) return giveUp(step);
  return conclude(step, (now) => backOff(step, now));
}

/** The upstream surely has no such task. */
function sendAgain(step: TaskStep): Promise<Progress> {
  return conclude(step, (now) =>
    wait(step, now, { attempt: { state: 'intent', sentAt: undefined }, dueAt: step.context.clock.now() }),
  );
}

function giveUp(step: TaskStep): Promise<Progress> {
  return conclude(step, (loaded) => ({
    ...settle(step.context, loaded, { status: 'failed', error: failure('submit_unknown') }),
    attempt: { ...loaded.attempt, state: 'ambiguous' },
  }));
}
