/** Current sources of the videos of a task. */

import { untilAborted } from '../core/cancellation.ts';
import type { PollResult, VideoAsset } from '../core/video.ts';
import { createSemaphore } from '../net/semaphore.ts';
import type { TaskAsset, VideoAttempt } from '../records/video-task.ts';
import { targetOf, type VideoContext, type VideoTarget } from './context.ts';
import type { AssetSource } from './mirror.ts';
import { queryUpstream } from './status-query.ts';
import { prepareCall, sendRaw } from './upstream-call.ts';

/** An asset as its upstream reported it, with an inline video decoded. */
type ReportedAsset = Exclude<VideoAsset, { data: string }> | { data: Buffer; mime?: string };

/** Time for which the assets of a task, or the failure to get them, answer further requests. */
const RECENT_MS = 60_000;
const RECENT_FAILURE_MS = 5_000;
/** Memory for recent assets: any one response of an upstream fits. */
const MAX_RECENT_BYTES = 150 * 1024 * 1024;
/** Queries at once: each may hold one response of an upstream, also when its client has left. */
const MAX_QUERIES = 16;
/** Memory of an entry beside its assets. */
const ENTRY_BYTES = 1024;

interface RecentAssets {
  reported: Promise<ReportedAsset[] | undefined>;
  /** 0 until the query has ended. */
  bytes: number;
  /** Clients that wait for the result. */
  clients: number;
  /** Gives up a query that waits for others. */
  leave(): void;
  forget(): void;
}

export type AssetQuery = (attempt: VideoAttempt, signal: AbortSignal) => Promise<ReportedAsset[] | undefined>;

/**
 * Queries of the assets of completed tasks for clients: one a minute for each task, however often and in how many parts its
 * videos are downloaded, and whether or not clients wait for the result.
 */
export function createAssetQuery(context: VideoContext, maxBytes = MAX_RECENT_BYTES): AssetQuery {
  const recent = new Map<string, RecentAssets>();
  const queries = createSemaphore(MAX_QUERIES);
  let bytes = 0;

  function start(attempt: VideoAttempt): RecentAssets {
    let cancelTimer = () => {};
    let isWaiting = true;
    const waiting = new AbortController();
    const entry: RecentAssets = {
      reported: queries(async () => {
        isWaiting = false;
        const assets = await queryAssets(context, attempt, new AbortController().signal);
        return assets?.map(decoded);
      }, waiting.signal),
      bytes: 0,
      clients: 0,
      leave() {
        if (!isWaiting) return;
        entry.forget();
        waiting.abort();
      },
      forget() {
        cancelTimer();
        if (recent.get(attempt.taskId) !== entry) return;
        recent.delete(attempt.taskId);
        bytes -= entry.bytes;
      },
    };
    recent.set(attempt.taskId, entry);
    entry.reported.then((assets) => {
      cancelTimer = context.clock.after(assets ? RECENT_MS : RECENT_FAILURE_MS, entry.forget, { background: true });
      entry.bytes = ENTRY_BYTES + (assets ?? []).reduce((sum, asset) => sum + bytesOf(asset), 0);
      bytes += entry.bytes;
      for (const oldest of recent.values()) {
        if (bytes <= maxBytes) break;
        if (oldest.bytes > 0) oldest.forget();
      }
    }, entry.forget);
    return entry;
  }

  return async (attempt, signal) => {
    const entry = recent.get(attempt.taskId) ?? start(attempt);
    entry.clients += 1;
    try {
      return await untilAborted(entry.reported, signal);
    } finally {
      entry.clients -= 1;
      if (entry.clients === 0) entry.leave();
    }
  };
}

function decoded(asset: VideoAsset): ReportedAsset {
  return 'data' in asset ? { ...asset, data: Buffer.from(asset.data, 'base64') } : asset;
}

function bytesOf(asset: ReportedAsset): number {
  if ('data' in asset) return asset.data.length;
  return 'url' in asset ? asset.url.length : asset.path.length;
}

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
  { asset, fresh }: { asset: TaskAsset; fresh?: VideoAsset | ReportedAsset },
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
  return { type: 'data', data: outcome.body, mime: mime ?? outcome.headers['content-type'] };
}
