/** xAI Grok Imagine. A 202 without a status, even with an empty body, is a running task. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { withoutEnd } from '../../core/text.ts';
import type { PollResult, VideoApi, VideoRequest, VideoResponse } from '../../core/video.ts';
import { frameOf, inputUrl, present, referencesOf } from './request.ts';
import {
  amountOf,
  failedPollResult,
  failureOf,
  isSuccess,
  pollResult,
  runningResult,
  type StatusMap,
  submitResult,
  urlOf,
} from './response.ts';

const STATUSES: StatusMap = new Map([
  ['queued', 'queued'],
  ['pending', 'running'],
  ['in_progress', 'running'],
  ['done', 'completed'],
  ['failed', 'failed'],
  ['expired', 'expired'],
]);

const TICKS_PER_DOLLAR = 10n ** 10n;

export const grokImagine: VideoApi = {
  checkRequest(request) {
    if (referencesOf(request, 'video').length === 0) return;
    const fixed = { duration: request.duration, resolution: request.resolution, aspect_ratio: request.aspectRatio };
    for (const [param, value] of Object.entries(fixed)) {
      if (value === undefined) continue;
      throw new GatewayError('invalid_request', `${param} is that of the video when a video is edited.`, { param });
    }
    if (request.references.length + request.frames.length === 1) return;
    throw new GatewayError('invalid_request', 'A video is edited alone, without frames and other references.', {
      param: 'input_references',
    });
  },
  submit: (request) => ({
    method: 'POST',
    path: referencesOf(request, 'video').length > 0 ? '/videos/edits' : '/videos/generations',
    body: bodyOf(request),
    read: (response) => submitResult(response, response.body?.request_id),
  }),
  poll: ({ id }) => ({ method: 'GET', path: `/videos/${encodeURIComponent(id)}`, read: readVideo }),
};

function bodyOf(request: VideoRequest): Json {
  const first = frameOf(request, 'first_frame');
  const [video] = referencesOf(request, 'video');
  const images = referencesOf(request, 'image');
  return present({
    ...request.options,
    model: request.model,
    prompt: request.prompt,
    duration: request.duration,
    aspect_ratio: request.aspectRatio,
    resolution: request.resolution,
    image: first && { url: inputUrl(first) },
    video: video && { url: inputUrl(video) },
    reference_images: images.length === 0 ? undefined : images.map((input) => ({ url: inputUrl(input) })),
  });
}

function readVideo(response: VideoResponse): PollResult {
  const { body } = response;
  if (!isSuccess(response)) return refusal(response);
  const video = body?.video;
  const url = urlOf(video?.url);
  const charge = present({ seconds: amountOf(video?.duration), cost: costOf(body?.usage?.cost_in_usd_ticks) });
  if (video?.respect_moderation === false) {
    return { type: 'failed', error: failureOf({ code: 'moderation' }, 'content_policy_violation'), ...charge };
  }
  const status = body?.status ?? (url === undefined ? undefined : 'done');
  if (status === undefined && response.status === 202) return runningResult(body?.progress);
  return pollResult({
    statuses: STATUSES,
    status,
    progress: body?.progress,
    charge,
    assets: () => (url === undefined ? [] : [{ url, mime: 'video/mp4' }]),
    error: () => failureOf(body, 'upstream_error'),
  });
}

/** Words with which content is refused with 403. A key or team that is blocked for its content gets others. */
const REFUSED_CONTENT = /content violates|safety_check|moderat/i;

/** A video blocked by the content filter is an error response to the poll. */
function refusal(response: VideoResponse): PollResult {
  const error = failureOf(response.body, 'upstream_error');
  const isOfContent = error.code === 'content_policy_violation' && response.status < 500;
  const isOfKey = response.status === 403 && !REFUSED_CONTENT.test(error.message);
  return isOfContent && !isOfKey ? { type: 'failed', error } : failedPollResult(response);
}

function costOf(ticks: Json): string | undefined {
  if (!Number.isSafeInteger(ticks) || ticks < 0) return undefined;
  const count = BigInt(ticks);
  const fraction = String(count % TICKS_PER_DOLLAR).padStart(10, '0');
  return withoutEnd(withoutEnd(`${count / TICKS_PER_DOLLAR}.${fraction}`, '0'), '.');
}
