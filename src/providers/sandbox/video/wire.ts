/** Video adapter of the sandbox. */

import type { Json } from '../../../core/json/json.ts';
import { lookUp } from '../../../core/plain-objects.ts';
import type {
  FindResult,
  PollResult,
  VideoApi,
  VideoCall,
  VideoRef,
  VideoRequest,
  VideoResponse,
} from '../../../core/video.ts';
import { MAX_COUNT } from './task.ts';

export const sandboxVideo: VideoApi = {
  minPollIntervalMs: 500,

  submit: (request, { attemptId }) => ({
    ...creation(request, attemptId),
    read(response) {
      if (response.status >= 400) return { type: 'rejected', error: refusal(response), retryable: false };
      const ref = refOf(response);
      return ref === undefined ? { type: 'unreadable' } : { type: 'accepted', ref };
    },
  }),

  poll: (ref) => ({ method: 'GET', path: pathOf(ref), read: (response) => readState(response, ref) }),

  cancel: (ref) => ({
    method: 'POST',
    path: `${pathOf(ref)}/cancel`,
    read: ({ status }) => ({ type: status === 409 ? 'too-late' : status < 300 ? 'accepted' : 'unreadable' }),
  }),

  /** Creation is free and stateless, so a lost task is found by creating it again. */
  find: ({ attemptId, request }) => ({
    ...creation(request, attemptId),
    read(response): FindResult {
      const ref = refOf(response);
      return ref === undefined ? { type: 'unclear' } : { type: 'found', ref };
    },
  }),
};

function creation(request: VideoRequest, attempt: string): Omit<VideoCall<never>, 'read'> {
  const { model, prompt, duration, resolution, aspectRatio, size, seed, count } = request;
  const body = {
    model,
    prompt,
    seconds: duration,
    resolution,
    aspect_ratio: aspectRatio,
    size,
    seed,
    n: count,
    attempt,
  };
  return { method: 'POST', path: '/videos', body };
}

function refOf({ status, body }: VideoResponse): VideoRef | undefined {
  return status < 300 && typeof body?.id === 'string' ? body.id : undefined;
}

function refusal({ body }: VideoResponse): { code: 'invalid_input'; message: string } {
  return { code: 'invalid_input', message: text(body?.error?.message) ?? 'The sandbox refused the request.' };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function pathOf(ref: VideoRef): string {
  return `/videos/${encodeURIComponent(ref)}`;
}

const STATES: Record<string, (body: Json, ref: VideoRef) => PollResult> = {
  queued: () => ({ type: 'queued' }),
  in_progress: ({ progress }) => ({ type: 'running', ...(typeof progress === 'number' && { progress }) }),
  completed: ({ videos, seconds }, ref) => ({
    type: 'completed',
    assets: Array.from({ length: Number.isInteger(videos) ? Math.min(videos, MAX_COUNT) : 0 }, (_, index) => ({
      path: `${pathOf(ref)}/content/${index}`,
      mime: 'video/mp4',
    })),
    ...(typeof seconds === 'number' && { seconds }),
    cost: '0',
  }),
  failed: ({ error }) => ({
    type: 'failed',
    error: { code: 'upstream_error', message: text(error) ?? 'The sandbox failed.' },
    cost: '0',
  }),
  cancelled: () => ({ type: 'cancelled', cost: '0' }),
  expired: () => ({ type: 'expired', cost: '0' }),
};

function readState({ status, body }: VideoResponse, ref: VideoRef): PollResult {
  const word = text(body?.status);
  if (status >= 300 || word === undefined) return { type: 'unreadable' };
  return lookUp(STATES, word)?.(body, ref) ?? { type: 'unknown', status: word };
}
