/** Seedance on ByteDance Ark (BytePlus, Volcengine): requests with content parts, charged by tokens. */

import type { Json } from '../../core/json/json.ts';
import type {
  LostSubmission,
  PollResult,
  VideoApi,
  VideoCharge,
  VideoRequest,
  VideoResponse,
} from '../../core/video.ts';
import { cancelByDelete } from './cancel-by-delete.ts';
import { refuseMixedRoles } from './mixed-roles.ts';
import { mediaPart, present } from './request.ts';
import {
  amountOf,
  failedPollResult,
  failureOf,
  isSuccess,
  pollResult,
  type StatusMap,
  submitResult,
  urlOf,
} from './response.ts';
import { searchTasks } from './task-search.ts';

const TASKS_PATH = '/contents/generations/tasks';
const PAGE_SIZE = 100;

const STATUSES: StatusMap = new Map([
  ['queued', 'queued'],
  ['running', 'running'],
  ['succeeded', 'completed'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['canceled', 'cancelled'],
  ['expired', 'expired'],
]);

export const seedance: VideoApi = {
  checkRequest: refuseMixedRoles,
  submit: (request) => ({
    method: 'POST',
    path: TASKS_PATH,
    body: bodyOf(request),
    read: (response) => submitResult(response, response.body?.id),
  }),
  poll: ({ id }) => ({ method: 'GET', path: pathOf(id), read: readTaskResponse }),
  /** DELETE cancels a queued task, but erases a finished one with its video. */
  cancel: ({ id }) =>
    cancelByDelete({ statePath: pathOf(id), path: pathOf(id), read: readTaskResponse, cancellableStates: ['queued'] }),
  find: (lost) => ({
    method: 'GET',
    path: `${TASKS_PATH}?page_num=1&page_size=${PAGE_SIZE}${tierOf(lost.request) === 'flex' ? '&filter.service_tier=flex' : ''}`,
    read: (response) => searchTasks(response.body?.items, taskSearch(lost, response)),
  }),
};

function pathOf(id: string): string {
  return `${TASKS_PATH}/${encodeURIComponent(id)}`;
}

function tierOf({ options }: VideoRequest): Json {
  return options?.service_tier;
}

function bodyOf(request: VideoRequest): Json {
  const text = request.prompt === undefined ? [] : [{ type: 'text', text: request.prompt }];
  const frames = request.frames.map(({ type, input }) => ({ ...mediaPart('image', input), role: type }));
  const references = request.references.map(({ type, input }) => ({
    ...mediaPart(type, input),
    role: `reference_${type}`,
  }));
  return present({
    ...request.options,
    model: request.model,
    content: [...text, ...frames, ...references],
    ratio: request.aspectRatio,
    resolution: request.resolution?.toLowerCase(),
    duration: request.duration,
    seed: request.seed,
    generate_audio: request.audio,
  });
}

function readTaskResponse(response: VideoResponse): PollResult {
  const { body } = response;
  if (!isSuccess(response)) return failedPollResult(response);
  return pollResult({
    statuses: STATUSES,
    status: body?.status,
    charge: chargeOf(body),
    assets: () => {
      const url = urlOf(body.content?.video_url);
      return url === undefined ? [] : [{ url, mime: 'video/mp4' }];
    },
    error: () => failureOf({ error: body.error }, 'upstream_error'),
  });
}

/** Duration -1: chosen by the model; then it is computed from the frames. */
function chargeOf(body: Json): VideoCharge {
  const frames = amountOf(body?.frames);
  const rate = amountOf(body?.framespersecond);
  const counted = frames !== undefined && rate ? frames / rate : undefined;
  return present({
    seconds: amountOf(body?.duration) ?? counted,
    tokens: amountOf(body?.usage?.completion_tokens ?? body?.usage?.total_tokens),
  });
}

/** The list has no prompts and other model names, so only a task with the caller's seed is a certain match. */
function taskSearch(lost: LostSubmission, { body }: VideoResponse) {
  const { request } = lost;
  const asked: [name: string, value: Json][] = [
    ['resolution', request.resolution?.toLowerCase()],
    ['ratio', request.aspectRatio],
    ['duration', request.duration],
    ['seed', request.seed],
    ['generate_audio', request.audio],
  ];
  const isOther = (task: Record<string, Json>) =>
    asked.some(([name, value]) => value !== undefined && (textOfScalar(task[name]) ?? String(value)) !== String(value));
  return {
    lost,
    complete: amountOf(body?.total) !== undefined && body.total <= PAGE_SIZE,
    matches: (task: Record<string, Json>) => {
      if (isOther(task)) return false;
      return request.seed !== undefined && task.seed !== undefined ? true : undefined;
    },
  };
}

/** Values can be numbers or strings. */
function textOfScalar(value: Json): string | undefined {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}
