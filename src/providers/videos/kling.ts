/** Kling: one path per kind of task, numeric error codes. Stores the attempt id with the task. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type {
  FindResult,
  LostSubmission,
  PollResult,
  SubmitResult,
  VideoApi,
  VideoInput,
  VideoRequest,
  VideoResponse,
} from '../../core/video.ts';
import { type ErrorMeaning, resultOfErrorCode } from './error-codes.ts';
import { refuseMixedRoles } from './mixed-roles.ts';
import { frameOf, inputUrl, present, referencesOf } from './request.ts';
import {
  amountOf,
  failedPollResult,
  failureOf,
  idOf,
  isSuccess,
  pollResult,
  type StatusMap,
  submitResult,
  urlOf,
} from './response.ts';
import { searchTasks } from './task-search.ts';

type Kind = 'text2video' | 'image2video' | 'multi-image2video' | 'omni-video';

const STATUSES: StatusMap = new Map([
  ['submitted', 'queued'],
  ['processing', 'running'],
  ['succeed', 'completed'],
  ['succeeded', 'completed'],
  ['failed', 'failed'],
]);

const ERROR_CODES: ReadonlyMap<number, ErrorMeaning> = new Map<number, ErrorMeaning>([
  [1000, { code: 'upstream_auth' }],
  [1001, { code: 'upstream_auth' }],
  [1002, { code: 'upstream_auth' }],
  [1003, { code: 'upstream_auth' }],
  [1004, { code: 'upstream_auth' }],
  [1100, { code: 'upstream_rejected', retryable: true }],
  [1101, { code: 'upstream_rejected', retryable: true }],
  [1102, { code: 'upstream_rejected', retryable: true }],
  [1103, { code: 'model_unavailable' }],
  [1200, { code: 'invalid_input' }],
  [1201, { code: 'invalid_input' }],
  [1202, { code: 'invalid_input' }],
  [1203, { code: 'model_unavailable' }],
  [1300, { code: 'content_policy_violation' }],
  [1301, { code: 'content_policy_violation' }],
  [1302, { code: 'upstream_rejected', retryable: true }],
  [1303, { code: 'upstream_rejected', retryable: true }],
  [1304, { code: 'upstream_auth' }],
  [5000, 'unclear'],
  [5001, 'unclear'],
  [5002, 'unclear'],
]);

/** Mode for each resolution. */
const MODE_OF_RESOLUTION: ReadonlyMap<string | undefined, string> = new Map([
  ['720p', 'std'],
  ['1080p', 'pro'],
  ['4k', '4k'],
]);

/** Throws `invalid_request` for a mode that makes another resolution than the one by which the task is shown and charged. */
function refuseOtherMode({ resolution, options }: VideoRequest): void {
  const mode = options?.mode;
  if (mode === undefined || mode === MODE_OF_RESOLUTION.get(resolution?.toLowerCase())) return;
  throw new GatewayError(
    'invalid_request',
    'mode in provider.options must be that of resolution: std for 720p, pro for 1080p. Give resolution alone.',
    { param: 'provider.options' },
  );
}

/** Models that accept all kinds of input on one path. */
const OMNI_MODEL = /omni|video-o\d/;

const PAGE_SIZE = 500;

export const kling: VideoApi = {
  checkRequest(request) {
    refuseMixedRoles(request);
    refuseOtherMode(request);
  },
  submit: (request, { attemptId }) => ({
    method: 'POST',
    path: pathOf(kindOf(request)),
    body: bodyOf(request, attemptId),
    read: (response) => readSubmission(response, kindOf(request)),
  }),
  poll: ({ kind, id }) => ({ method: 'GET', path: pathOf(kind, id), read: readTaskResponse }),
  find: (lost) => ({
    method: 'GET',
    path: `${pathOf(kindOf(lost.request))}?pageNum=1&pageSize=${PAGE_SIZE}`,
    read: (response) => findTask(lost, response),
  }),
};

function pathOf(kind: Kind, id?: string): string {
  return id === undefined ? `/v1/videos/${kind}` : `/v1/videos/${kind}/${encodeURIComponent(id)}`;
}

function kindOf(request: VideoRequest): Kind {
  if (OMNI_MODEL.test(request.model)) return 'omni-video';
  if (request.frames.length > 0) return 'image2video';
  return request.references.length > 0 ? 'multi-image2video' : 'text2video';
}

function bodyOf(request: VideoRequest, attemptId: string): Json {
  const kind = kindOf(request);
  return present({
    mode: MODE_OF_RESOLUTION.get(request.resolution?.toLowerCase()),
    ...request.options,
    model_name: request.model.replaceAll('.', '-'),
    prompt: request.prompt,
    negative_prompt: request.negativePrompt,
    duration: request.duration === undefined ? undefined : String(request.duration),
    aspect_ratio: kind === 'image2video' ? undefined : request.aspectRatio,
    sound: request.audio === undefined ? undefined : SOUND_VALUES[`${request.audio}`],
    external_task_id: attemptId,
    ...(kind === 'omni-video' ? omniMedia(request) : media(request)),
  });
}

const SOUND_VALUES = { true: 'on', false: 'off' } as const;

function media(request: VideoRequest): Record<string, Json> {
  const images = referencesOf(request, 'image').map((input) => ({ image: urlOrBase64(input) }));
  const first = frameOf(request, 'first_frame');
  const last = frameOf(request, 'last_frame');
  return {
    image: first && urlOrBase64(first),
    image_tail: last && urlOrBase64(last),
    image_list: images.length === 0 ? undefined : images,
  };
}

function omniMedia(request: VideoRequest): Record<string, Json> {
  const images = [
    ...request.frames.map(({ type, input }) => ({
      image_url: urlOrBase64(input),
      type: type === 'last_frame' ? 'end_frame' : type,
    })),
    ...referencesOf(request, 'image').map((input) => ({ image_url: urlOrBase64(input) })),
  ];
  const videos = referencesOf(request, 'video').map((input) => ({ video_url: inputUrl(input), refer_type: 'feature' }));
  return {
    image_list: images.length === 0 ? undefined : images,
    video_list: videos.length === 0 ? undefined : videos,
  };
}

/** Kling expects base64 without the head of a data URI. */
function urlOrBase64({ url, data }: VideoInput): string | undefined {
  return url ?? data;
}

function readSubmission(response: VideoResponse, kind: Kind): SubmitResult {
  const { code, message, data } = response.body ?? {};
  const result = resultOfErrorCode(code, message, ERROR_CODES) ?? submitResult(response, data?.task_id);
  return result.type === 'accepted' ? { type: 'accepted', ref: { kind, ...result.ref } } : result;
}

function readTaskResponse(response: VideoResponse): PollResult {
  const { code, data } = response.body ?? {};
  if (!isSuccess(response)) return failedPollResult(response);
  if (code !== undefined && code !== 0) return { type: 'unreadable' };
  const listed: Json = data?.task_result?.videos;
  const videos: Json[] = Array.isArray(listed) ? listed : [];
  const lengths = videos.flatMap((video) => amountOf(video?.duration) ?? []);
  return pollResult({
    statuses: STATUSES,
    status: data?.task_status,
    charge: lengths.length === 0 ? {} : { seconds: lengths.reduce((sum, length) => sum + length) },
    assets: () =>
      videos.flatMap((video) => {
        const url = urlOf(video?.url);
        return url === undefined ? [] : [{ url, mime: 'video/mp4' }];
      }),
    error: () => failureOf({ message: data.task_status_msg }, 'upstream_error'),
  });
}

/** The list contains the attempt id sent with the submission. */
function findTask(lost: LostSubmission, { body }: VideoResponse): FindResult {
  const { attemptId, request } = lost;
  const listed: Json = body?.data;
  if (!Array.isArray(listed)) return { type: 'unclear' };
  const tasks = listed.map((task: Json) => ({
    id: idOf(task?.task_id),
    created_at: (amountOf(task?.created_at) ?? Number.NaN) / 1000,
    attempt: task?.task_info?.external_task_id,
  }));
  const result = searchTasks(tasks, {
    lost,
    complete: tasks.length < PAGE_SIZE,
    matches: ({ attempt }) => (typeof attempt === 'string' ? attempt === attemptId : undefined),
  });
  return result.type === 'found' ? { type: 'found', ref: { kind: kindOf(request), ...result.ref } } : result;
}
