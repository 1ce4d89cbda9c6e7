/** Video server of the sandbox: creates and cancels tasks, reports their status and serves their files. */

import { createHash } from 'node:crypto';
import type { Static } from 'typebox';
import * as Type from 'typebox';
import { GatewayError } from '../../../core/errors.ts';
import { assertValid } from '../../../core/json/check.ts';
import type { Json } from '../../../core/json/json.ts';
import type { LocalRequest, LocalResponse } from '../../../core/provider.ts';
import type { SandboxClock } from '../clock.ts';
import { film } from './film.ts';
import { ASPECT_RATIOS, RESOLUTIONS, SIZES, sizeOf } from './sizes.ts';
import { decodeId, encodeId, fateOf, MAX_COUNT, MAX_SECONDS, type SandboxVideoTask, stateOf } from './task.ts';

export const VIDEO_PATH = /^\/videos(?:\/(?<id>[^/]+)(?:\/(?<action>cancel|content)(?:\/(?<index>\d))?)?)?$/;

const Creation = Type.Object({
  model: Type.Literal('video'),
  prompt: Type.Optional(Type.String()),
  seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_SECONDS })),
  resolution: Type.Optional(Type.Enum(RESOLUTIONS)),
  aspect_ratio: Type.Optional(Type.Enum(ASPECT_RATIOS)),
  size: Type.Optional(Type.Enum(SIZES)),
  seed: Type.Optional(Type.Integer()),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_COUNT })),
  attempt: Type.String({ maxLength: 100 }),
});

const FAILED = 'The sandbox fails, as asked.';

/** Maximum number of remembered cancellations; the oldest are forgotten. */
const MAX_CANCELLED = 10_000;

export function createVideoServer(clock: SandboxClock): (request: LocalRequest) => LocalResponse {
  const cancelled = new Set<string>();

  function cancel(id: string, task: SandboxVideoTask): LocalResponse {
    const { status } = stateOf(task, clock.now());
    if (status !== 'queued' && status !== 'in_progress') {
      throw new GatewayError('cancel_not_possible', `The task is ${status}.`);
    }
    cancelled.add(id);
    const [oldest] = cancelled;
    if (cancelled.size > MAX_CANCELLED && oldest !== undefined) cancelled.delete(oldest);
    return show(id, task);
  }

  function show(id: string, task: SandboxVideoTask): LocalResponse {
    const state = cancelled.has(id) ? { status: 'cancelled' } : stateOf(task, clock.now());
    return json({
      id,
      ...state,
      ...(state.status === 'completed' && { videos: task.count, seconds: task.seconds * task.count }),
      ...(state.status === 'failed' && { error: FAILED }),
    });
  }

  function content(id: string, task: SandboxVideoTask, index: number): LocalResponse {
    if (index >= task.count) throw missing();
    if (cancelled.has(id) || stateOf(task, clock.now()).status !== 'completed') {
      throw new GatewayError('video_not_ready', 'The task has no video.');
    }
    const { width, height, seconds, shade } = task;
    return respond(film({ size: { width, height }, seconds, shade: shade + index }), 'video/mp4');
  }

  return ({ method, path, body }) => {
    const { id, action, index = '0' } = VIDEO_PATH.exec(path)?.groups ?? {};
    if (id === undefined) {
      if (method !== 'POST') throw missing();
      const task = taskOf(body, clock.now());
      return show(encodeId(task), task);
    }
    const task = decodeId(id);
    if (!task) throw new GatewayError('video_not_found', 'The sandbox has no such video.');
    switch (`${method} ${action ?? ''}`.trimEnd()) {
      case 'GET':
        return show(id, task);
      case 'DELETE':
      case 'POST cancel':
        return cancel(id, task);
      case 'GET content':
        return content(id, task, Number(index));
      default:
        throw missing();
    }
  };
}

function missing(): GatewayError {
  return new GatewayError('not_found', 'The sandbox has nothing here.');
}

function taskOf(bytes: Buffer, now: number): SandboxVideoTask {
  const body = parse(bytes);
  const { prompt = '', seconds = 4, n = 1, attempt } = body;
  const [width = 0, height = 0] = body.size?.split('x').map(Number) ?? [];
  const size = body.size ? { width, height } : sizeOf(body.resolution, body.aspect_ratio);
  const shade = body.seed === undefined ? createHash('sha256').update(prompt).digest().readUInt16BE() : body.seed;
  return { created: now, attempt, ...size, seconds, count: n, shade: Math.abs(shade), fate: fateOf(prompt) };
}

function parse(bytes: Buffer): Static<typeof Creation> {
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new GatewayError('invalid_request', 'The body is not valid JSON.', { cause });
  }
  assertValid(Creation, body);
  return body as Static<typeof Creation>;
}

function json(value: Json): LocalResponse {
  return respond(Buffer.from(JSON.stringify(value)), 'application/json');
}

function respond(bytes: Buffer, type: string): LocalResponse {
  async function* body(): AsyncGenerator<Buffer> {
    yield bytes;
  }
  return { status: 200, headers: { 'content-type': type, 'content-length': String(bytes.length) }, body: body() };
}
