/** Connection of a client: reads its requests, one at a time, and ends with the last response. */

import type { Socket } from 'node:net';
import type { Clock } from '../core/clock.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { Linked } from '../core/linked-list.ts';
import { linger, WriteProgress } from './connection-end.ts';
import { type ParsedHead, type RequestEvents, RequestParser } from './request-parser.ts';
import { type BodyReceiver, type RequestConnection, type RequestHandler, ServerRequest } from './server-request.ts';
import { type ResponseConnection, ServerResponse } from './server-response.ts';
import { readAsEvents, readShared } from './shared-reads.ts';

export interface ClientConnectionOptions {
  handler: RequestHandler;
  clock: Clock;
  /** Milliseconds for a request to come in whole. */
  requestTimeoutMs: number;
  /** Fields of every response: its date, and whether the connection is kept. */
  commonFields(isLast: boolean): string;
  /** Whether the server is closing. */
  isClosing(): boolean;
  /** The connection is closed or taken over. */
  onReleased(connection: ClientConnection): void;
}

/** Timeout of the head of a request from its first byte, and of the first byte on a new connection. */
const HEAD_TIMEOUT_MS = 15_000;
/** Idle timeout between two requests: longer than the pools of common clients keep a connection. */
export const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/**
 * Limit of bytes that arrive early, e.g. of the next request; up to one more read may be added. Then nothing is read, so that a
 * client that leaves is noticed by the write of its response.
 */
const MAX_KEPT_BYTES = 4096;
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** `new` has had no request. While it is `dropping`, received bytes are discarded: the response is the last one. */
type Phase = 'new' | 'idle' | 'head' | 'body' | 'response' | 'dropping';

export class ClientConnection
  implements RequestEvents, RequestConnection, ResponseConnection, Linked<ClientConnection>
{
  previous: ClientConnection | undefined;
  next: ClientConnection | undefined;
  readonly socket: Socket;
  readonly #options: ClientConnectionOptions;
  readonly #parser = new RequestParser(this);
  readonly #progress = new WriteProgress();
  #phase: Phase = 'new';
  /** Begin of the phase by the monotonic clock: of a body, that of its head. */
  #since: number;
  /** The request in progress. */
  #request: ServerRequest | undefined;
  #response: ServerResponse | undefined;
  #receiver: BodyReceiver | undefined;

  constructor(socket: Socket, options: ClientConnectionOptions) {
    this.socket = socket;
    this.#options = options;
    this.#since = options.clock.monotonic();
    this.#parser.start();
    readShared(socket, this.#onData);
    socket
      .on('end', this.#onEnd)
      .on('drain', this.#onDrain)
      .on('error', ignore)
      .on('close', () => this.#lost());
  }

  /** Ends a connection whose head, body, idle or stall timeout has passed. */
  checkTimeouts(now: number): void {
    const lasted = now - this.#since;
    if (this.#phase === 'new' || this.#phase === 'head') {
      if (lasted < HEAD_TIMEOUT_MS) return;
      if (this.#phase === 'new' || this.#parser.hasBegun)
        this.#fail(tooSlow('The head of the request', HEAD_TIMEOUT_MS));
      else this.socket.destroy();
    } else if (this.#phase === 'body') {
      const { requestTimeoutMs } = this.#options;
      if (lasted >= requestTimeoutMs) this.#fail(tooSlow('The request', requestTimeoutMs));
    } else if (this.#phase === 'idle' && lasted >= KEEP_ALIVE_TIMEOUT_MS) this.socket.destroy();
    const isServerClosing = this.#options.isClosing();
    if (this.#progress.isStalled(this.socket, { now, isServerClosing })) this.socket.destroy();
  }

  /** Closes the connection unless a request is in progress. */
  closeIfIdle(): void {
    const hasNext = this.#parser.kept.length > 0;
    if (!this.#response && !hasNext && this.#phase !== 'dropping') this.socket.destroy();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#phase === 'dropping') return;
    if (this.#phase === 'idle' || this.#phase === 'new') this.#begin('head');
    this.#parse(() => this.#parser.read(chunk));
  };

  /** The client has ended its side. An incomplete request gets an error response; otherwise the client counts as gone. */
  readonly #onEnd = (): void => {
    if (this.#phase === 'body' || (this.#phase === 'head' && this.#parser.hasBegun))
      this.#parse(() => this.#parser.close());
    else this.socket.end();
  };

  readonly #onDrain = (): void => {
    this.#response?.onDrain?.();
  };

  #begin(phase: Phase): void {
    this.#phase = phase;
    this.#since = this.#options.clock.monotonic();
  }

  #parse(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#fail(toGatewayError(error));
    }
    this.#readOn();
  }

  /** Reads on unless the client is far ahead. */
  #readOn(): void {
    if (this.#parser.kept.length > MAX_KEPT_BYTES && this.#phase !== 'dropping') this.socket.pause();
    else if (this.socket.isPaused()) this.socket.resume();
  }

  head(head: ParsedHead): void {
    const request = new ServerRequest(head, this);
    const { handler } = this.#options;
    const upgrades = request.asksToUpgrade && handler.mayUpgrade(request);
    const { method, isCurrent } = head;
    const response = new ServerResponse(this, { method, isCurrent, isLast: upgrades || request.isLast });
    if (upgrades) request.upgrade = this;
    else if (!head.hasBody) this.#checkFollowing(response);
    this.#request = request;
    this.#response = response;
    this.#phase = head.hasBody ? 'body' : 'response';
    handler.handle(request, response);
    if (head.hasBody && !this.#receiver) this.#parser.pause();
  }

  data(chunk: Buffer): void {
    this.#receiver?.data(chunk);
  }

  end(): void {
    if (this.#request) this.#request.complete = true;
    this.#phase = 'response';
    if (this.#request?.hasBody && this.#response) this.#checkFollowing(this.#response);
    if (this.#parser.isClosed) this.socket.end();
    this.#takeReceiver()?.end();
  }

  #checkFollowing(response: ServerResponse): void {
    if (this.#parser.isFollowedByGarbage) response.closeAfterwards();
  }

  receive(request: ServerRequest, receiver: BodyReceiver): void {
    if (request !== this.#request || this.#phase !== 'body' || this.#receiver) {
      receiver.broken();
      return;
    }
    this.#receiver = receiver;
    if (request.expectsContinue && !this.#parser.isBehind) this.socket.write(CONTINUE, 'latin1');
    this.#parse(() => this.#parser.resume());
  }

  take(): { socket: Socket; head: Buffer } {
    const { socket } = this;
    const head = this.#parser.takeRest();
    this.#response?.switchProtocols();
    this.#options.onReleased(this);
    readAsEvents(socket, this.#onData);
    socket.off('end', this.#onEnd).off('drain', this.#onDrain);
    // The end was told, and the new owner does not hear of it.
    if (this.#parser.isClosed) socket.destroy();
    socket.pause();
    // The new owner listens by then.
    process.nextTick(() => socket.resume());
    return { socket, head };
  }

  /** Lines of the fields `Date`, `Connection` and `Keep-Alive`. `isLast`: the connection is closed after the response. */
  commonFields(isLast: boolean): string {
    return this.#options.commonFields(isLast);
  }

  /** Reads the request to its end if its last bytes have arrived; the response does not wait for bytes that have not. */
  settleRequest(): boolean {
    const request = this.#request;
    // While the server closes, a request that came behind this one is refused.
    if (!request || request.complete) return this.#options.isClosing() && !this.#parser.isBehind;
    this.#takeReceiver()?.broken();
    try {
      this.#parser.resume();
    } catch {
      // The response says more than an error of the framing.
    }
    if (request.complete) return false;
    this.#drop();
    return true;
  }

  /** Discards received bytes, so that a client that still sends can read the response. */
  #drop(): void {
    this.#begin('dropping');
    this.#parser.stop();
    this.socket.resume();
  }

  responseEnded(): void {
    const isLast = this.#response?.isLast;
    const isExpected = this.#request?.isLast && this.#phase === 'response' && this.#parser.kept.length === 0;
    this.#forget();
    if (isLast) this.#close(isExpected === true);
    else {
      this.#begin('idle');
      if (this.#parser.kept.length > 0) setImmediate(this.#readNext);
      else if (this.#options.isClosing()) this.#close(false);
      else {
        this.#parser.start();
        this.#readOn();
      }
    }
  }

  /** Reads the request that came behind the last one, after a turn in which other connections had theirs. */
  readonly #readNext = (): void => {
    if (this.socket.destroyed) return;
    this.#begin('head');
    this.#parse(() => {
      this.#parser.start();
      this.#parser.resume();
    });
    // Its head is not complete, and does not come any more.
    if (this.#options.isClosing() && !this.#response) this.#close(false);
  };

  /** Closes the connection behind the last response: at once if the client expects that and sends no more. */
  #close(isExpected: boolean): void {
    if (isExpected) {
      this.#parser.stop();
      this.socket.destroySoon();
      return;
    }
    this.#drop();
    linger(this.socket, this.#options);
  }

  /** The client sends no HTTP, or too slowly. */
  #fail(error: GatewayError): void {
    const receiver = this.#takeReceiver();
    const path = this.#parser.brokenPath;
    this.#parser.stop();
    if (receiver) receiver.broken(error);
    // Of a body that nobody has asked for, or by a handler that throws.
    else if (this.#response) this.socket.destroy();
    else this.#refuse(error, path);
  }

  #refuse(error: GatewayError, path: string | undefined): void {
    this.#drop();
    this.#response = new ServerResponse(this, { method: 'GET', isCurrent: true, isLast: true });
    try {
      this.#options.handler.refuse(error, path, this.#response);
    } catch {
      this.socket.destroy();
    }
  }

  #lost(): void {
    const response = this.#response;
    this.#parser.stop();
    this.#options.onReleased(this);
    response?.lost();
    this.#forget();
  }

  #forget(): void {
    this.#request = undefined;
    this.#response = undefined;
    this.#takeReceiver()?.broken();
  }

  #takeReceiver(): BodyReceiver | undefined {
    const receiver = this.#receiver;
    this.#receiver = undefined;
    return receiver;
  }
}

function ignore(): void {}

function tooSlow(part: string, timeoutMs: number): GatewayError {
  return new GatewayError('request_timeout', `${part} did not arrive in full within ${timeoutMs / 1000} s.`);
}
