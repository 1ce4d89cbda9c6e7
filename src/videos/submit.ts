/**
 * Submission: at most once. The intent is stored before the request is sent. If the process dies in between, the
 * submission is ambiguous: the task is searched for upstream and never submitted again blindly.
 */

import { GatewayError } from '../core/errors.ts';
import type { SubmitResult, VideoCall, VideoFailure, VideoRef, VideoRequest } from '../core/video.ts';
import type { LoadedVideo, VideoChange } from '../store/operations/videos.ts';
import { retryWhileUnavailable } from '../store/unavailable.ts';
import type { UpstreamRequest } from '../transport/upstream-client.ts';
import { accept } from './accept.ts';
import { changeTask } from './change.ts';
import { targetOf, type VideoTarget } from './context.ts';
import { SUBMISSION_TIMEOUT_MS } from './find-submission.ts';
import { inlineInputs } from './inline-inputs.ts';
import { resolveSubmission } from './resolve-submission.ts';
import { failure, settle } from './settle.ts';
import { isLate, reschedule, retryLater, type StepResult, saveChange, type TaskStep } from './task-step.ts';
import { type CallOutcome, prepareCall, sendCall } from './upstream-call.ts';

export async function submit(step: TaskStep): Promise<StepResult> {
  const { context, loaded } = step;
  switch (loaded.attempt.state) {
    case 'intent':
      if (loaded.task.cancelRequested) return saveChange(step, cancelUnsent(step));
      if (isLate(context.clock, loaded.task)) return saveChange(step, expireUnsent(step));
      return send(step);
    case 'sending':
    case 'ambiguous':
      return resolveSubmission(step);
    case 'accepted':
    case 'rejected':
      throw new Error(`a task in submission has an attempt that is ${loaded.attempt.state}`);
  }
}

function expireUnsent({ context }: TaskStep) {
  return (loaded: LoadedVideo) => settle(context, loaded, { status: 'expired', error: failure('deadline_exceeded') });
}

/** The task was cancelled during a submission that the upstream did not accept. */
function cancelUnsent({ context }: TaskStep) {
  return (loaded: LoadedVideo) => settle(context, loaded, { status: 'cancelled', error: failure('cancelled') });
}

/** Everything that can fail locally is done before the attempt is marked as sending. */
async function send(step: TaskStep): Promise<StepResult> {
  const { context, loaded } = step;
  const target = targetOf(context, loaded.attempt);
  if (!target) return changeCredential(step);
  const prepared = await prepare(step, target);
  if (prepared.type === 'failed') return saveChange(step, (fresh) => fail(step, fresh, prepared.error));
  if (prepared.type === 'later') {
    const fetches = (loaded.task.memory.fetches ?? 0) + 1;
    return saveChange(step, (fresh) => retryLater(step, fresh, { task: { memory: { fetches } } }));
  }
  if (prepared.type === 'unauthorized') return saveChange(step, (fresh) => retryLater(step, fresh));
  const recorded = await recordSending(step);
  if (recorded !== 'recorded') return recorded;
  const request: UpstreamRequest = { ...prepared.request, freshConnection: true };
  const outcome = await sendCall(context, request, { signal: step.signal, timeoutMs: SUBMISSION_TIMEOUT_MS });
  return handleVerdict(step, target, verdictOf(outcome, prepared.call));
}

type Prepared =
  | { type: 'ready'; call: VideoCall<SubmitResult>; request: UpstreamRequest }
  | { type: 'failed'; error: VideoFailure }
  | { type: 'later' }
  /** No credential, such as an access token, is available at the moment. */
  | { type: 'unauthorized' };

/** Tries to fetch the inputs. */
const MAX_INPUT_FETCHES = 4;

async function prepare({ context, loaded, signal }: TaskStep, target: VideoTarget): Promise<Prepared> {
  const { task, attempt } = loaded;
  let request: VideoRequest = await context.store.call('readVideoRequest', { id: task.id });
  if (target.video.inlinesMedia) {
    const inlined = await inlineInputs(request, context.fetchBytes, signal);
    if (inlined.type === 'failed') {
      const isLast = !inlined.retryable || (task.memory.fetches ?? 0) + 1 >= MAX_INPUT_FETCHES;
      return isLast
        ? { type: 'failed', error: { code: 'invalid_input', message: inlined.message } }
        : { type: 'later' };
    }
    request = inlined.request;
  }
  let call: VideoCall<SubmitResult>;
  try {
    call = target.video.submit(request, { attemptId: attempt.id });
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return { type: 'failed', error: { code: 'invalid_input', message: thrown.message } };
  }
  try {
    return { type: 'ready', call, request: await prepareCall(context, target, call) };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return { type: 'unauthorized' };
  }
}

/** Time after which a request is prepared again instead of sent: the store was away, or the process was suspended. */
const MAX_RECORD_MS = 15_000;

/** Marks the attempt as sending. Otherwise: `over` if the task has ended or another gateway is sending it, `again` if it took too long. */
async function recordSending({ context, job, loaded, signal }: TaskStep): Promise<'recorded' | StepResult> {
  const { clock } = context;
  const { credential } = loaded.attempt;
  const began = clock.now();
  let sentAt = Number.NaN;
  const isOwn = ({ attempt }: LoadedVideo) => attempt.state === 'sending' && attempt.sentAt === sentAt;
  const isIntent = ({ attempt }: LoadedVideo) => attempt.state === 'intent' && attempt.credential === credential;
  // Each try has its own moment, from which others count how long the submission may take.
  const record = () =>
    changeTask(context, job.ref, (fresh) => {
      if (!isOwn(fresh) && !isIntent(fresh)) return undefined;
      sentAt = clock.now();
      return { task: fresh.task, attempt: { ...fresh.attempt, state: 'sending', sentAt } };
    });
  const result = await retryWhileUnavailable(record, { clock, signal });
  if (!result?.changed) return 'over';
  if (clock.now() - began < MAX_RECORD_MS) return 'recorded';
  await changeTask(
    context,
    job.ref,
    (fresh) =>
      isOwn(fresh)
        ? { task: fresh.task, attempt: { ...fresh.attempt, state: 'intent', sentAt: undefined } }
        : undefined,
    { signal },
  );
  return 'again';
}

/** Outcome of a submission. `refused`: not accepted, but another credential or a later try may succeed. */
type Verdict =
  | { type: 'accepted'; ref: VideoRef }
  | { type: 'rejected'; error: VideoFailure }
  | { type: 'refused'; status: number; error: VideoFailure; retryAfter?: number; permanent: boolean }
  | { type: 'not-sent' }
  | { type: 'ambiguous' };

function verdictOf(outcome: CallOutcome, call: VideoCall<SubmitResult>): Verdict {
  if (outcome.type === 'not-sent') return { type: 'not-sent' };
  if (outcome.type === 'no-response') return { type: 'ambiguous' };
  const { response, retryAfter } = outcome;
  const { status } = response;
  if (status === 503 || status === 529) {
    return { type: 'refused', status, error: failure('model_unavailable'), retryAfter, permanent: false };
  }
  if (status === 408 || status >= 500) return { type: 'ambiguous' };
  const result = call.read(response);
  switch (result.type) {
    case 'accepted':
      return result;
    case 'unreadable':
      return { type: 'ambiguous' };
    case 'rejected': {
      const permanent = !result.retryable && status !== 429;
      const isOfContent = status === 403 && result.error.code === 'content_policy_violation';
      const isOfCredential = status === 401 || status === 402 || status === 403 || status === 429;
      if (permanent && (!isOfCredential || isOfContent)) return { type: 'rejected', error: result.error };
      return { type: 'refused', status, error: result.error, retryAfter, permanent };
    }
  }
}

async function handleVerdict(step: TaskStep, target: VideoTarget, verdict: Verdict): Promise<StepResult> {
  switch (verdict.type) {
    case 'accepted':
      return accept(step, verdict.ref);
    case 'rejected':
      return saveChange(step, (loaded) => fail(step, loaded, verdict.error, 'rejected'));
    case 'not-sent':
      return saveChange(step, (loaded) => retryLater(step, loaded, { attempt: { state: 'intent' } }));
    case 'ambiguous':
      await changeTask(
        step.context,
        step.job.ref,
        // A gateway that took over the job may have found the task meanwhile.
        ({ task, attempt }) =>
          attempt.state === 'sending' ? { task, attempt: { ...attempt, state: 'ambiguous' } } : undefined,
        { signal: step.signal },
      );
      return 'again';
    case 'refused': {
      const { status: upstreamStatus, retryAfter, error } = verdict;
      target.credential.failed(new GatewayError('upstream_error', error.message, { upstreamStatus, retryAfter }));
      return saveChange(step, (loaded) => retryWithNextCredential(step, loaded, verdict));
    }
  }
}

/** Retries with the next credential at once. After the last one: retries later, or fails if the refusal is permanent. */
function retryWithNextCredential(
  step: TaskStep,
  loaded: LoadedVideo,
  verdict: Extract<Verdict, { type: 'refused' }>,
): VideoChange {
  const { context } = step;
  const refused = [...(loaded.task.memory.refused ?? []), loaded.attempt.credential];
  const active = context.providers().get(loaded.attempt.provider);
  const other = active?.credentials.all().find(({ id }) => !refused.includes(id));
  if (other) {
    const memory = { ...loaded.task.memory, refused };
    const attempt = { state: 'intent', credential: other.id } as const;
    return reschedule(step, loaded, { task: { memory }, attempt, dueAt: context.clock.now() });
  }
  if (verdict.permanent) return fail(step, loaded, verdict.error, 'rejected');
  const memory = { ...loaded.task.memory, refused: [] };
  return retryLater(step, loaded, { retryAfter: verdict.retryAfter, task: { memory }, attempt: { state: 'intent' } });
}

function fail(step: TaskStep, loaded: LoadedVideo, error: VideoFailure, state = loaded.attempt.state): VideoChange {
  const change = settle(step.context, loaded, { status: 'failed', error });
  return { ...change, attempt: { ...loaded.attempt, state } };
}

/** The credential of the attempt is no longer configured, and nothing was sent with it. */
function changeCredential(step: TaskStep): Promise<StepResult> {
  const { context, loaded } = step;
  const active = context.providers().get(loaded.attempt.provider);
  const credential = active?.provider.video && active.credentials.pick(loaded.task.id).id;
  return saveChange(step, (fresh) =>
    credential === undefined
      ? retryLater(step, fresh)
      : reschedule(step, fresh, { attempt: { credential }, dueAt: context.clock.now() }),
  );
}
