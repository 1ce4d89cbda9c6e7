/** A client of background responses: it creates them and asks until something has become true. */

import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, post } from './harness.ts';

export interface BackgroundReplyTo {
  status: number;
  headers: Headers;
  body: Json;
}

export interface BackgroundClient {
  headers: Record<string, string>;
  create(body: Json, headers?: Record<string, string>): Promise<BackgroundReplyTo>;
  request(method: string, path: string, headers?: Record<string, string>): Promise<BackgroundReplyTo>;
  /** The response as soon as the condition holds. */
  until(id: string, condition: (response: Json) => boolean, headers?: Record<string, string>): Promise<Json>;
  /** The response when it has ended. */
  ended(id: string, headers?: Record<string, string>): Promise<Json>;
  /** The value as soon as there is one. */
  when<Value>(find: () => Value | undefined | Promise<Value | undefined>): Promise<Value>;
}

const PAUSE_MS = 25;
const MOST_MS = 120_000;
const OPEN = ['queued', 'in_progress'];

export function createBackgroundClient(url: () => string): BackgroundClient {
  async function read(response: Response): Promise<BackgroundReplyTo> {
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  async function when<Value>(find: () => Value | undefined | Promise<Value | undefined>): Promise<Value> {
    for (const end = performance.now() + MOST_MS; performance.now() < end; ) {
      const found = await find();
      if (found !== undefined) return found;
      await pause(PAUSE_MS);
    }
    throw new Error('it did not become true');
  }

  const client: BackgroundClient = {
    headers: HEADERS.chat,
    create: async (body, headers = {}) =>
      read(await post(`${url()}/v1/responses`, { background: true, ...body }, { ...HEADERS.chat, ...headers })),
    request: async (method, path, headers = {}) =>
      read(await fetch(`${url()}/v1/responses/${path}`, { method, headers: { ...HEADERS.chat, ...headers } })),
    until: (id, condition, headers) =>
      when(async () => {
        const { body } = await client.request('GET', id, headers);
        return condition(body) ? body : undefined;
      }),
    ended: (id, headers) => client.until(id, ({ status }) => status !== undefined && !OPEN.includes(status), headers),
    when,
  };
  return client;
}
