/** HTTP client to upstreams: streaming with backpressure, deadlines and abort. */

import type { Dispatcher } from 'undici';
import Agent from 'undici/lib/dispatcher/agent.js';
import { systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { LocalUpstream } from '../core/provider.ts';
import { createDeadlineTimer, type Deadline, type DeadlineTimer } from './deadlines.ts';

/** Timeouts in milliseconds. */
export interface Deadlines {
  connect: number;
  /** From sending the request to the first byte of the response body. */
  firstByte: number;
  /** Idle timeout between two chunks of the response. */
  idle: number;
  total: number;
}

export interface UpstreamRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Absolute; a local upstream uses only its path. */
  url: string;
  headers: Record<string, string>;
  body?: Buffer;
  local?: LocalUpstream;
  /** Use a new connection: an idle keep-alive connection may close while it is reused, and it is unknown what arrived. */
  freshConnection?: boolean;
  /** Total timeout in milliseconds, if shorter than the deadline. */
  total?: number;
}

/** Response events: `head` once, `data` any number of times, then `end` or `fail` once. */
export interface UpstreamReceiver {
  /** Connected and sending; a request that fails before this was never sent. */
  sent?(): void;
  head(status: number, headers: Record<string, string | undefined>): void;
  data(chunk: Buffer): void;
  end(): void;
  fail(error: GatewayError): void;
}

/** A running request. After `abort` no more events are sent to the receiver. */
export interface UpstreamExchange {
  pause(): void;
  resume(): void;
  abort(): void;
}

export interface UpstreamClient {
  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamExchange;
  close(): Promise<void>;
}

/** A request on the network or at a local upstream. */
interface Transport {
  pause(): void;
  resume(): void;
  abort(): void;
}

interface TransportEvents {
  sent(): void;
  head(status: number, headers: Record<string, string | undefined>): void;
  data(chunk: Buffer): void;
  end(): void;
  fail(cause: unknown): void;
}

export function createUpstreamClient(
  deadlines: Deadlines,
  timer: DeadlineTimer = createDeadlineTimer(systemClock),
): UpstreamClient {
  const common = { connect: { timeout: deadlines.connect }, headersTimeout: 0, bodyTimeout: 0 };
  const shared = new Agent({ ...common, keepAliveTimeout: 10_000, pipelining: 1 });
  // In undici, `pipelining: 0` closes the connection after each request.
  const single = new Agent({ ...common, pipelining: 0 });
  return {
    send: (request, receiver) =>
      supervise(request, receiver, { deadlines, timer, agent: request.freshConnection ? single : shared }),
    async close() {
      await Promise.all([shared.close(), single.close()]);
    },
  };
}

/** Runs a transport under the deadlines; the receiver gets exactly one `end` or `fail`. */
function supervise(
  request: UpstreamRequest,
  receiver: UpstreamReceiver,
  { deadlines, timer, agent }: { deadlines: Deadlines; timer: DeadlineTimer; agent: Agent },
): UpstreamExchange {
  let over = false;
  let paused = false;
  let transport: Transport | undefined;
  let started = false;

  function finish(): boolean {
    if (over) return false;
    over = true;
    progress.cancel();
    total.cancel();
    return true;
  }

  function expire(what: string): void {
    if (!finish()) return;
    transport?.abort();
    receiver.fail(new GatewayError('timeout', `The upstream ${what}.`));
  }

  const progress: Deadline = timer.watch(() =>
    expire(started ? 'stopped sending in the middle of its response' : 'did not start its response in time'),
  );
  const total = timer.watch(() => expire('did not finish its response in time'));
  progress.in(deadlines.firstByte);
  total.in(Math.min(request.total ?? deadlines.total, deadlines.total));

  const events: TransportEvents = {
    sent: () => receiver.sent?.(),
    head: (status, headers) => {
      if (!over) receiver.head(status, headers);
    },
    data: (chunk) => {
      if (over) return;
      started = true;
      if (!paused) progress.in(deadlines.idle);
      receiver.data(chunk);
    },
    end: () => {
      if (finish()) receiver.end();
    },
    fail: (cause) => {
      if (finish()) receiver.fail(connectionError(cause, started));
    },
  };
  transport = request.local ? runLocal(request, request.local, events) : runNetwork(request, agent, events);

  return {
    pause() {
      if (over || paused) return;
      paused = true;
      progress.in(Number.POSITIVE_INFINITY);
      transport.pause();
    },
    resume() {
      if (over || !paused) return;
      paused = false;
      progress.in(deadlines.idle);
      transport.resume();
    },
    abort() {
      if (finish()) transport.abort();
    },
  };
}

function connectionError(cause: unknown, started: boolean): GatewayError {
  if (cause instanceof GatewayError) return cause;
  const code = (cause as { code?: string } | undefined)?.code;
  if (code === 'UND_ERR_CONNECT_TIMEOUT')
    return new GatewayError('timeout', 'The upstream could not be reached in time.', { cause });
  const message = started
    ? 'The upstream broke off its response.'
    : 'The upstream could not be reached or closed the connection.';
  return new GatewayError('upstream_error', message, { cause });
}

function runNetwork(request: UpstreamRequest, agent: Agent, events: TransportEvents): Transport {
  let controller: Dispatcher.DispatchController | undefined;
  let aborted = false;
  let paused = false;

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
      if (aborted) started.abort(new Error('aborted'));
      else events.sent();
    },
    onResponseStart(_controller, status, headers) {
      if (status >= 200) events.head(status, firstValues(headers));
      if (paused) controller?.pause();
    },
    onResponseData(_controller, chunk) {
      events.data(chunk);
    },
    onResponseEnd() {
      events.end();
    },
    onResponseError(_controller, error) {
      events.fail(error);
    },
  };
  const { origin, path } = splitUrl(request.url);
  const { method, headers, body = null } = request;
  agent.dispatch({ origin, path, method, body, headers }, handler);

  return {
    pause() {
      paused = true;
      controller?.pause();
    },
    resume() {
      paused = false;
      controller?.resume();
    },
    abort() {
      aborted = true;
      controller?.abort(new Error('aborted'));
    },
  };
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

function runLocal(request: UpstreamRequest, local: LocalUpstream, events: TransportEvents): Transport {
  const stop = new AbortController();
  let release: (() => void) | undefined;
  let held: Promise<void> | undefined;

  async function run(): Promise<void> {
    const { pathname } = new URL(request.url);
    events.sent();
    const { headers, body = Buffer.alloc(0) } = request;
    const response = await local({ method: request.method, path: pathname, headers, body, signal: stop.signal });
    events.head(response.status, response.headers);
    for await (const chunk of response.body) {
      if (held) await held;
      if (stop.signal.aborted) return;
      events.data(chunk);
    }
    events.end();
  }
  run().catch(events.fail);

  return {
    pause() {
      held ??= new Promise((resolve) => {
        release = resolve;
      });
    },
    resume() {
      release?.();
      held = undefined;
    },
    abort() {
      stop.abort();
      release?.();
    },
  };
}
