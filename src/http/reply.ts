/** Reply to the client over HTTP: one write a turn of the event loop, with backpressure and disconnect events. */

import { MAX_CHUNK_FRAMING_BYTES, type ServerResponse } from '../http1/server-response.ts';
import type { Output } from '../inference/response/converter.ts';
import type { Reply } from '../inference/response/reply.ts';
import type { ResponseHeaders } from './response-headers.ts';

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
  /** Bytes from which on the response is full. */
  readonly #capacity: number;
  #isScheduled = false;
  #hasBegun = false;

  constructor(response: ServerResponse, common: Pick<ResponseHeaders, 'with'>) {
    this.#response = response;
    this.#capacity = response.capacity;
    this.#common = common;
  }

  head(status: number, headers: Record<string, string>): void {
    this.#response.writeHead(status, this.#common.with(headers));
  }

  write(output: Output): void {
    const response = this.#response;
    if (output.length === 0 || response.destroyed) return;
    this.#pieces.push(output);
    this.#bytes += typeof output === 'string' ? Buffer.byteLength(output) : output.length;
    if (this.waiting + MAX_CHUNK_FRAMING_BYTES >= this.#capacity) this.#flush();
    else if (!this.#isScheduled) this.#schedule();
  }

  get full(): boolean {
    return this.#response.isFull;
  }

  get waiting(): number {
    return this.#response.waiting + this.#bytes;
  }

  onDrain(listener: () => void): void {
    this.#response.onDrain = listener;
  }

  end(chunk?: Output, trailers?: Record<string, string>): void {
    if (chunk !== undefined && chunk.length > 0) {
      this.#pieces.push(chunk);
      this.#bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length;
    }
    const pieces = this.#pieces;
    const bytes = this.#bytes;
    this.#take();
    this.#response.end(pieces, bytes, trailers);
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

  /** Writes the scheduled output. */
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
    if (this.#bytes === 0) return;
    const pieces = this.#pieces;
    const bytes = this.#bytes;
    this.#take();
    this.#hasBegun = true;
    this.#response.write(pieces, bytes);
  }
}
