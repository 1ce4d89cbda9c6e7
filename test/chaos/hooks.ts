/** Receivers of webhooks that count: which came, how often, when first, and whether the bytes were always the same. */

import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { startHttps } from '../net/servers.ts';
import type { Stage } from './stage.ts';

export interface Count {
  times: number;
  body: string;
  /** False once another body came with the same key. */
  same: boolean;
  /** Unix milliseconds. */
  firstAt: number;
  lastAt: number;
}

export interface Hooks {
  /** One address for each receiver: a host and port of its own. */
  urls: string[];
  /** By idempotency key. */
  got: Map<string, Count>;
  requests(): number;
  /** Most requests at the same time, over all receivers. */
  busiest(): number;
}

/** Hears how often the webhook came, this time included. */
export type Answerer = (response: ServerResponse, times: number) => void;

/** Answers in 5 to 25 milliseconds. */
export const promptly: Answerer = (response) =>
  void setTimeout(() => response.writeHead(204).end(), 5 + Math.random() * 20);

export async function startHooks(stage: Stage, receivers: number, answer: Answerer = promptly): Promise<Hooks> {
  const got = new Map<string, Count>();
  let requests = 0;
  let open = 0;
  let busiest = 0;

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    open += 1;
    busiest = Math.max(busiest, open);
    response.on('close', () => {
      open -= 1;
    });
    const hash = createHash('sha256');
    try {
      for await (const chunk of request) hash.update(chunk);
    } catch {
      return;
    }
    requests += 1;
    answer(response, note(String(request.headers['x-service-idempotency-key']), hash.digest('base64')));
  }

  function note(key: string, body: string): number {
    const count = got.get(key) ?? { times: 0, body, same: true, firstAt: Date.now(), lastAt: 0 };
    count.times += 1;
    count.lastAt = Date.now();
    count.same &&= count.body === body;
    got.set(key, count);
    return count.times;
  }

  const servers = await Promise.all(Array.from({ length: receivers }, () => startHttps(receive)));
  for (const server of servers) stage.atEnd(server.close);
  const urls = servers.map(({ port }) => `https://127.0.0.1:${port}/hook`);
  return { urls, got, requests: () => requests, busiest: () => busiest };
}
