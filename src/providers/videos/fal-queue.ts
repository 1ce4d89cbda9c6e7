/** fal queue. Field names differ between models and are listed in a table. */

import { type Json, textOf } from '../../core/json/json.ts';
import type {
  CancelResult,
  PollResult,
  SubmitResult,
  VideoApi,
  VideoRequest,
  VideoResponse,
} from '../../core/video.ts';
import { frameOf, inputUrl, present, referencesOf } from './request.ts';
import {
  amountOf,
  cancelResult,
  failedPollResult,
  failureOf,
  idOf,
  isSuccess,
  pollResult,
  runningResult,
  type StatusMap,
  submitResult,
  urlOf,
} from './response.ts';

const STATUSES: StatusMap = new Map([
  ['in_queue', 'queued'],
  ['in_progress', 'running'],
  ['completed', 'completed'],
  ['failed', 'failed'],
  ['canceled', 'cancelled'],
  ['cancelled', 'cancelled'],
]);

interface Dialect {
  duration(seconds: number): Json;
  firstFrame: string;
  lastFrame: string;
}

const COMMON: Dialect = { duration: String, firstFrame: 'image_url', lastFrame: 'end_image_url' };

/** Field names by the model's path after the owner; the last match wins. */
const DIALECTS: readonly (readonly [path: RegExp, dialect: Partial<Dialect>])[] = [
  [/^(veo|luma-)/, { duration: (seconds) => `${seconds}s` }],
  [/^(sora|ltx)/, { duration: (seconds) => seconds }],
  [/^kling-video\/v(1|2\.[015])/, { lastFrame: 'tail_image_url' }],
  [/^kling-video\/v(2\.6|3)/, { firstFrame: 'start_image_url' }],
  [/first-last-frame/, { firstFrame: 'first_frame_url', lastFrame: 'last_frame_url' }],
];

export const falQueue: VideoApi = {
  submit: (request) => ({
    method: 'POST',
    path: pathOf(request.model),
    body: bodyOf(request),
    read: (response) => readSubmission(response, appOf(request.model)),
  }),
  poll: (ref) => ({
    method: 'GET',
    path: `${taskPath(ref)}/status`,
    read: (response) => readStatus(response, taskPath(ref)),
  }),
  cancel: (ref) => ({ method: 'PUT', path: `${taskPath(ref)}/cancel`, read: readCancellation }),
};

function pathOf(model: string): string {
  return `/${model.split('/').map(encodeURIComponent).join('/')}`;
}

/** Namespaces that precede the owner in a path. */
const NAMESPACES = new Set(['workflows', 'comfy']);

/** App of a model: tasks are addressed by the app, without the rest of the model's path. */
function appOf(model: string): string {
  const parts = model.split('/');
  return parts.slice(0, NAMESPACES.has(parts[0] ?? '') ? 3 : 2).join('/');
}

function taskPath({ app, id }: Json): string {
  return `${pathOf(app)}/requests/${encodeURIComponent(id)}`;
}

function bodyOf(request: VideoRequest): Json {
  const path = request.model.slice(request.model.indexOf('/') + 1);
  const fitting = DIALECTS.filter(([pattern]) => pattern.test(path)).map(([, dialect]) => dialect);
  const { duration, firstFrame, lastFrame }: Dialect = Object.assign({}, COMMON, ...fitting);
  const first = frameOf(request, 'first_frame');
  const last = frameOf(request, 'last_frame');
  const urls = (type: 'image' | 'video' | 'audio') => {
    const inputs = referencesOf(request, type);
    return inputs.length === 0 ? undefined : inputs.map(inputUrl);
  };
  return present({
    prompt: request.prompt,
    duration: request.duration === undefined ? undefined : duration(request.duration),
    resolution: request.resolution?.toLowerCase(),
    aspect_ratio: request.aspectRatio,
    generate_audio: request.audio,
    seed: request.seed,
    negative_prompt: request.negativePrompt,
    [firstFrame]: first && inputUrl(first),
    [lastFrame]: last && inputUrl(last),
    image_urls: urls('image'),
    video_urls: urls('video'),
    audio_urls: urls('audio'),
    ...request.options,
  });
}

function readSubmission(response: VideoResponse, app: string): SubmitResult {
  const result = submitResult(response, response.body?.request_id);
  return result.type === 'accepted' ? { type: 'accepted', ref: { app, ...result.ref } } : result;
}

/** A failed request is also `COMPLETED`; its result, or an `error` beside the status, tells. */
function readStatus(response: VideoResponse, path: string): PollResult {
  const { body } = response;
  if (!isSuccess(response)) return failedPollResult(response);
  if (textOf(body?.status)?.toUpperCase() === 'COMPLETED' && !body.error) {
    return { type: 'follow', call: { method: 'GET', path, read: readResult } };
  }
  if (body?.error && CANCELLED.has(textOf(body.error_type) ?? '')) return { type: 'cancelled' };
  return pollResult({
    statuses: STATUSES,
    status: body?.error ? 'failed' : body?.status,
    assets: () => [],
    error: () => failureOf(body, 'upstream_error'),
  });
}

const CANCELLED = new Set(['client_cancelled', 'client_disconnected']);

/** The result of a failed request is its error. */
function readResult({ status, body, headers }: VideoResponse): PollResult {
  if (status === 400 && /in progress|in queue/i.test(textOf(body?.detail) ?? '')) return runningResult();
  if (status >= 400 && CANCELLED.has(textOf(body?.error_type) ?? headers['x-fal-error-type'] ?? '')) {
    return { type: 'cancelled' };
  }
  if (status >= 400 && status < 500) {
    return { type: 'failed', error: failureOf(body, status === 422 ? 'invalid_input' : 'upstream_error') };
  }
  if (status < 200 || status >= 300) return { type: 'unreadable' };
  if (/^in_(queue|progress)$/i.test(textOf(body?.status) ?? '')) return runningResult();
  const videos: Json = Array.isArray(body?.videos) ? body.videos : [body?.video ?? body?.output];
  const assets = videos.flatMap((video: Json) => {
    const url = urlOf(video?.url ?? video);
    const mime = textOf(video?.content_type);
    return url === undefined ? [] : [{ url, ...(mime !== undefined && { mime }) }];
  });
  return { type: 'completed', assets, ...present({ seconds: amountOf(body?.video?.duration) }) };
}

function readCancellation(response: VideoResponse): CancelResult {
  return idOf(response.body?.status) === 'ALREADY_COMPLETED' ? { type: 'too-late' } : cancelResult(response);
}
