/** Seedance on ByteDance's Ark, under BytePlus and Volcengine: tasks made of content parts, charged by tokens. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type {
  CancelResult,
  LostSubmission,
  PollResult,
  VideoAnswer,
  VideoApi,
  VideoCall,
  VideoCharge,
  VideoRequest,
} from '../../core/video.ts';
import {
  amountOf,
  cancellation,
  failureOf,
  isSuccess,
  noTask,
  readTask,
  type States,
  submitted,
  urlOf,
} from './answer.ts';
import { mediaPart, present } from './request.ts';
import { searchTasks } from './search.ts';

const TASKS = '/contents/generations/tasks';
const PAGE = 100;

const STATES: States = new Map([
  ['queued', 'queued'],
  ['running', 'running'],
  ['succeeded', 'completed'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['canceled', 'cancelled'],
  ['expired', 'expired'],
]);

export const seedance: VideoApi = {
  check(request) {
    if (request.frames.length > 0 && request.references.length > 0) {
      throw new GatewayError('invalid_request', 'input_references cannot be used together with frame_images.', {
        param: 'input_references',
      });
    }
  },
  submit: (request) => ({
    method: 'POST',
    path: TASKS,
    body: bodyOf(request),
    read: (answer) => submitted(answer, answer.body?.id),
  }),
  poll: ({ id }) => ({ method: 'GET', path: pathOf(id), read: readTaskAnswer }),
  cancel: ({ id }) => cancelCall(id),
  find: (lost) => ({
    method: 'GET',
    path: `${TASKS}?page_num=1&page_size=${PAGE}${tierOf(lost.request) === 'flex' ? '&filter.service_tier=flex' : ''}`,
    read: (answer) => searchTasks(answer.body?.items, searchFor(lost, answer)),
  }),
};

function pathOf(id: string): string {
  return `${TASKS}/${encodeURIComponent(id)}`;
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

function readTaskAnswer(answer: VideoAnswer): PollResult {
  const { body } = answer;
  if (!isSuccess(answer)) return noTask(answer);
  return readTask({
    states: STATES,
    word: body?.status,
    charge: chargeOf(body),
    assets: () => {
      const url = urlOf(body.content?.video_url);
      return url === undefined ? [] : [{ url, mime: 'video/mp4' }];
    },
    error: () => failureOf({ error: body.error }, 'upstream_error'),
  });
}

/** A length of -1 means that the model chose it; then the frames tell. */
function chargeOf(body: Json): VideoCharge {
  const frames = amountOf(body?.frames);
  const rate = amountOf(body?.framespersecond);
  const counted = frames !== undefined && rate ? frames / rate : undefined;
  return present({
    seconds: amountOf(body?.duration) ?? counted,
    tokens: amountOf(body?.usage?.completion_tokens ?? body?.usage?.total_tokens),
  });
}

/** DELETE cancels a queued task but erases a finished one with its video, so the state is asked for first. */
function cancelCall(id: string): VideoCall<CancelResult> {
  return {
    method: 'GET',
    path: pathOf(id),
    read: (answer) => {
      const { type } = readTaskAnswer(answer);
      if (type === 'unreadable' || type === 'unknown') return { type: 'unreadable' };
      if (type !== 'queued') return { type: 'too-late' };
      return { type: 'follow', call: { method: 'DELETE', path: pathOf(id), read: cancellation } };
    },
  };
}

/** The list holds no prompts and has other names for models: only a task with the caller's own seed is surely ours. */
function searchFor({ request, sentAt }: LostSubmission, { body }: VideoAnswer) {
  const asked: [name: string, value: Json][] = [
    ['resolution', request.resolution?.toLowerCase()],
    ['ratio', request.aspectRatio],
    ['duration', request.duration],
    ['seed', request.seed],
    ['generate_audio', request.audio],
  ];
  const isOther = (task: Record<string, Json>) =>
    asked.some(([name, value]) => value !== undefined && (scalarOf(task[name]) ?? String(value)) !== String(value));
  return {
    sentAt,
    complete: amountOf(body?.total) !== undefined && body.total <= PAGE,
    matches: (task: Record<string, Json>) => {
      if (isOther(task)) return false;
      return request.seed !== undefined && task.seed !== undefined ? true : undefined;
    },
  };
}

/** Lengths come as numbers and as text. */
function scalarOf(value: Json): string | undefined {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}
