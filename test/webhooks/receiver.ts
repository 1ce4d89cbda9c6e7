/** A receiver of webhooks that remembers what it got: HTTPS on loopback, with the certificate of the tests. */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { startHttps, type TestServer } from '../net/servers.ts';

export interface Received {
  headers: IncomingHttpHeaders;
  /** Names as they were sent, in turn with their values. */
  rawHeaders: string[];
  body: Buffer;
  /** Unix milliseconds. */
  at: number;
}

export interface Receiver extends TestServer {
  /** Its address by the name in its certificate, which a look-up of the test has to resolve. */
  url(path?: string): string;
  readonly received: Received[];
  /** Most connections at the same time. */
  readonly busiest: number;
}

/** Answers when the whole body is there. */
export type Answer = (response: ServerResponse, received: Received, index: number) => void;

export const ok: Answer = (response) => response.writeHead(204).end();

export async function startReceiver(answer: Answer = ok, host = '127.0.0.1'): Promise<Receiver> {
  const received: Received[] = [];
  let open = 0;
  let busiest = 0;
  const server = await startHttps(async (request, response) => {
    open += 1;
    busiest = Math.max(busiest, open);
    response.on('close', () => {
      open -= 1;
    });
    const { headers, rawHeaders } = request;
    const got = { headers, rawHeaders, body: await bodyOf(request), at: Date.now() };
    received.push(got);
    answer(response, got, received.length - 1);
  }, host);
  return {
    ...server,
    received,
    get busiest() {
      return busiest;
    },
    url: (path = '/hook') => `https://media.example.com:${server.port}${path}`,
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    // The sender hung up: what there is counts.
  }
  return Buffer.concat(chunks);
}
