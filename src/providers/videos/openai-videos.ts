/** OpenAI video API, also served by SGLang, LiteLLM, new-api and Polygate. */

import { type Json, textOf } from '../../core/json/json.ts';
import type {
  LostSubmission,
  PollResult,
  VideoApi,
  VideoAsset,
  VideoInput,
  VideoRequest,
  VideoResponse,
} from '../../core/video.ts';
import { inputUrl, mediaFields, present } from './request.ts';
import {
  amountOf,
  cancelResult,
  failedPollResult,
  failureOf,
  isSuccess,
  pollResult,
  type StatusMap,
  submitResult,
  urlOf,
  usdOf,
} from './response.ts';
import { searchTasks } from './task-search.ts';

/** new-api reports `not_start` and `unknown` until it has queried its own upstream. */
const STATUSES: StatusMap = new Map([
  ['queued', 'queued'],
  ['pending', 'queued'],
  ['submitted', 'queued'],
  ['not_start', 'queued'],
  ['unknown', 'queued'],
  ['in_progress', 'running'],
  ['processing', 'running'],
  ['running', 'running'],
  ['completed', 'completed'],
  ['succeeded', 'completed'],
  ['failed', 'failed'],
  ['failure', 'failed'],
  ['error', 'failed'],
  ['cancelled', 'cancelled'],
  ['canceled', 'cancelled'],
  ['expired', 'expired'],
]);

export const openaiVideos: VideoApi = {
  submit: (request, { attemptId }) => ({
    method: 'POST',
    path: '/videos',
    // Servers that support the header create one task for repeated requests.
    headers: { 'idempotency-key': attemptId },
    body: bodyOf(request),
    read: (response) => submitResult(response, response.body?.id),
  }),
  poll: ({ id }) => ({ method: 'GET', path: pathOf(id), read: (response) => readVideo(response, id) }),
  find: (lost) => ({
    method: 'GET',
    path: '/videos?limit=100&order=desc',
    read: (response) => searchTasks(response.body?.data, taskSearch(lost, response)),
  }),
};

/** Polygate's video API: OpenAI's with cancellation. */
export const polygateVideos: VideoApi = {
  ...openaiVideos,
  cancel: ({ id }) => ({ method: 'POST', path: `${pathOf(id)}/cancel`, body: {}, read: cancelResult }),
};

function pathOf(id: string): string {
  return `/videos/${encodeURIComponent(id)}`;
}

/** JSON, or a multipart form if a first frame has to be uploaded. */
function bodyOf(request: VideoRequest): Json {
  const [frame, ...others] = request.frames;
  const first = frame?.type === 'first_frame' && others.length + request.references.length === 0 ? frame.input : null;
  const fields = present({
    ...request.options,
    model: request.model,
    prompt: request.prompt,
    seconds: request.duration === undefined ? undefined : String(request.duration),
    size: request.size,
    resolution: request.resolution,
    aspect_ratio: request.aspectRatio,
    generate_audio: request.audio,
    seed: request.seed,
    negative_prompt: request.negativePrompt,
    n: request.count > 1 ? request.count : undefined,
  });
  if (!first) return { ...fields, ...mediaFields(request) };
  return first.data === undefined
    ? { ...fields, input_reference: { image_url: inputUrl(first) } }
    : multipartBody(fields, first);
}

function multipartBody(fields: Record<string, Json>, { data = '', mime }: VideoInput): FormData {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    made.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  const file = new Blob([Buffer.from(data, 'base64')], { type: mime ?? 'application/octet-stream' });
  made.set('input_reference', file, `first-frame.${mime?.split('/')[1] ?? 'bin'}`);
  return made;
}

function readVideo(response: VideoResponse, id: string): PollResult {
  const { body } = response;
  if (!isSuccess(response)) return failedPollResult(response);
  return pollResult({
    statuses: STATUSES,
    status: body?.status,
    progress: body?.progress,
    charge: present({
      seconds: amountOf(body?.usage?.video_seconds ?? lengthOfOnly(body)),
      cost: usdOf(body?.usage?.video_cost ?? body?.usage?.cost),
    }),
    assets: () => assetsOf(body, id),
    error: () => failureOf(body, 'upstream_error'),
  });
}

/** `seconds` is the length of one clip, which is not the sum where there are several. */
function lengthOfOnly(body: Json): Json {
  return severalOf(body) ? undefined : body?.seconds;
}

/** The list of several videos; undefined for one. */
function severalOf(body: Json): Json[] | undefined {
  const urls = body?.unsigned_urls;
  return Array.isArray(urls) && urls.length > 1 ? urls : undefined;
}

/** The public URL if there is one, otherwise the content endpoint. `unsigned_urls` counts the videos of a task with several. */
function assetsOf(body: Json, id: string): VideoAsset[] {
  const url = urlOf(body.url) ?? urlOf(body.video_url) ?? urlOf(body.metadata?.url);
  if (url !== undefined) return [{ url }];
  const content = `${pathOf(id)}/content`;
  return severalOf(body)?.map((_url, index) => ({ path: `${content}?index=${index}` })) ?? [{ path: content }];
}

function taskSearch(lost: LostSubmission, { body }: VideoResponse) {
  const { request } = lost;
  return {
    lost,
    complete: body?.has_more === false,
    matches: (task: Record<string, Json>) => {
      const prompt = textOf(task.prompt);
      if (prompt !== undefined && request.prompt !== undefined && prompt !== request.prompt) return false;
      return prompt !== undefined && prompt === request.prompt && isSameModel(textOf(task.model), request.model)
        ? true
        : undefined;
    },
  };
}

function isSameModel(listed: string | undefined, asked: string): boolean {
  return listed !== undefined && (listed === asked || asked.endsWith(`/${listed}`));
}
