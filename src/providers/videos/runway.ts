/** Runway: own and third-party models, charged in credits. Cancelled tasks may be deleted. */

import { type Json, textOf } from '../../core/json/json.ts';
import type { PollResult, TaskErrorCode, VideoApi, VideoInput, VideoRequest, VideoResponse } from '../../core/video.ts';
import { cancelByDelete } from './cancel-by-delete.ts';
import { refuseMixedRoles } from './mixed-roles.ts';
import { frameOf, inputUrl, present, referencesOf } from './request.ts';
import {
  amountOf,
  failedPollResult,
  failureOf,
  isSuccess,
  pollResult,
  type StatusMap,
  submitResult,
  urlOf,
  usdOf,
} from './response.ts';

const STATUSES: StatusMap = new Map([
  ['pending', 'queued'],
  ['throttled', 'queued'],
  ['running', 'running'],
  ['succeeded', 'completed'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['canceled', 'cancelled'],
]);

const CREDITS_PER_DOLLAR = 100;

export const runway: VideoApi = {
  minPollIntervalMs: 5000,
  checkRequest: refuseMixedRoles,
  submit: (request) => ({
    method: 'POST',
    path: request.frames.length > 0 ? '/v1/image_to_video' : '/v1/text_to_video',
    body: bodyOf(request),
    read: (response) => submitResult(response, response.body?.id),
  }),
  poll: ({ id }) => ({ method: 'GET', path: pathOf(id), read: readTaskResponse }),
  cancel: ({ id }) =>
    cancelByDelete({
      statePath: pathOf(id),
      path: pathOf(id),
      read: readTaskResponse,
      cancellableStates: ['queued', 'running'],
    }),
};

function pathOf(id: string): string {
  return `/v1/tasks/${encodeURIComponent(id)}`;
}

/** `ratio` is a size in pixels for some models and an aspect ratio for others. */
function bodyOf(request: VideoRequest): Json {
  return present({
    ...request.options,
    model: request.model,
    promptText: request.prompt,
    promptImage: imagesOf(request),
    ratio: request.size?.replace('x', ':') ?? request.aspectRatio,
    resolution: request.resolution,
    duration: request.duration,
    audio: request.audio,
    seed: request.seed,
    negativePrompt: request.negativePrompt,
    references: listOf(request, 'image', (uri) => ({ uri })),
    referenceVideos: listOf(request, 'video', (uri) => ({ type: 'video', uri })),
    referenceAudio: listOf(request, 'audio', (uri) => ({ type: 'audio', uri })),
  });
}

/** A single first frame is sent without a position, because some models do not support positions. */
function imagesOf(request: VideoRequest): Json {
  const last = frameOf(request, 'last_frame');
  const first = frameOf(request, 'first_frame');
  if (first && !last) return inputUrl(first);
  const placed = (position: 'first' | 'last', input: VideoInput | undefined) =>
    input ? [{ uri: inputUrl(input), position }] : [];
  return last && [...placed('first', first), ...placed('last', last)];
}

function listOf(request: VideoRequest, type: 'image' | 'video' | 'audio', entry: (uri: string) => Json): Json {
  const inputs = referencesOf(request, type);
  return inputs.length === 0 ? undefined : inputs.map((input) => entry(inputUrl(input)));
}

function readTaskResponse(response: VideoResponse): PollResult {
  const { body } = response;
  if (!isSuccess(response)) return failedPollResult(response);
  const share = amountOf(body?.progress);
  return pollResult({
    statuses: STATUSES,
    status: body?.status,
    progress: share === undefined ? undefined : share * 100,
    charge: present({ cost: costOf(body?.cost?.credits) }),
    assets: () => (Array.isArray(body.output) ? body.output : []).flatMap(assetOf),
    error: () => failureOf({ code: body.failureCode, message: body.failure }, errorCodeOf(textOf(body.failureCode))),
  });
}

function assetOf(output: Json): { url: string }[] {
  const url = urlOf(output);
  return url === undefined ? [] : [{ url }];
}

function costOf(credits: Json): string | undefined {
  const amount = amountOf(credits);
  return amount === undefined ? undefined : usdOf(amount / CREDITS_PER_DOLLAR);
}

/** Codes are hierarchical, like `SAFETY.INPUT.TEXT`. */
function errorCodeOf(code = ''): TaskErrorCode {
  if (/^(INPUT_PREPROCESSING\.)?SAFETY\b/.test(code)) return 'content_policy_violation';
  return /^(ASSET|INPUT)\b/.test(code) ? 'invalid_input' : 'upstream_error';
}
