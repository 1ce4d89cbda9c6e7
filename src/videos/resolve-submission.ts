/** What becomes of a task of which nobody knows whether its upstream has taken it. */

import { accept } from './accept.ts';
import { findLostSubmission, SUBMISSION_TIMEOUT_MS } from './find-submission.ts';
import { failure, settle } from './settle.ts';
import { reschedule, retryLater, type StepResult, saveChange, type TaskStep } from './task-step.ts';

/** Milliseconds until a submission is surely over and a list would show what came of it; before, "none" means nothing. */
const LIST_DELAY_MS = SUBMISSION_TIMEOUT_MS + 60_000;
/** After this long without a clear answer it will not come. */
const RESOLUTION_TIMEOUT_MS = 10 * 60_000;

export async function resolveSubmission(step: TaskStep): Promise<StepResult> {
  const { context, loaded, signal } = step;
  const { attempt } = loaded;
  const sentAt = attempt.sentAt ?? attempt.createdAt;
  const elapsed = context.clock.now() - sentAt;
  const finding = await findLostSubmission(context, loaded, signal);
  if (finding.type === 'impossible') {
    // Who sent it may be alive, though its lease is lost.
    const mayAnswer = attempt.state === 'sending' && elapsed < SUBMISSION_TIMEOUT_MS;
    return mayAnswer
      ? saveChange(step, (now) => reschedule(step, now, { dueAt: sentAt + SUBMISSION_TIMEOUT_MS }))
      : failAsUnknown(step);
  }
  if (finding.type === 'found') return accept(step, finding.ref);
  if (finding.type === 'none' && elapsed >= LIST_DELAY_MS) return resubmit(step);
  if (elapsed >= RESOLUTION_TIMEOUT_MS) return failAsUnknown(step);
  return saveChange(step, (now) => retryLater(step, now));
}

/** The upstream surely has no such task. */
function resubmit(step: TaskStep): Promise<StepResult> {
  return saveChange(step, (now) =>
    reschedule(step, now, { attempt: { state: 'intent', sentAt: undefined }, dueAt: step.context.clock.now() }),
  );
}

function failAsUnknown(step: TaskStep): Promise<StepResult> {
  return saveChange(step, (loaded) => ({
    ...settle(step.context, loaded, { status: 'failed', error: failure('submit_unknown') }),
    attempt: { ...loaded.attempt, state: 'ambiguous' },
  }));
}
