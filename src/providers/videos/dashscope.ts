/** Wan on Alibaba DashScope. The request format differs between generations of models. */

import { type Json, textOf } from '../../core/json/json.ts';
import type {
  PollResult,
  ReferenceType,
  TaskErrorCode,
  VideoApi,
  VideoRequest,
  VideoResponse,
} from '../../core/video.ts';
import { refuseMixedRoles } from './mixed-roles.ts';
import { frameOf, inputUrl, present, referencesOf } from './request.ts';
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
} from './response.ts';

const SYNTHESIS_PATH = '/api/v1/services/aigc/video-generation/video-synthesis';
const TASKS_PATH = '/api/v1/tasks';

const STATUSES: StatusMap = new Map([
  ['pending', 'queued'],
  ['suspended', 'queued'],
  ['running', 'running'],
  ['succeeded', 'completed'],
  ['failed', 'failed'],
  ['canceled', 'cancelled'],
  ['cancelled', 'cancelled'],
]);

/** Status of a task that does not exist, or was deleted after a day. */
const TASK_NOT_FOUND = 'UNKNOWN';

/** Request format of a generation of models. */
interface RequestFormat {
  /** Inputs in separate fields, or all in a list. */
  media: 'fields' | 'list';
  /** `resolution` and `ratio`, or `size` as in `1280*720`. */
  dimensions: 'tiers' | 'size';
  /** Type of reference audio in the list. */
  audioType: string;
  /** Frames and references cannot be combined. */
  framesExcludeReferences: boolean;
}

const NEWEST_FORMAT: RequestFormat = {
  media: 'list',
  dimensions: 'tiers',
  audioType: 'reference_audio',
  framesExcludeReferences: true,
};

/** Formats by model name; a name that matches none is taken as the newest. */
const FORMATS: readonly (readonly [model: RegExp, shape: RequestFormat])[] = [
  [/^wan2\.7-/, { ...NEWEST_FORMAT, audioType: 'driving_audio', framesExcludeReferences: false }],
  [
    /^(wanx|wan2\.[0-6]-).*i2v/,
    { media: 'fields', dimensions: 'tiers', audioType: '', framesExcludeReferences: false },
  ],
  [/^(wanx|wan2\.[0-6]-)/, { media: 'fields', dimensions: 'size', audioType: '', framesExcludeReferences: false }],
];

export const dashscope: VideoApi = {
  checkRequest(request) {
    if (formatOf(request).framesExcludeReferences) refuseMixedRoles(request);
  },
  submit: (request) => ({
    method: 'POST',
    path: SYNTHESIS_PATH,
    headers: { 'x-dashscope-async': 'enable' },
    body: bodyOf(request),
    read: (response) => submitResult(response, response.body?.output?.task_id),
  }),
  poll: ({ id }) => ({ method: 'GET', path: pathOf(id), read: readOutput }),
  cancel: ({ id }) => ({ method: 'POST', path: `${pathOf(id)}/cancel`, read: cancelResult }),
};

function pathOf(id: string): string {
  return `${TASKS_PATH}/${encodeURIComponent(id)}`;
}

function formatOf({ model }: VideoRequest): RequestFormat {
  return FORMATS.find(([pattern]) => pattern.test(model))?.[1] ?? NEWEST_FORMAT;
}

function bodyOf(request: VideoRequest): Json {
  const shape = formatOf(request);
  return {
    model: request.model,
    input: present({
      prompt: request.prompt,
      negative_prompt: request.negativePrompt,
      ...(shape.media === 'list' ? { media: mediaOf(request, shape) } : fieldsOf(request)),
    }),
    parameters: present({
      ...request.options,
      ...(shape.dimensions === 'tiers' ? tiersOf(request) : { size: request.size?.replace('x', '*') }),
      duration: request.duration,
      seed: request.seed,
      audio: request.audio,
    }),
  };
}

function mediaOf(request: VideoRequest, { audioType }: RequestFormat): Json {
  const roles: Record<ReferenceType, string> = { image: 'reference_image', video: 'reference_video', audio: audioType };
  const media = [
    ...request.references.map(({ type, input }) => ({ type: roles[type], url: inputUrl(input) })),
    ...request.frames.map(({ type, input }) => ({ type, url: inputUrl(input) })),
  ];
  return media.length === 0 ? undefined : media;
}

function fieldsOf(request: VideoRequest): Record<string, Json> {
  const first = frameOf(request, 'first_frame');
  const [sound] = referencesOf(request, 'audio');
  const others = request.references.filter(({ type }) => type !== 'audio').map(({ input }) => inputUrl(input));
  return {
    img_url: first && inputUrl(first),
    audio_url: sound && inputUrl(sound),
    reference_urls: others.length === 0 ? undefined : others,
  };
}

function tiersOf(request: VideoRequest): Record<string, Json> {
  return { resolution: request.resolution?.toUpperCase(), ratio: request.aspectRatio };
}

function readOutput(response: VideoResponse): PollResult {
  if (!isSuccess(response)) return failedPollResult(response);
  const { output, usage } = response.body ?? {};
  if (output?.task_status === TASK_NOT_FOUND) return { type: 'lost' };
  return pollResult({
    statuses: STATUSES,
    status: output?.task_status,
    charge: present({ seconds: amountOf(usage?.output_video_duration ?? usage?.duration) }),
    assets: () => {
      const url = urlOf(output.video_url);
      return url === undefined ? [] : [{ url, mime: 'video/mp4' }];
    },
    error: () => failureOf({ code: output.code, message: output.message }, errorCodeOf(textOf(output.code))),
  });
}

function errorCodeOf(code = ''): TaskErrorCode {
  if (/^(DataInspection|IPInfringement)/.test(code)) return 'content_policy_violation';
  return /^Invalid(Parameter|URL|File|Image)/.test(code) ? 'invalid_input' : 'upstream_error';
}
