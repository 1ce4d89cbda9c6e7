/** Ambiguous submissions: resolves whether the upstream accepted a task whose submission got no clear response. */

import type { LoadedVideo } from '../store/operations/videos.ts';
import { accept } from './accept.ts';
import type { DecideChange } from './change.ts';
import { CLOCK_SKEW_MS, findLostSubmission, SUBMISSION_TIMEOUT_MS } from './find-submission.ts';
import { failure, settle } from './settle.ts';
import { reschedule, retryLater, type StepResult, saveChange, type TaskStep } from './task-step.ts';

/** Time until a submission has surely ended and the task list is up to date. Before, `none` is not conclusive. */
const LIST_DELAY_MS = SUBMISSION_TIMEOUT_MS + 60_000;
/** Time after which an ambiguous submission fails. */
const RESOLUTION_TIMEOUT_MS = 10 * 60_000;

export async function resolveSubmission(step: TaskStep): Promise<StepResult> {
  const { context, loaded, signal } = step;
  const { task, attempt } = loaded;
  const now = context.clock.now();
  const { sentAt = attempt.createdAt } = attempt;
  const { unclearSince } = task.memory;
  // A moment that lies far ahead is of a clock that was set back since. The true one is not known, and no list proves that the task is missing.
  const isKnown = unclearSince === undefined && sentAt <= now + CLOCK_SKEW_MS;
  const since = isKnown ? sentAt : Math.min(unclearSince ?? now, now);
  const elapsed = now - since;
  const marked = isKnown ? {} : { task: { memory: { ...task.memory, unclearSince: since } } };
  const finding = await findLostSubmission(context, loaded, {
    sentAt: isKnown ? sentAt : since - RESOLUTION_TIMEOUT_MS,
    signal,
  });
  if (finding.type === 'impossible') {
    // The gateway that sent it may still be waiting for the response, although its lease expired.
    const mayRespond = attempt.state === 'sending' && elapsed < SUBMISSION_TIMEOUT_MS;
    return mayRespond
      ? saveChange(step, (fresh) => reschedule(step, fresh, { ...marked, dueAt: since + SUBMISSION_TIMEOUT_MS }))
      : failAsUnknown(step);
  }
  if (finding.type === 'found') return accept(step, finding.ref);
  if (finding.type === 'none' && isKnown && elapsed >= LIST_DELAY_MS) return resubmit(step);
  if (elapsed >= RESOLUTION_TIMEOUT_MS) return failAsUnknown(step);
  return saveChange(step, (fresh) => retryLater(step, fresh, marked));
}

/** The upstream has no such task. */
function resubmit(step: TaskStep): Promise<StepResult> {
  return saveUnclear(step, (fresh) =>
    reschedule(step, fresh, { attempt: { state: 'intent', sentAt: undefined }, dueAt: step.context.clock.now() }),
  );
}

function failAsUnknown(step: TaskStep): Promise<StepResult> {
  return saveUnclear(step, (loaded) => ({
    ...settle(step.context, loaded, { status: 'failed', error: failure('submit_unknown'), reconcileCost: true }),
    attempt: { ...loaded.attempt, state: 'ambiguous' },
  }));
}

/** Saves a change of a submission, unless the gateway that sent it has had its response meanwhile: then the task goes on. */
function saveUnclear(step: TaskStep, decide: DecideChange): Promise<StepResult> {
  const isUnclear = ({ attempt: { state } }: LoadedVideo) => state === 'sending' || state === 'ambiguous';
  return saveChange(step, (fresh) =>
    isUnclear(fresh) ? decide(fresh) : reschedule(step, fresh, { dueAt: step.context.clock.now() }),
  );
}
