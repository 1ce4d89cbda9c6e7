/** Veo on the Gemini API: long-running operations with videos in the Files API. Cancellation is not supported. */

import { GatewayError } from '../../core/errors.ts';
import { type Json, textOf } from '../../core/json/json.ts';
import type {
  PollResult,
  SubmitResult,
  VideoApi,
  VideoAsset,
  VideoInput,
  VideoRequest,
  VideoResponse,
} from '../../core/video.ts';
import { frameOf, present, referencesOf } from './request.ts';
import {
  amountOf,
  failedPollResult,
  failureOf,
  idOf,
  isSuccess,
  runningResult,
  submitResult,
  urlOf,
} from './response.ts';

/** Duration required for a last frame or references. */
const FIXED_DURATION_SECONDS = 8;

export const veo: VideoApi = {
  inlinesMedia: true,
  minPollIntervalMs: 10_000,
  checkRequest(request) {
    if ((request.duration ?? FIXED_DURATION_SECONDS) === FIXED_DURATION_SECONDS) return;
    if (request.references.length === 0 && frameOf(request, 'last_frame') === undefined) return;
    throw new GatewayError(
      'invalid_request',
      `duration must be ${FIXED_DURATION_SECONDS} with references or a last frame.`,
      {
        param: 'duration',
      },
    );
  },
  submit: (request) => ({
    method: 'POST',
    path: `/v1beta/models/${encodeURIComponent(request.model)}:predictLongRunning`,
    body: { instances: [instanceOf(request)], parameters: parametersOf(request) },
    read: readSubmission,
  }),
  poll: ({ id }) => ({ method: 'GET', path: `/v1beta/${pathOf(id)}`, read: readOperation }),
};

/** Operation names are paths. */
function pathOf(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/');
}

function instanceOf(request: VideoRequest): Json {
  const references = referencesOf(request, 'image');
  return present({
    prompt: request.prompt,
    image: imageOf(frameOf(request, 'first_frame')),
    lastFrame: imageOf(frameOf(request, 'last_frame')),
    referenceImages:
      references.length === 0
        ? undefined
        : references.map((input) => ({ image: imageOf(input), referenceType: 'asset' })),
  });
}

function imageOf(input: VideoInput | undefined): Json {
  return input && { bytesBase64Encoded: input.data, mimeType: input.mime };
}

function parametersOf(request: VideoRequest): Json {
  return present({
    ...request.options,
    sampleCount: request.count > 1 ? request.count : undefined,
    aspectRatio: request.aspectRatio,
    resolution: request.resolution?.toLowerCase(),
    durationSeconds: request.duration,
    seed: request.seed,
    negativePrompt: request.negativePrompt,
  });
}

function readSubmission(response: VideoResponse): SubmitResult {
  const name = textOf(response.body?.name);
  const safe = name?.split('/').every((part) => idOf(part) !== undefined);
  return submitResult(response, safe ? name : undefined);
}

function readOperation(response: VideoResponse): PollResult {
  const { body } = response;
  if (!isSuccess(response)) return failedPollResult(response);
  if (body?.done !== true) return textOf(body?.name) === undefined ? { type: 'unreadable' } : runningResult();
  if (body.error) return { type: 'failed', error: failureOf(body, errorCodeOf(body.error.code)) };
  const made = body.response?.generateVideoResponse ?? body.response;
  const samples: Json = made?.generatedSamples ?? made?.generatedVideos ?? made?.videos;
  const assets = Array.isArray(samples) ? samples.flatMap(assetOf) : [];
  if (assets.length > 0 || !amountOf(made?.raiMediaFilteredCount)) return { type: 'completed', assets };
  const reasons: Json = made.raiMediaFilteredReasons;
  const message = Array.isArray(reasons) ? reasons.filter((reason) => typeof reason === 'string').join(' ') : '';
  return { type: 'failed', error: failureOf({ code: 'safety', message }, 'content_policy_violation') };
}

const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;

function errorCodeOf(code: Json): 'invalid_input' | 'model_unavailable' | 'upstream_error' {
  if (code === INVALID_ARGUMENT) return 'invalid_input';
  return code === NOT_FOUND ? 'model_unavailable' : 'upstream_error';
}

const FILE_PATH = /^\/v\d\w*\/files\/[\w.~-]+$/;

/** Files of the Files API are downloaded below the base URL with the key; other URLs without it. */
function assetOf(sample: Json): VideoAsset[] {
  const video = sample?.video ?? sample;
  const mime = textOf(video?.encoding ?? video?.mimeType) ?? 'video/mp4';
  const data = textOf(video?.encodedVideo ?? video?.bytesBase64Encoded ?? video?.videoBytes);
  if (data !== undefined) return [{ data, mime }];
  const url = urlOf(video?.uri);
  if (url === undefined) return [];
  const { hostname, pathname, search } = new URL(url);
  const isFile = hostname.endsWith('.googleapis.com') && FILE_PATH.test(pathname.replace(/:download$/, ''));
  return [{ mime, ...(isFile ? { path: pathname + search } : { url }) }];
}
