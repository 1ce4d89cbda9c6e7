/** OpenRouter video API. */

import type { PollResult, VideoApi, VideoAsset, VideoRequest, VideoResponse } from '../../core/video.ts';
import { failedPollResult, failureOf, isSuccess, pollResult, type StatusMap, submitResult, usdOf } from './answer.ts';
import { mediaFields, present } from './request.ts';

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
    read: (answer) => submitResult(answer, answer.body?.id),
  }),
  poll: ({ id }) => ({ method: 'GET', path: pathOf(id), read: (answer) => readVideo(answer, id) }),
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

function readVideo(answer: VideoResponse, id: string): PollResult {
  const { body } = answer;
  if (!isSuccess(answer)) return failedPollResult(answer);
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
