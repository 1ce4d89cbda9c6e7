/** Lost submissions: searches the upstream's task list for a submission whose response was not received. */

import type { FindResult } from '../core/video.ts';
import type { LoadedVideo } from '../store/operations/videos.ts';
import { targetOf, type VideoContext } from './context.ts';
import { queryUpstream } from './status-query.ts';

/** Timeout of a submission. It is long, because after a timeout it is unknown whether the task was accepted. */
export const SUBMISSION_TIMEOUT_MS = 180_000;
/** Maximum difference between the clocks of gateways. */
export const CLOCK_SKEW_MS = 60_000;

/**
 * `impossible`: the provider has no task list. One that is not configured at the moment may have one, so it is `unclear`. A
 * found task is never one of another submission. `sentAt` is the earliest moment at which it may have been sent.
 */
export async function findLostSubmission(
  context: VideoContext,
  { task, attempt }: LoadedVideo,
  { sentAt, signal }: { sentAt: number; signal: AbortSignal },
): Promise<FindResult | { type: 'impossible' }> {
  const { store, clock } = context;
  const target = targetOf(context, attempt);
  if (target && !target.video.find) return { type: 'impossible' };
  const request = await store.call('readVideoRequest', { id: task.id });
  if (!request) return { type: 'impossible' };
  const otherRefs = await store.call('heldVideoRefs', { attempt, since: sentAt - CLOCK_SKEW_MS });
  const lost = { attemptId: attempt.id, request, sentAt: Math.floor(sentAt / 1000), otherRefs };
  const finding = await queryUpstream(context, attempt, ({ video }) => video.find?.(lost), signal);
  if (finding.type !== 'read') return { type: 'unclear' };
  if (finding.result.type !== 'found') return finding.result;
  const named = { ...attempt, ref: finding.result.ref };
  const sentAfter = clock.now() - SUBMISSION_TIMEOUT_MS;
  return (await store.call('claimVideoRef', { attempt: named, sentAfter })) ? finding.result : { type: 'unclear' };
}
