/** HTTP client to upstreams: streaming with backpressure, deadlines and abort. */

import { systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { HttpProxy } from '../core/http-proxy.ts';
import type { LocalUpstream } from '../core/provider.ts';
import { createDeadlineTimer, type Deadline, type DeadlineTimer } from './deadlines.ts';
import type { UpstreamConnection } from './http1/connection.ts';
import { UpstreamConnections, type UrlTarget } from './http1/connections.ts';
import { runLocal } from './local-transport.ts';
import type { Trailers, Transport, TransportEvents, TransportRequest } from './transport.ts';

/** Timeouts in milliseconds. */
export interface Deadlines {
  connect: number;
  /** Time from sending the request to the first byte of the response body. */
  firstByte: number;
  /** Idle timeout between two chunks of the response. */
  idle: number;
  total: number;
}

export interface UpstreamRequest extends TransportRequest {
  local?: LocalUpstream;
  /** Use a new connection: an idle keep-alive connection may close while it is reused, and then it is unknown whether the request arrived. */
  freshConnection?: boolean;
  /** Total timeout in milliseconds, if shorter than the deadline. */
  total?: number;
}

/** Response events: `head` once, `data` any number of times, then `end` or `fail` once. */
export interface UpstreamReceiver {
  /**
   * Connected and sending; a request that fails before this was never sent. `isReused`: over a connection that was kept alive,
   * behind whose end it is called again for a new one; undefined without a connection.
   */
  sent?(isReused?: boolean): void;
  /** Takes the last `sent` back: the server closed the kept connection and may not have handled the request, which goes to a new one. */
  unsent?(): void;
  head(status: number, headers: Record<string, string | undefined>): void;
  /** The chunk is lent until this returns: its memory is that of the next read. */
  data(chunk: Buffer): void;
  end(trailers?: Trailers): void;
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

export interface UpstreamClientOptions {
  timer?: DeadlineTimer;
  proxy?: HttpProxy | undefined;
}

export function createUpstreamClient(
  deadlines: Deadlines,
  { timer = createDeadlineTimer(systemClock), proxy }: UpstreamClientOptions = {},
): UpstreamClient {
  const connections = new UpstreamConnections(timer, deadlines.connect, proxy);
  return {
    send: (request, receiver) => supervise(request, receiver, { deadlines, timer, connections }),
    close: () => connections.close(),
  };
}

interface Supervision {
  deadlines: Deadlines;
  timer: DeadlineTimer;
  connections: UpstreamConnections;
}

function supervise(request: UpstreamRequest, receiver: UpstreamReceiver, supervision: Supervision): UpstreamExchange {
  const { connections } = supervision;
  const target = request.local ? undefined : connections.targetOf(request.url);
  const exchange = new SupervisedExchange(request, receiver, supervision);
  if (request.local) exchange.attach(runLocal(request, request.local, exchange));
  else if (target) {
    const { server } = target;
    exchange.send(request.freshConnection ? connections.open(server, true) : connections.take(server), target, request);
  }
  return exchange;
}

/** A transport under the deadlines; the receiver gets exactly one `end` or `fail`. */
class SupervisedExchange implements UpstreamExchange, TransportEvents {
  readonly #receiver: UpstreamReceiver;
  readonly #deadlines: Deadlines;
  readonly #connections: UpstreamConnections;
  readonly #progress: Deadline;
  readonly #total: Deadline;
  #transport: Transport | undefined;
  /** The request while it may be sent again: over a kept connection, before its response. */
  #repeatable: { target: UrlTarget; request: UpstreamRequest } | undefined;
  #isOver = false;
  #isPaused = false;
  #hasStarted = false;

  constructor(request: UpstreamRequest, receiver: UpstreamReceiver, { deadlines, timer, connections }: Supervision) {
    this.#receiver = receiver;
    this.#deadlines = deadlines;
    this.#connections = connections;
    this.#progress = timer.watch(() => this.#expire(this.#noProgress()));
    this.#total = timer.watch(() => this.#expire(NOT_FINISHED));
    this.#progress.in(deadlines.firstByte);
    this.#total.in(Math.min(request.total ?? deadlines.total, deadlines.total));
  }

  attach(transport: Transport): void {
    this.#transport = transport;
  }

  send(connection: UpstreamConnection, target: UrlTarget, request: UpstreamRequest): void {
    this.#repeatable = connection.wasUsed ? { target, request } : undefined;
    this.attach(connection);
    connection.send(target.path, request, this);
  }

  pause(): void {
    if (this.#isOver || this.#isPaused) return;
    this.#isPaused = true;
    this.#progress.in(Number.POSITIVE_INFINITY);
    this.#transport?.pause();
  }

  resume(): void {
    if (this.#isOver || !this.#isPaused) return;
    this.#isPaused = false;
    this.#progress.in(this.#deadlines.idle);
    this.#transport?.resume();
  }

  abort(): void {
    if (this.#finish()) this.#transport?.abort();
  }

  sent(isReused?: boolean): void {
    this.#receiver.sent?.(isReused);
  }

  head(status: number, headers: Record<string, string | undefined>): void {
    this.#repeatable = undefined;
    if (!this.#isOver) this.#receiver.head(status, headers);
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#hasStarted = true;
    if (!this.#isPaused) this.#progress.in(this.#deadlines.idle);
    this.#receiver.data(chunk);
  }

  end(trailers?: Trailers): void {
    if (this.#finish()) this.#receiver.end(trailers);
  }

  fail(cause: unknown, hasExpired?: boolean): void {
    const repeated = this.#repeatable;
    if (hasExpired && repeated && !this.#isOver) {
      const { target, request } = repeated;
      this.#receiver.unsent?.();
      this.send(this.#connections.open(target.server), target, request);
    } else if (this.#finish()) this.#receiver.fail(connectionError(cause, this.#hasStarted));
  }

  #finish(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#repeatable = undefined;
    this.#progress.cancel();
    this.#total.cancel();
    return true;
  }

  #noProgress(): string {
    const { firstByte, idle } = this.#deadlines;
    if (!this.#hasStarted) return `The upstream did not start its response within ${firstByte / 1000} s.`;
    return `The upstream sent nothing for ${idle / 1000} s in the middle of its response.`;
  }

  #expire(message: string): void {
    if (!this.#finish()) return;
    this.#transport?.abort();
    this.#receiver.fail(new GatewayError('timeout', message));
  }
}

const NOT_FINISHED = 'The upstream did not finish its response before the deadline of the request.';

function connectionError(cause: unknown, started: boolean): GatewayError {
  if (cause instanceof GatewayError) return cause;
  const message = started
    ? 'The upstream broke off its response.'
    : 'The upstream could not be reached or closed the connection.';
  return new GatewayError('upstream_error', message, { cause });
}
