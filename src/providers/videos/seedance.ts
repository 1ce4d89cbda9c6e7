/** Seedance on ByteDance's Ark, under BytePlus and Volcengine: tasks made of content parts, charged by tokens. */

import type { Json } from '../../core/json/json.ts';
import type { LostSubmission, PollResult, VideoAnswer, VideoApi, VideoCharge, VideoRequest } from '../../core/video.ts';
import { amountOf, failureOf, isSuccess, noTask, readTask, type States, submitted, urlOf } from './answer.ts';
import { deleteUnlessOver } from './deletion.ts';
import { mediaPart, present } from './request.ts';
import { refuseMixedRoles } from './roles.ts';
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
  check: refuseMixedRoles,
  submit: (request) => ({
    method: 'POST',
    path: TASKS,
    body: bodyOf(request),
    read: (answer) => submitted(answer, answer.body?.id),
  }),
  poll: ({ id }) => ({ method: 'GET', path: pathOf(id), read: readTaskAnswer }),
  /** DELETE cancels a queued task but erases a finished one with its video. */
  cancel: ({ id }) =>
    deleteUnlessOver({ statePath: pathOf(id), path: pathOf(id), read: readTaskAnswer, while: ['queued'] }),
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

/** The list holds no prompts and has other names for models: only a task with the caller's own seed is surely ours. */
function searchFor(lost: LostSubmission, { body }: VideoAnswer) {
  const { request } = lost;
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
    lost,
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
