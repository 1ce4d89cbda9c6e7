/** Looks for a task of ours that an upstream may have taken without our seeing its answer. */

import type { FindResult } from '../core/video.ts';
import type { LoadedVideo } from './change.ts';
import { targetOf, type VideoContext } from './context.ts';
import { queryUpstream } from './status-query.ts';

/** Milliseconds for a submission: some upstreams answer late, and whoever hangs up knows nothing. */
export const SUBMISSION_TIMEOUT_MS = 180_000;
/** And by which the clocks of gateways may differ. */
const CLOCK_SKEW_MS = 60_000;

/** `impossible`: there is no way to ask. What is found belongs to no other submission. */
export async function findLostSubmission(
  context: VideoContext,
  { task, attempt }: LoadedVideo,
  signal: AbortSignal,
): Promise<FindResult | { type: 'impossible' }> {
  const { store, clock } = context;
  const video = targetOf(context, attempt)?.video;
  const find = video?.find?.bind(video);
  const request = find && (await store.call('readVideoRequest', { id: task.id }));
  if (!find || !request) return { type: 'impossible' };
  const sentAt = attempt.sentAt ?? attempt.createdAt;
  const otherRefs = await store.call('heldVideoRefs', { attempt, since: sentAt - CLOCK_SKEW_MS });
  const lost = { attemptId: attempt.id, request, sentAt: Math.floor(sentAt / 1000), otherRefs };
  const finding = await queryUpstream(context, attempt, () => find(lost), signal);
  if (finding.type !== 'read') return { type: 'unclear' };
  if (finding.result.type !== 'found') return finding.result;
  const named = { ...attempt, ref: finding.result.ref };
  const sentAfter = clock.now() - SUBMISSION_TIMEOUT_MS;
  return (await store.call('claimVideoRef', { attempt: named, sentAfter })) ? finding.result : { type: 'unclear' };
}
