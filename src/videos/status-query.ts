/** Upstream queries about an accepted task: handles errors common to all providers, and leaves the rest to the adapter. */

import { GatewayError } from '../core/errors.ts';
import type { VideoCall, VideoFailure } from '../core/video.ts';
import type { VideoAttempt } from '../records/video-task.ts';
import type { UpstreamRequest } from '../transport/upstream-client.ts';
import { targetOf, type VideoContext, type VideoTarget } from './context.ts';
import { prepareCall, sendCall } from './upstream-call.ts';

/** `missing`: the upstream does not know the task. `inconclusive`: no response, or one that says nothing about the task. */
export type UpstreamReport<Result> =
  | { type: 'read'; result: Result; retryAfter?: number }
  | { type: 'missing' }
  | { type: 'inconclusive'; retryAfter?: number };

interface AdapterResult {
  type: string;
}

type Follow<Result> = { type: 'follow'; call: VideoCall<Result> };
type Unreadable = { type: 'unreadable' };

/** Consecutive follow-up calls. */
const MAX_FOLLOW_UPS = 3;

/** Rejects with the signal's reason on abort. */
export async function queryUpstream<Result extends AdapterResult>(
  context: VideoContext,
  attempt: VideoAttempt,
  callFor: (target: VideoTarget) => VideoCall<Result> | undefined,
  signal: AbortSignal,
): Promise<UpstreamReport<Exclude<Result, Follow<Result> | Unreadable>>> {
  const target = targetOf(context, attempt);
  if (!target) {
    const { provider, taskId } = attempt;
    context.log.error({ provider, task: taskId }, 'the provider or key that made a video task is no longer configured');
    return { type: 'inconclusive' };
  }
  let call = callAdapter(context, target, () => callFor(target));
  for (let followUps = 0; call && followUps <= MAX_FOLLOW_UPS; followUps++) {
    const current = call;
    const request = await tryPrepareCall(context, target, current);
    if (!request) return { type: 'inconclusive' };
    const outcome = await sendCall(context, request, { signal });
    if (outcome.type !== 'response') return { type: 'inconclusive' };
    const { response, retryAfter } = outcome;
    if (response.status === 404) return { type: 'missing' };
    const read = () => callAdapter(context, target, () => current.read(response));
    const isOfContent = response.status === 403 && isRefusedContent(read());
    if (isInconclusive(response.status) && !isOfContent) {
      reportRefusedCredential(context, target, response.status);
      return { type: 'inconclusive', retryAfter };
    }
    const result = read();
    if (!result || isUnreadable(result)) return { type: 'inconclusive', retryAfter };
    if (!isFollow(result)) {
      return { type: 'read', result: result as Exclude<Result, Follow<Result> | Unreadable>, retryAfter };
    }
    call = result.call;
  }
  return { type: 'inconclusive' };
}

/** Undefined if no credential is available. */
async function tryPrepareCall(
  context: VideoContext,
  target: VideoTarget,
  call: VideoCall<unknown>,
): Promise<UpstreamRequest | undefined> {
  try {
    return await prepareCall(context, target, call);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    context.log.warn({ provider: target.provider.id, problem: thrown.message }, 'no credential for a video task');
    return undefined;
  }
}

/** Catches errors of an adapter, so that its bugs do not keep a task from reaching its deadline. */
function callAdapter<Result>(context: VideoContext, { provider }: VideoTarget, run: () => Result): Result | undefined {
  try {
    return run();
  } catch (error) {
    context.log.error({ err: error, provider: provider.id }, 'the adapter of a provider failed');
    return undefined;
  }
}

function isFollow<Result extends AdapterResult>(result: Result | Follow<Result>): result is Follow<Result> {
  return result.type === 'follow';
}

function isUnreadable(result: AdapterResult): boolean {
  return result.type === 'unreadable';
}

/** Some providers use one status for a refused video and for a refused credential. */
function isRefusedContent(result: (AdapterResult & { error?: VideoFailure }) | undefined): boolean {
  return result?.type === 'failed' && result.error?.code === 'content_policy_violation';
}

function isInconclusive(status: number): boolean {
  return status === 401 || status === 403 || status === 408 || status === 429 || status >= 500;
}

function reportRefusedCredential(context: VideoContext, { provider, credential }: VideoTarget, status: number): void {
  if (status !== 401 && status !== 403) return;
  const fields = { provider: provider.id, credential: credential.id, status };
  context.log.error(fields, 'an upstream refuses the key that made its video tasks; they wait for it');
}
