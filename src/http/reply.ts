/** Reply to the client over HTTP: one write a turn of the event loop, with backpressure and disconnect events. */

import type { ServerResponse } from 'node:http';
import type { Output } from '../inference/response/converter.ts';
import type { Reply } from '../inference/response/reply.ts';
import { joinPieces, MAX_CHUNK_FRAMING_BYTES } from './chunk.ts';
import type { ResponseHeaders } from './response-headers.ts';

/** Up to this size, copying pieces into one buffer is faster than writing several. */
const MAX_COPIED_BYTES = 32 * 1024;
/** Size up to which copying a body behind its head is cheaper than writing the two as a list. */
const SMALL_BYTES = 16 * 1024;

/** `common` adds the headers of every response, such as the request id. */
export function createReply(response: ServerResponse, common: Pick<ResponseHeaders, 'with'>): Reply {
  return new HttpReply(response, common);
}

/** Replies that are written at the end of this turn. */
let scheduled: HttpReply[] = [];

function writeScheduled(): void {
  const replies = scheduled;
  scheduled = [];
  for (const reply of replies) reply.onTurnEnd();
}

/**
 * Output of one turn of the event loop goes out in one chunk at its end, whatever the number of frames and of upstream chunks
 * they came in. The first output is not delayed until then. Full buffers are written at once, so that backpressure is exact.
 */
class HttpReply implements Reply {
  readonly #response: ServerResponse;
  readonly #common: Pick<ResponseHeaders, 'with'>;
  #pieces: Output[] = [];
  /** Total size of the pieces. */
  #bytes = 0;
  #isScheduled = false;
  #hasBegun = false;
  /** The chunks of the body are framed here, because Node writes each in four parts. */
  #isChunked = false;
  #onDrain: (() => void) | undefined;

  constructor(response: ServerResponse, common: Pick<ResponseHeaders, 'with'>) {
    this.#response = response;
    this.#common = common;
  }

  head(status: number, headers: Record<string, string>): void {
    const response = this.#response;
    const all = this.#common.with(headers);
    if (response.req.httpVersion === '1.0') delete all.trailer;
    response.writeHead(status, all);
  }

  write(output: Output): void {
    const response = this.#response;
    if (output.length === 0 || response.destroyed) return;
    this.#pieces.push(output);
    this.#bytes += typeof output === 'string' ? Buffer.byteLength(output) : output.length;
    if (this.waiting + MAX_CHUNK_FRAMING_BYTES >= response.writableHighWaterMark) this.#flush();
    else if (!this.#isScheduled) this.#schedule();
  }

  get full(): boolean {
    return this.#response.writableNeedDrain;
  }

  get waiting(): number {
    return this.#response.writableLength + this.#bytes;
  }

  onDrain(listener: () => void): void {
    if (!this.#onDrain) this.#response.on('drain', () => this.#onDrain?.());
    this.#onDrain = listener;
  }

  end(chunk?: Output, trailers?: Record<string, string>): void {
    const response = this.#response;
    if (response.destroyed) return;
    if (this.#isChunked) response.chunkedEncoding = true;
    if (trailers) response.addTrailers(trailers);
    if (this.#bytes === 0) {
      if (Buffer.isBuffer(chunk) && chunk.length <= SMALL_BYTES) response.end(chunk.toString('latin1'), 'latin1');
      else response.end(chunk);
      return;
    }
    const pieces = chunk === undefined ? this.#pieces : [...this.#pieces, chunk];
    const bytes = this.#bytes + (chunk === undefined ? 0 : Buffer.byteLength(chunk));
    this.#take();
    response.end(joinPieces(pieces, bytes, false));
  }

  onClose(listener: () => void): void {
    const response = this.#response;
    if (response.destroyed) {
      listener();
      return;
    }
    response.on('close', () => {
      if (!response.writableFinished) listener();
    });
  }

  onDone(listener: () => void): void {
    if (this.#response.closed) listener();
    else this.#response.on('close', listener);
  }

  /** Writes what was scheduled. */
  onTurnEnd(): void {
    this.#isScheduled = false;
    this.#flush();
  }

  #schedule(): void {
    this.#isScheduled = true;
    if (!this.#hasBegun) queueMicrotask(() => this.onTurnEnd());
    else if (scheduled.push(this) === 1) setImmediate(writeScheduled);
  }

  #take(): void {
    this.#pieces = [];
    this.#bytes = 0;
  }

  #flush(): void {
    const response = this.#response;
    if (this.#bytes === 0) return;
    const pieces = this.#pieces;
    const bytes = this.#bytes;
    this.#take();
    if (response.destroyed) return;
    const isFirst = !this.#hasBegun;
    if (isFirst) {
      this.#hasBegun = true;
      this.#isChunked = response.chunkedEncoding;
      response.chunkedEncoding = false;
    } else if (bytes <= MAX_COPIED_BYTES) {
      response.write(joinPieces(pieces, bytes, this.#isChunked));
      return;
    }
    // Head, length and pieces are one write of several buffers.
    const { socket } = response;
    socket?.cork();
    if (bytes <= MAX_COPIED_BYTES) response.write(joinPieces(pieces, bytes, this.#isChunked));
    else {
      if (this.#isChunked) response.write(`${bytes.toString(16)}\r\n`, 'latin1');
      for (const piece of pieces) response.write(piece);
      if (this.#isChunked) response.write('\r\n', 'latin1');
    }
    socket?.uncork();
  }
}
