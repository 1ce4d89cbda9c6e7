/** OpenRouter video API. */

import type { PollResult, VideoApi, VideoAsset, VideoRequest, VideoResponse } from '../../core/video.ts';
import { mediaFields, present } from './request.ts';
import { failedPollResult, failureOf, isSuccess, pollResult, type StatusMap, submitResult, usdOf } from './response.ts';

const STATUSES: StatusMap = new Map([
  ['pending', 'queued'],
  ['queued', 'queued'],
  ['in_progress', 'running'],
  ['completed', 'completed'],
  ['failed', 'failed'],
  ['dead', 'failed'],
  ['cancelled', 'cancelled'],
  ['canceled', 'cancelled'],
  ['expired', 'expired'],
]);

/** Uses the id only: `polling_url` is not trusted. */
export const openrouterVideos: VideoApi = {
  submit: (request) => ({
    method: 'POST',
    path: '/videos',
    body: bodyOf(request),
    read: (response) => submitResult(response, response.body?.id),
  }),
  poll: ({ id }) => ({ method: 'GET', path: pathOf(id), read: (response) => readVideo(response, id) }),
};

function pathOf(id: string): string {
  return `/videos/${encodeURIComponent(id)}`;
}

function bodyOf(request: VideoRequest) {
  return present({
    ...request.options,
    model: request.model,
    prompt: request.prompt,
    duration: request.duration,
    resolution: request.resolution,
    aspect_ratio: request.aspectRatio,
    size: request.size,
    generate_audio: request.audio,
    seed: request.seed,
    negative_prompt: request.negativePrompt,
    n: request.count > 1 ? request.count : undefined,
    ...mediaFields(request),
  });
}

function readVideo(response: VideoResponse, id: string): PollResult {
  const { body } = response;
  if (!isSuccess(response)) return failedPollResult(response);
  return pollResult({
    statuses: STATUSES,
    status: body?.status,
    charge: present({ cost: usdOf(body?.usage?.cost) }),
    assets: () => assetsOf(body.unsigned_urls, id),
    error: () => failureOf(body, 'upstream_error'),
  });
}

/** The URLs are content endpoints that need the key. A single video may not be listed. */
function assetsOf(urls: unknown, id: string): VideoAsset[] {
  const count = Array.isArray(urls) ? Math.max(1, urls.length) : 1;
  return Array.from({ length: count }, (_, index) => ({ path: `${pathOf(id)}/content?index=${index}` }));
}
