/** Task object of the public API. */

import type { Json } from '../core/json/json.ts';
import { decimalOf } from '../core/money.ts';
import { defined } from '../core/plain-objects.ts';
import { isPublicUrl } from '../net/check-url.ts';
import { isTerminal, type TaskAsset, type VideoTask } from '../records/video-task.ts';

export interface TaskObjectOptions {
  /** Public base URL of the gateway, without a trailing slash. */
  baseUrl: string;
  /** Signed URLs of the mirrored copies, in order. */
  mirrorUrls(task: VideoTask): string[];
  /** Whether to show the upstream's public URLs to callers. */
  exposeUpstreamUrls: boolean;
}

/** Fields without a value are left out. */
export function encodeTask(task: VideoTask, options: TaskObjectOptions): Json {
  const { details } = task;
  const completed = task.status === 'completed';
  const url = `${options.baseUrl}/v1/videos/${task.id}`;
  return defined({
    id: task.id,
    object: 'video',
    status: task.status,
    model: task.model,
    prompt: task.prompt,
    unsigned_urls: completed ? task.assets.map((asset, index) => assetUrl(asset, index, { url, options })) : [],
    mirror_urls: completed ? options.mirrorUrls(task) : [],
    usage: isTerminal(task.status) ? encodeUsage(task) : undefined,
    created_at: seconds(task.createdAt),
    updated_at: seconds(task.updatedAt),
    polling_url: url,
    progress: completed ? 100 : task.progress,
    seconds: details.duration === undefined ? undefined : String(details.duration),
    size: details.size,
    resolution: details.resolution,
    aspect_ratio: details.aspectRatio,
    seed: details.seed,
    completed_at: completed && task.settledAt !== undefined ? seconds(task.settledAt) : undefined,
    expires_at: completed && task.mediaExpiresAt !== undefined ? seconds(task.mediaExpiresAt) : undefined,
    error: task.error?.message,
    error_code: task.error?.code,
    cancel_requested: task.cancelRequested || undefined,
    metadata: details.metadata,
  });
}

/** Assets that need our credential, came inline, or are not on the public internet are served by the gateway. */
function assetUrl(
  { source }: TaskAsset,
  index: number,
  { url, options }: { url: string; options: TaskObjectOptions },
): string {
  if ('url' in source && options.exposeUpstreamUrls && isPublicUrl(source.url)) return source.url;
  return `${url}/content?index=${index}`;
}

/** `cost` is the same amount as a number, for compatibility. */
function encodeUsage({ seconds = 0, cost = 0n }: VideoTask): Json {
  const decimal = decimalOf(cost);
  return { video_seconds: seconds, video_cost: decimal, cost: Number(decimal) };
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
