/** Transport over the network: one request on a connection of undici's. */

import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type Agent from 'undici/lib/dispatcher/agent.js';
import type { Trailers, Transport, TransportEvents, TransportRequest } from './transport.ts';

export class NetworkTransport implements Transport, Dispatcher.DispatchHandler {
  readonly #events: TransportEvents;
  #controller: Dispatcher.DispatchController | undefined;
  #isAborted = false;
  #isPaused = false;
  /** Until then only a connection that is there already can be used. */
  #isDispatching = true;

  constructor(events: TransportEvents) {
    this.#events = events;
  }

  send({ url, method, headers, body }: TransportRequest, agent: Agent): void {
    const { origin, path } = splitUrl(url);
    if (body === undefined || Buffer.isBuffer(body)) {
      agent.dispatch({ origin, path, method, body: body ?? null, headers }, this);
      this.#isDispatching = false;
      return;
    }
    const length = body.reduce((sum, piece) => sum + piece.length, 0);
    const withLength = { ...headers, 'content-length': String(length) };
    // An iterable for undici, although its types name only streams.
    agent.dispatch({ origin, path, method, body: body as unknown as Readable, headers: withLength }, this);
    // It goes out in a microtask of undici's, which is before this one.
    queueMicrotask(() => {
      this.#isDispatching = false;
    });
  }

  pause(): void {
    this.#isPaused = true;
    this.#controller?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#controller?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#controller?.abort(new Error('aborted'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isAborted) controller.abort(new Error('aborted'));
    else this.#events.sent(this.#isDispatching);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status >= 200) this.#events.head(status, firstValues(headers));
    if (this.#isPaused) this.#controller?.pause();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#events.data(chunk);
  }

  onResponseEnd(_controller: Dispatcher.DispatchController, trailers: Trailers): void {
    this.#events.end(trailers);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#events.fail(error);
  }
}

/** Most requests go to a few URLs, and parsing one takes longer than looking it up. */
const knownUrls = new Map<string, SplitUrl>();
const MAX_KNOWN_URLS = 1000;

interface SplitUrl {
  origin: string;
  /** With the query. */
  path: string;
}

function splitUrl(text: string): SplitUrl {
  const known = knownUrls.get(text);
  if (known) return known;
  const { origin, pathname, search } = new URL(text);
  if (knownUrls.size >= MAX_KNOWN_URLS) knownUrls.clear();
  const split = { origin, path: pathname + search };
  knownUrls.set(text, split);
  return split;
}

/** None of the headers that the gateway reads may occur twice, so the first value is used. */
function firstValues(headers: Record<string, string | string[] | undefined>): Record<string, string | undefined> {
  for (const name in headers) {
    const value = headers[name];
    if (Array.isArray(value)) headers[name] = value[0];
  }
  return headers as Record<string, string | undefined>;
}
