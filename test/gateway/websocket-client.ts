/** A WebSocket client for tests: messages and closings in the order in which they come. */

import { EventEmitter, once } from 'node:events';
import { type ClientOptions, WebSocket } from 'ws';
import type { Json } from '../../src/core/json/json.ts';
import { KEY } from './harness.ts';

export interface Closing {
  code: number;
  reason: string;
}

export class TestSocket {
  readonly ws: WebSocket;
  readonly #messages: Json[] = [];
  readonly #arrivals = new EventEmitter();
  closed: Promise<Closing>;

  constructor(ws: WebSocket) {
    this.ws = ws;
    ws.on('message', (data) => {
      this.#messages.push(JSON.parse(String(data)));
      this.#arrivals.emit('one');
    });
    ws.on('error', () => undefined);
    this.closed = new Promise((resolve) =>
      ws.on('close', (code, reason) => {
        resolve({ code, reason: String(reason) });
        this.#arrivals.emit('one');
      }),
    );
  }

  send(message: Json): void {
    this.ws.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Undefined when the connection is closed. */
  async next(): Promise<Json | undefined> {
    while (this.#messages.length === 0 && this.ws.readyState < this.ws.CLOSED) await once(this.#arrivals, 'one');
    return this.#messages.shift();
  }

  /** The messages up to the one that ends a response. */
  async response(): Promise<Json[]> {
    const messages: Json[] = [];
    for (let message = await this.next(); message; message = await this.next()) {
      messages.push(message);
      if (ENDS.includes(message.type)) break;
    }
    return messages;
  }

  /** Sends a request and returns the last message of its response. */
  async ask(message: Json): Promise<Json> {
    this.send({ type: 'response.create', ...message });
    return (await this.response()).at(-1);
  }

  async close(): Promise<void> {
    this.ws.close();
    await this.closed;
  }
}

const ENDS = ['response.completed', 'response.incomplete', 'response.failed', 'error', 'response.steer.failed'];

export async function connect(url: string, options: ClientOptions = {}): Promise<TestSocket> {
  const ws = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${KEY}` },
    ...options,
  });
  const socket = new TestSocket(ws);
  await once(ws, 'open');
  return socket;
}

export interface Refusal {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Json;
}

/** The response to an upgrade request that is refused. */
export function refused(url: string, options: ClientOptions = {}): Promise<Refusal> {
  const ws = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${KEY}` },
    ...options,
  });
  ws.on('error', () => undefined);
  return new Promise((resolve, reject) => {
    ws.on('open', () => reject(new Error('the upgrade was accepted')));
    ws.on('unexpected-response', async (_request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: text === '' ? undefined : JSON.parse(text),
      });
    });
  });
}
