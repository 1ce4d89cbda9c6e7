/** Replicate. Input fields differ between models and are listed in a table. */

import { isDeepStrictEqual } from 'node:util';
import { type Json, textOf } from '../../core/json/json.ts';
import type { LostSubmission, PollResult, VideoApi, VideoRequest, VideoResponse } from '../../core/video.ts';
import { frameOf, inputUrl, present, referencesOf } from './request.ts';
import {
  cancelResult,
  failedPollResult,
  failureOf,
  isSuccess,
  pollResult,
  type StatusMap,
  submitResult,
  urlOf,
} from './response.ts';
import { searchTasks, unixSecondsOf } from './task-search.ts';

/** `aborted`: expired before it started; unlike a canceled task it is not charged. */
const STATUSES: StatusMap = new Map([
  ['starting', 'queued'],
  ['processing', 'running'],
  ['succeeded', 'completed'],
  ['failed', 'failed'],
  ['canceled', 'cancelled'],
  ['cancelled', 'cancelled'],
  ['aborted', 'expired'],
]);

interface Dialect {
  firstFrame: string;
  lastFrame: string;
  images: string;
  duration: string;
}

const COMMON: Dialect = {
  firstFrame: 'image',
  lastFrame: 'last_frame_image',
  images: 'reference_images',
  duration: 'duration',
};

/** Field names by model name; the last match wins. */
const DIALECTS: readonly (readonly [model: RegExp, dialect: Partial<Dialect>])[] = [
  [/^google\/veo-/, { lastFrame: 'last_frame' }],
  [/^kwaivgi\/kling-/, { firstFrame: 'start_image', lastFrame: 'end_image' }],
  [/^minimax\//, { firstFrame: 'first_frame_image' }],
  [/^luma\//, { firstFrame: 'start_image', lastFrame: 'end_image' }],
  [/^openai\/sora-/, { firstFrame: 'input_reference', duration: 'seconds' }],
];

export const replicate: VideoApi = {
  submit: (request) => ({ ...creation(request), read: (response) => submitResult(response, response.body?.id) }),
  poll: ({ id }) => ({ method: 'GET', path: pathOf(id), read: readPrediction }),
  cancel: ({ id }) => ({ method: 'POST', path: `${pathOf(id)}/cancel`, read: cancelResult }),
  find: (lost) => ({ method: 'GET', path: '/predictions', read: (response) => findTask(lost, response) }),
};

function pathOf(id: string): string {
  return `/predictions/${encodeURIComponent(id)}`;
}

/** A model is `owner/name`, or `owner/name:version` for a community model, which needs a version. */
function creation(request: VideoRequest): { method: 'POST'; path: string; body: Json } {
  const [name = '', version] = request.model.split(':');
  const input = inputOf(request, name);
  if (version !== undefined) return { method: 'POST', path: '/predictions', body: { version, input } };
  const path = `/models/${name.split('/').map(encodeURIComponent).join('/')}/predictions`;
  return { method: 'POST', path, body: { input } };
}

function inputOf(request: VideoRequest, name: string): Record<string, Json> {
  const fitting = DIALECTS.filter(([pattern]) => pattern.test(name)).map(([, dialect]) => dialect);
  const fields: Dialect = Object.assign({}, COMMON, ...fitting);
  const first = frameOf(request, 'first_frame');
  const last = frameOf(request, 'last_frame');
  const images = referencesOf(request, 'image').map(inputUrl);
  return present({
    ...request.options,
    prompt: request.prompt,
    [fields.duration]: request.duration,
    resolution: request.resolution,
    aspect_ratio: request.aspectRatio,
    size: request.size?.replace('x', '*'),
    generate_audio: request.audio,
    seed: request.seed,
    negative_prompt: request.negativePrompt,
    [fields.firstFrame]: first && inputUrl(first),
    [fields.lastFrame]: last && inputUrl(last),
    [fields.images]: images.length === 0 ? undefined : images,
  });
}

function readPrediction(response: VideoResponse): PollResult {
  const { body } = response;
  if (!isSuccess(response)) return failedPollResult(response);
  return pollResult({
    statuses: STATUSES,
    status: body?.status,
    assets: () => [body.output].flat().flatMap(assetOf),
    error: () => failureOf({ error: body.error }, 'upstream_error'),
  });
}

function assetOf(output: Json): { url: string }[] {
  const url = urlOf(output?.url ?? output);
  return url === undefined ? [] : [{ url }];
}

/** Matches a prediction with identical input; rejects one with another prompt; others are undecided, as inputs may be normalized. */
function findTask(lost: LostSubmission, { body }: VideoResponse) {
  const { request } = lost;
  const [name = '', version] = request.model.split(':');
  const input = inputOf(request, name);
  const listed: Json = body?.results;
  const predictions = Array.isArray(listed)
    ? listed.map((entry) => ({ ...entry, created_at: unixSecondsOf(entry?.created_at) }))
    : undefined;
  return searchTasks(predictions, {
    lost,
    complete: body?.next === null,
    matches: ({ model, version: made, input: given }) => {
      if (version !== undefined ? made !== version : textOf(model) !== name) return false;
      if (isDeepStrictEqual(given, input)) return true;
      return textOf(given?.prompt) !== undefined && given.prompt !== request.prompt ? false : undefined;
    },
  });
}
