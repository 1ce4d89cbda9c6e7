/** Where the videos of a task are to be had at this moment. */

import type { PollResult, VideoAsset } from '../core/video.ts';
import { targetOf, type VideoContext, type VideoTarget } from './context.ts';
import type { AssetSource } from './mirror.ts';
import { queryUpstream } from './status-query.ts';
import type { TaskAsset, VideoAttempt } from './task.ts';
import { prepareCall, sendRaw } from './upstream-call.ts';

/** What the upstream reports of a completed task; undefined when it cannot be asked or says something else. */
export async function queryAssets(
  context: VideoContext,
  attempt: VideoAttempt,
  signal: AbortSignal,
): Promise<VideoAsset[] | undefined> {
  const callFor = ({ video }: VideoTarget) => video.refresh?.(attempt.ref) ?? video.poll(attempt.ref);
  const report = await queryUpstream<PollResult>(context, attempt, callFor, signal);
  return report.type === 'read' && report.result.type === 'completed' ? report.result.assets : undefined;
}

/** Undefined when the upstream does not give it any more. `fresh` is what it has just said. */
export async function currentSource(
  context: VideoContext,
  attempt: VideoAttempt,
  { asset, fresh }: { asset: TaskAsset; fresh?: VideoAsset },
  signal: AbortSignal,
): Promise<AssetSource | undefined> {
  const { source, mime } = asset;
  if ('url' in source) return { type: 'url', url: source.url, mime };
  if ('inline' in source) return fresh && 'data' in fresh ? { type: 'data', data: fresh.data, mime } : undefined;
  const target = targetOf(context, attempt);
  if (!target) return undefined;
  const call = { method: 'GET', path: source.path, headers: { accept: '*/*' }, read: () => undefined } as const;
  const request = await prepareCall(context, target, call);
  if (!request.local) return { type: 'path', url: request.url, headers: request.headers, mime };
  const outcome = await sendRaw(context.upstream, request, { signal });
  if (outcome.type !== 'answered' || outcome.status !== 200 || outcome.body === 'too-large') return undefined;
  return { type: 'data', data: outcome.body.toString('base64'), mime: mime ?? outcome.headers['content-type'] };
}
