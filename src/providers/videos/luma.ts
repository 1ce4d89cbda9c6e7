/** Luma Dream Machine. DELETE cancels queued tasks only. */

import type { Json } from '../../core/json/json.ts';
import type {
  FindResult,
  LostSubmission,
  PollResult,
  VideoApi,
  VideoRequest,
  VideoResponse,
} from '../../core/video.ts';
import { cancelByDelete } from './cancel-by-delete.ts';
import { frameOf, inputUrl, present } from './request.ts';
import { failedPollResult, failureOf, isSuccess, pollResult, type StatusMap, submitResult, urlOf } from './response.ts';
import { searchTasks, unixSecondsOf } from './task-search.ts';

const STATUSES: StatusMap = new Map([
  ['queued', 'queued'],
  ['dreaming', 'running'],
  ['completed', 'completed'],
  ['failed', 'failed'],
]);

const PAGE_SIZE = 100;
const COMPARED_FIELDS = ['aspect_ratio', 'resolution', 'duration'];

export const luma: VideoApi = {
  submit: (request) => ({
    method: 'POST',
    path: '/generations/video',
    body: bodyOf(request),
    read: (response) => submitResult(response, response.body?.id),
  }),
  poll: ({ id }) => ({ method: 'GET', path: pathOf(id), read: readGeneration }),
  cancel: ({ id }) =>
    cancelByDelete({ statePath: pathOf(id), path: pathOf(id), read: readGeneration, cancellableStates: ['queued'] }),
  find: (lost) => ({
    method: 'GET',
    path: `/generations?limit=${PAGE_SIZE}&offset=0`,
    read: (response) => findTask(lost, response),
  }),
};

function pathOf(id: string): string {
  return `/generations/${encodeURIComponent(id)}`;
}

function bodyOf(request: VideoRequest): Record<string, Json> {
  return present({
    ...request.options,
    generation_type: 'video',
    model: request.model,
    prompt: request.prompt,
    aspect_ratio: request.aspectRatio,
    resolution: request.resolution?.toLowerCase(),
    duration: request.duration === undefined ? undefined : `${request.duration}s`,
    keyframes: keyframesOf(request),
  });
}

function keyframesOf(request: VideoRequest): Json {
  if (request.frames.length === 0) return undefined;
  const frame = (type: 'first_frame' | 'last_frame') => {
    const input = frameOf(request, type);
    return input && { type: 'image', url: inputUrl(input) };
  };
  return present({ frame0: frame('first_frame'), frame1: frame('last_frame') });
}

function readGeneration(response: VideoResponse): PollResult {
  const { body } = response;
  if (!isSuccess(response)) return failedPollResult(response);
  return pollResult({
    statuses: STATUSES,
    status: body?.state,
    assets: () => {
      const url = urlOf(body.assets?.video);
      return url === undefined ? [] : [{ url, mime: 'video/mp4' }];
    },
    error: () => failureOf({ message: body.failure_reason }, 'upstream_error'),
  });
}

/** The list contains the request of each task. */
function findTask(lost: LostSubmission, { body }: VideoResponse): FindResult {
  const { request } = lost;
  const asked = bodyOf(request);
  const listed: Json = body?.generations;
  const generations = Array.isArray(listed)
    ? listed.map((entry) => ({ id: entry?.id, created_at: unixSecondsOf(entry?.created_at), request: entry?.request }))
    : undefined;
  return searchTasks(generations, {
    lost,
    complete: body?.has_more === false,
    matches: ({ request: made }) => {
      if (typeof made?.prompt !== 'string') return undefined;
      if (made.prompt !== request.prompt || made.model !== request.model) return false;
      return COMPARED_FIELDS.every((name) => asked[name] === undefined || asked[name] === made[name])
        ? true
        : undefined;
    },
  });
}
