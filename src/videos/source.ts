/** Current sources of the videos of a task. */

import type { PollResult, VideoAsset } from '../core/video.ts';
import type { TaskAsset, VideoAttempt } from '../records/video-task.ts';
import { targetOf, type VideoContext, type VideoTarget } from './context.ts';
import type { AssetSource } from './mirror.ts';
import { queryUpstream } from './status-query.ts';
import { prepareCall, sendRaw } from './upstream-call.ts';

/** Queries the assets of a completed task; undefined if the query fails or the task is not completed. */
export async function queryAssets(
  context: VideoContext,
  attempt: VideoAttempt,
  signal: AbortSignal,
): Promise<VideoAsset[] | undefined> {
  const callFor = ({ video }: VideoTarget) => video.refresh?.(attempt.ref) ?? video.poll(attempt.ref);
  const report = await queryUpstream<PollResult>(context, attempt, callFor, signal);
  return report.type === 'read' && report.result.type === 'completed' ? report.result.assets : undefined;
}

/** Undefined if the video is no longer available upstream. `fresh`: the asset as just reported. */
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
  if (outcome.type !== 'response' || outcome.status !== 200 || outcome.body === 'too-large') return undefined;
  return { type: 'data', data: outcome.body.toString('base64'), mime: mime ?? outcome.headers['content-type'] };
}
