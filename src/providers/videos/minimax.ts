/** MiniMax H3 and later: requests with content parts, numeric error codes in responses with status 200. */

import type { Json } from '../../core/json/json.ts';
import type {
  PollResult,
  SubmitResult,
  TaskErrorCode,
  VideoApi,
  VideoRequest,
  VideoResponse,
} from '../../core/video.ts';
import { cancelByDelete } from './cancel-by-delete.ts';
import { type ErrorMeaning, resultOfErrorCode } from './error-codes.ts';
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

const TASKS_PATH = '/v2/video_generation';
const QUERY_PATH = '/v2/query/video_generation';

const STATUSES: StatusMap = new Map([
  ['queued', 'queued'],
  ['running', 'running'],
  ['succeeded', 'completed'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['canceled', 'cancelled'],
  ['expired', 'expired'],
]);

const ERROR_CODES: ReadonlyMap<number, ErrorMeaning> = new Map<number, ErrorMeaning>([
  [1000, 'unclear'],
  [1001, 'unclear'],
  [1002, { code: 'upstream_rejected', retryable: true }],
  [1004, { code: 'upstream_auth' }],
  [1008, { code: 'upstream_rejected', retryable: true }],
  [1013, 'unclear'],
  [1024, 'unclear'],
  [1026, { code: 'content_policy_violation' }],
  [1027, { code: 'content_policy_violation' }],
  [1033, 'unclear'],
  [2013, { code: 'invalid_input' }],
  [2049, { code: 'upstream_auth' }],
]);

export const minimax: VideoApi = {
  checkRequest: refuseMixedRoles,
  submit: (request) => ({ method: 'POST', path: TASKS_PATH, body: bodyOf(request), read: readSubmission }),
  poll: ({ id }) => ({ method: 'GET', path: pathOf(QUERY_PATH, id), read: readTaskResponse }),
  /** DELETE cancels a queued task, is refused for a running one, and erases a finished one. */
  cancel: ({ id }) =>
    cancelByDelete({
      statePath: pathOf(QUERY_PATH, id),
      path: pathOf(TASKS_PATH, id),
      read: readTaskResponse,
      cancellableStates: ['queued'],
    }),
};

function pathOf(parent: string, id: string): string {
  return `${parent}/${encodeURIComponent(id)}`;
}

/** MiniMax ignores the ratio if there are frames, so it is not sent. */
function bodyOf(request: VideoRequest): Json {
  const frames = request.frames.map(({ type, input }) => ({ ...mediaPart('image', input), role: type }));
  const references = request.references.map(({ type, input }) => ({
    ...mediaPart(type, input),
    role: `reference_${type}`,
  }));
  return present({
    ...request.options,
    model: request.model,
    content: [{ type: 'text', text: request.prompt ?? '' }, ...frames, ...references],
    resolution: request.resolution?.toUpperCase(),
    duration: request.duration,
    ratio: frames.length > 0 ? undefined : request.aspectRatio,
  });
}

function readSubmission(response: VideoResponse): SubmitResult {
  const { status_code: number, status_msg: message } = response.body?.base_resp ?? {};
  return resultOfErrorCode(number, message, ERROR_CODES) ?? submitResult(response, response.body?.task_id);
}

function readTaskResponse(response: VideoResponse): PollResult {
  const task = response.body?.task;
  if (!isSuccess(response)) return failedPollResult(response);
  return pollResult({
    statuses: STATUSES,
    status: task?.status,
    charge: present({ seconds: amountOf(task?.usage?.output_seconds ?? task?.duration) }),
    assets: () => {
      const url = urlOf(task.content?.url);
      return url === undefined ? [] : [{ url, mime: 'video/mp4' }];
    },
    error: () => failureOf({ error: task.error }, errorCodeOf(task.error?.code)),
  });
}

/** Failed tasks use the same error codes. */
function errorCodeOf(number: Json): TaskErrorCode {
  const meaning = ERROR_CODES.get(amountOf(number) ?? 0) ?? 'unclear';
  return meaning === 'unclear' ? 'upstream_error' : meaning.code;
}
