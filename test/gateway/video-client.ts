/** A caller of the video routes who speaks plain HTTP. */

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { KEY } from './harness.ts';

export interface VideoReply {
  status: number;
  headers: Headers;
  body: Json;
}

export interface VideoClient {
  /** `body` is sent as JSON, a form as it is. */
  send(method: string, path: string, body?: Json, headers?: Record<string, string>): Promise<VideoReply>;
  /** The task that was accepted. */
  create(body?: Json, headers?: Record<string, string>): Promise<Json>;
  /** Looks until the task has the status, or any terminal one. */
  until(id: string, status: string): Promise<Json>;
}

export const VIDEO = { model: 'sandbox/video', prompt: 'a cat', duration: 1, resolution: '480p' };

/** A task may be looked at twice a second. */
const LOOK_INTERVAL_MS = 600;
/** Real time between two looks, for the database and its thread. */
const TURN_MS = 10;

/**
 * A clock for gateways that make videos. It is behind the clock of the thread that delivers webhooks, so that they are due
 * there at once.
 */
export function createVideoClock(): ManualClock {
  return createManualClock(Date.now() - 55_000);
}

/** Looks until a condition holds. Between two looks time passes, by the clock of the gateway where a test moves it. */
export async function eventually(
  { clock }: { clock?: ManualClock },
  condition: () => boolean | Promise<boolean>,
  stepMs = LOOK_INTERVAL_MS,
): Promise<void> {
  while (!(await condition())) await passTime({ clock }, stepMs);
}

export async function passTime(
  { clock }: { clock?: ManualClock | undefined },
  stepMs = LOOK_INTERVAL_MS,
): Promise<void> {
  clock?.advance(stepMs);
  await pause(clock ? TURN_MS : stepMs);
}
const TERMINAL = ['completed', 'failed', 'cancelled', 'expired'];

export function videoClient(gateway: { url: string; clock?: ManualClock }, key = KEY): VideoClient {
  async function send(
    method: string,
    path: string,
    body?: Json,
    headers?: Record<string, string>,
  ): Promise<VideoReply> {
    const isForm = body instanceof FormData;
    const response = await fetch(path.startsWith('http') ? path : gateway.url + path, {
      method,
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const isJson = response.headers.get('content-type')?.startsWith('application/json') && bytes.length > 0;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(bytes.toString()) : bytes };
  }

  return {
    send,
    async create(body = {}, headers = {}) {
      const response = await send('POST', '/v1/videos', { ...VIDEO, ...body }, headers);
      assert.equal(response.status, 202, JSON.stringify(response.body));
      return response.body;
    },
    async until(id, status) {
      let task: Json;
      await eventually(gateway, async () => {
        const response = await send('GET', `/v1/videos/${id}`);
        assert.equal(response.status, 200, JSON.stringify(response.body));
        task = response.body;
        return task.status === status || TERMINAL.includes(task.status);
      });
      assert.equal(task.status, status, JSON.stringify(task));
      return task;
    },
  };
}
