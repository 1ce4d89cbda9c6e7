/** Reply over a WebSocket: events of a stream as messages, errors as one message. */

import { EventEmitter } from 'node:events';
import { type Json, parseObject } from '../../core/json/json.ts';
import type { SocketRequest } from '../../core/socket.ts';
import { createFramer, parseFrame } from '../../core/sse.ts';
import { type Output, outputBytes } from '../../inference/response/converter.ts';
import type { Reply } from '../../inference/response/reply.ts';
import type { ResponseHeaders } from '../response-headers.ts';
import type { ResponseState } from '../response-state.ts';
import type { SocketChannel } from './channel.ts';

const OK = 200;

/** `close` is emitted once, at the end or when the client disconnects. */
export class SocketReply extends EventEmitter implements Reply, ResponseState {
  readonly #channel: SocketChannel;
  readonly #request: SocketRequest;
  readonly #framer = createFramer();
  /** Headers of the response, until they are sent with its first message. */
  #headers: Record<string, string> | undefined;
  /** Headers of every response, such as the request id. */
  common: Pick<ResponseHeaders, 'with'> | undefined;
  statusCode = OK;
  headersSent = false;
  writableFinished = false;
  destroyed = false;
  #hasEnded = false;
  #isClosed = false;

  constructor(channel: SocketChannel, request: SocketRequest) {
    super();
    this.#channel = channel;
    this.#request = request;
  }

  /** Keeps the status and the headers, which go with the first message. */
  head(status: number, headers: Record<string, string>): void {
    this.headersSent = true;
    this.statusCode = status;
    const { 'content-type': _type, 'content-length': _length, ...others } = this.common?.with(headers) ?? headers;
    this.#headers = others;
  }

  write(output: Output): void {
    if (this.destroyed) return;
    this.#channel.together(() => this.#frames(this.#framer.push(outputBytes(output))));
  }

  get full(): boolean {
    return this.#channel.full;
  }

  /** Bytes that are not sent yet, including those of an incomplete frame. */
  get waiting(): number {
    return this.#channel.waiting + this.#framer.pending;
  }

  onDrain(listener: () => void): void {
    this.#channel.onDrain(listener);
  }

  end(output?: Output): void {
    if (this.destroyed || this.#hasEnded) return;
    if (this.statusCode !== OK) this.#refuse(output);
    else {
      this.#channel.together(() => {
        this.#frames(output === undefined ? [] : this.#framer.push(outputBytes(output)));
        this.#frames(this.#framer.end());
      });
    }
    this.#finish();
  }

  /** A response of these messages, without an upstream. */
  endWith(messages: readonly string[]): void {
    this.headersSent = true;
    this.#channel.together(() => {
      for (const message of messages) this.#channel.send(message);
    });
    this.#finish();
  }

  /** The client has disconnected. */
  abort(): void {
    if (this.writableFinished) return;
    this.destroyed = true;
    this.#close();
  }

  onClose(listener: () => void): void {
    if (this.destroyed) listener();
    else this.on('close', () => this.writableFinished || listener());
  }

  onDone(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.on('close', listener);
  }

  #frames(frames: readonly Buffer[]): void {
    for (const frame of frames) {
      const event = parseFrame(frame);
      // A comment keeps a connection alive; here a ping does.
      if (!event) this.#channel.ping();
      else {
        const message = this.#request.encodeEvent(event, this.#headers);
        if (message === undefined) continue;
        this.#headers = undefined;
        this.#channel.send(message);
      }
    }
  }

  #refuse(output: Output | undefined): void {
    const body: Json = parseObject(String(output ?? ''));
    this.#channel.send(this.#request.encodeError({ status: this.statusCode, body }, this.#headers ?? {}));
  }

  #finish(): void {
    this.#hasEnded = true;
    this.#channel.whenWritten(() => {
      if (this.destroyed) return;
      this.writableFinished = true;
      this.#close();
    });
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.emit('close');
  }
}
