/** Connection to an upstream, for one request at a time. */

import type { Socket } from 'node:net';
import { GatewayError } from '../../core/errors.ts';
import type { Fields } from '../../core/fields.ts';
import type { Linked } from '../../core/linked-list.ts';
import type { OutgoingBody } from '../../core/platform.ts';
import type { Deadline, DeadlineTimer } from '../deadlines.ts';
import type { Trailers, Transport, TransportEvents, TransportRequest } from '../transport.ts';
import { bodySize, bodySlices, requestHead } from './head.ts';
import type { Origin, SocketEvents } from './origin.ts';
import { type ResponseEvents, ResponseParser } from './response-parser.ts';

export interface UpstreamConnectionOptions {
  /** Milliseconds. */
  connectTimeout: number;
  timer: DeadlineTimer;
  /** Whether it is closed after one request. */
  isSingle: boolean;
  openSocket(events: SocketEvents): Socket;
  /** Why a socket is not connected in time, for the log. */
  lateCause(socket: Socket): string;
  /** Called after a response, if another request may follow, before its receiver is told. */
  onIdle(connection: UpstreamConnection, keepAliveSeconds: number | undefined): void;
  /** Called when the server closes it while it is idle, or instead of a response to its next request. */
  onExpired(connection: UpstreamConnection): void;
  onClosed(connection: UpstreamConnection): void;
}

/** A request up to this size is sent as one text with its head, which Node writes without a buffer. */
const MAX_COPIED_BYTES = 16 * 1024;
/** Bytes of a body from which no more is written in a turn of the event loop: to copy and encrypt a large one would keep other requests waiting. */
const TURN_BYTES = 512 * 1024;
/** Shortest idle timeout that servers are taken to have: a connection that they close earlier is closed for another reason. */
export const MIN_IDLE_TIMEOUT_MS = 1000;
/** Added to the time of a way there and back: a busy server may close the connection before it reads the request. */
const CROSSING_MARGIN_MS = 100;
/** Limit of both: after this time a model may have computed and failed. */
const MAX_CROSSING_MS = 500;

/** Transport of one request at a time. The request must not use it after `end` or `fail`. */
export class UpstreamConnection implements Transport, ResponseEvents, Linked<UpstreamConnection> {
  previous: UpstreamConnection | undefined;
  next: UpstreamConnection | undefined;
  /** Times by the monotonic clock since when it has been idle, `Infinity` in the turn in which a response ended, and until when it is kept. */
  idleSince = 0;
  idleUntil = 0;
  /** Milliseconds for which it was idle before its request; undefined for a new one, and while it is idle. */
  idleMs: number | undefined;
  readonly #origin: Origin;
  readonly #options: UpstreamConnectionOptions;
  #socket: Socket;
  readonly #parser = new ResponseParser(this);
  readonly #connecting: Deadline;
  #isConnected = false;
  #isPaused = false;
  #hasEnded = false;
  /** Whether anything came since the request was sent. */
  #hasAnswer = false;
  readonly #openedAt: number;
  #sentAt = 0;
  /** Time after a request in which an end of the connection was probably on its way when the server got the request. */
  #crossingMs = 0;
  /** Events of the request in progress. */
  #events: TransportEvents | undefined;
  #unsent: { head: string; body: OutgoingBody | undefined } | undefined;
  /** Rest of its body, which later turns of the event loop write. */
  #rest: Buffer[] = [];
  #requests = 0;

  constructor(origin: Origin, options: UpstreamConnectionOptions) {
    this.#origin = origin;
    this.#options = options;
    this.#socket = options.openSocket({
      read: (bytes) => this.#read(bytes),
      replaced: (socket) => this.#listen(socket),
      connected: () => this.#connected(),
    });
    this.#connecting = options.timer.watch(() => this.#lose(notConnected(new Error(options.lateCause(this.#socket)))));
    this.#connecting.in(options.connectTimeout);
    this.#openedAt = options.timer.now();
    this.#listen(this.#socket);
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  /** Whether it has served a request. */
  get wasUsed(): boolean {
    return this.#requests > 0;
  }

  /** `path` with the query. Fails for a request that cannot be written as HTTP. */
  send(path: string, { method, headers, body }: TransportRequest, events: TransportEvents): void {
    this.#events = events;
    this.#isPaused = false;
    this.#hasAnswer = false;
    this.#parser.start();
    try {
      const target = { method, path, host: this.#origin.host, isLast: this.#options.isSingle };
      this.#unsent = { head: requestHead(target, headers, body && bodySize(body)), body };
    } catch (error) {
      // The receiver has no exchange yet.
      queueMicrotask(() => this.#lose(error));
      return;
    }
    if (this.#requests++ > 0) this.#socket.ref();
    if (this.#isConnected) this.#guard(() => this.#write());
  }

  pause(): void {
    this.#isPaused = true;
    this.#parser.pause();
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#guard(() => this.#parser.resume());
    // The receiver may have paused again.
    if (!this.#isPaused) this.#socket.resume();
  }

  /** Closes the connection without a word to the receiver. */
  abort(): void {
    this.#events = undefined;
    this.#lose(undefined);
  }

  head(status: number, headers: Fields): void {
    this.#events?.head(status, headers);
  }

  data(chunk: Buffer): void {
    this.#events?.data(chunk);
  }

  end(trailers: Trailers): void {
    const events = this.#events;
    this.#events = undefined;
    if (this.#canServeNext()) {
      this.#socket.unref();
      this.#options.onIdle(this, this.#parser.keepAliveSeconds);
    } else this.abort();
    events?.end(trailers);
  }

  #canServeNext(): boolean {
    if (!this.#parser.isReusable || this.#options.isSingle || this.#hasEnded) return false;
    // An upstream that answers before it has read the request may never read the rest.
    return !this.#isWriting;
  }

  #listen(socket: Socket): void {
    this.#socket = socket;
    socket
      .on('end', () => this.#ended())
      .on('error', (error) => this.#broke(error))
      .once('close', () => {
        if (socket !== this.#socket) return;
        this.#broke(new Error('The connection was closed.'));
        this.#options.onClosed(this);
      });
  }

  #connected(): void {
    this.#connecting.cancel();
    this.#isConnected = true;
    this.#crossingMs = Math.min(MAX_CROSSING_MS, 2 * (this.#options.timer.now() - this.#openedAt) + CROSSING_MARGIN_MS);
    this.#guard(() => this.#write());
  }

  #write(): void {
    if (!this.#unsent) return;
    const { head, body = NO_PIECES } = this.#unsent;
    this.#unsent = undefined;
    this.#sentAt = this.#options.timer.now();
    this.#events?.sent(this.#requests > 1);
    // The receiver may have aborted.
    if (!this.#events) return;
    const pieces = Buffer.isBuffer(body) ? [body] : body;
    if (head.length + bodySize(body) <= MAX_COPIED_BYTES) {
      const text = pieces.reduce((text, piece) => text + piece.toString('latin1'), head);
      this.#socket.write(text, 'latin1');
      return;
    }
    this.#rest = bodySlices(pieces);
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    this.#writeTurn();
    this.#socket.uncork();
  }

  /** Writes as much of the body as one turn of the event loop may, and goes on when the system has taken that. */
  #writeTurn(): void {
    for (let written = 0; written < TURN_BYTES; ) {
      const piece = this.#rest.shift();
      if (!piece) return;
      written += piece.length;
      const isTurnOver = written >= TURN_BYTES && this.#rest.length > 0;
      this.#socket.write(piece, isTurnOver ? this.#whenTaken : undefined);
    }
  }

  readonly #whenTaken = (error?: Error | null): void => {
    if (!error) setImmediate(this.#writeNext);
  };

  readonly #writeNext = (): void => {
    if (this.#rest.length === 0) return;
    this.#socket.cork();
    this.#writeTurn();
    this.#socket.uncork();
  };

  #read(bytes: Buffer): void {
    this.#hasAnswer = true;
    // Nobody asked for it.
    if (!this.#events) this.#lose(undefined, true);
    else this.#guard(() => this.#parser.read(bytes));
    // A socket that was paused before it was connected reads once more.
    if (this.#isPaused) this.#socket.pause();
  }

  #ended(): void {
    // It closes at once, and that tells more.
    if (!this.#isConnected) return;
    this.#hasEnded = true;
    if (this.#hasExpired) this.#lose(new Error(EXPIRED), true);
    else this.#guard(() => this.#parser.close());
  }

  /**
   * Whether the end of the connection is none of a response: there is no request, or it is not written as a whole, so that the server
   * cannot have handled it; or it went over a connection that was idle for long, and ended so soon that the server may not have read it.
   */
  get #hasExpired(): boolean {
    if (!this.#events) return true;
    if (this.#requests < 2 || this.#hasAnswer || this.#isPaused) return false;
    if (this.#isWriting) return true;
    const wasIdle = this.idleMs !== undefined && this.idleMs >= MIN_IDLE_TIMEOUT_MS;
    return wasIdle && this.#options.timer.now() - this.#sentAt <= this.#crossingMs;
  }

  get #isWriting(): boolean {
    return this.#rest.length > 0 || this.#socket.writableLength > 0;
  }

  /** Ignores errors after the end of the response: all its bytes are there, and a paused receiver still gets them. */
  #broke(error: Error): void {
    if (this.#hasEnded && this.#events) return;
    const code = (error as { code?: string }).code ?? '';
    const isTimeout = !this.#isConnected && code === 'ETIMEDOUT';
    this.#lose(isTimeout ? notConnected(error) : error, CLOSED_BY_SERVER.has(code) && this.#hasExpired);
  }

  /** Errors of the parser and of the receiver end the request. One that has ended hears of nothing more. */
  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#lose(error);
    }
  }

  #lose(cause: unknown, hasExpired = false): void {
    const events = this.#events;
    this.#events = undefined;
    this.#unsent = undefined;
    this.#rest = [];
    this.#connecting.cancel();
    this.#parser.stop();
    if (!this.#isConnected) this.#origin.session = undefined;
    this.#socket.destroy();
    if (hasExpired) this.#options.onExpired(this);
    events?.fail(cause, hasExpired);
  }
}

const notConnected = (cause: Error) =>
  new GatewayError('timeout', 'The upstream could not be reached in time.', { cause });
const EXPIRED = 'The upstream closed a kept connection as a request came.';
const CLOSED_BY_SERVER = new Set(['ECONNRESET', 'EPIPE']);
const NO_PIECES: readonly Buffer[] = [];
