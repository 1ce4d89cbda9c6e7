/** Reply in the background: events of a stream for which no client waits. */

import { EventEmitter } from 'node:events';
import { type Json, parseObject } from '../../core/json/json.ts';
import { createFramer, parseFrame } from '../../core/sse.ts';
import { type Output, outputBytes } from '../../inference/response/converter.ts';
import type { Reply } from '../../inference/response/reply.ts';
import type { ResponseState } from '../response-state.ts';

const OK = 200;
const DROPPED_HEADER = 'x-polygate-dropped';

/** Receives the events of a response in their order. */
export interface EventSink {
  add(event: Json): void;
  /** Whether the sink accepts no more events for now; `onDrain` is called when it does again. */
  readonly full: boolean;
  /** Bytes that are not stored yet. */
  readonly waiting: number;
  onDrain(listener: () => void): void;
  /** Gets the names of dropped members, as in the header `x-polygate-dropped` of other responses; a later call replaces them. */
  noteDropped(names: string): void;
}

/** `close` is emitted once, at the end or when it is aborted. */
export class BackgroundReply extends EventEmitter implements Reply, ResponseState {
  readonly #sink: EventSink;
  readonly #framer = createFramer();
  statusCode = OK;
  headersSent = false;
  writableFinished = false;
  destroyed = false;
  /** The body of an error without a stream. */
  refusal: Json;

  constructor(sink: EventSink) {
    super();
    this.#sink = sink;
  }

  head(status: number, headers: Record<string, string> = {}): void {
    this.headersSent = true;
    this.statusCode = status;
    this.#noteDropped(headers);
  }

  write(output: Output): void {
    if (!this.destroyed) this.#take(this.#framer.push(outputBytes(output)));
  }

  get full(): boolean {
    return this.#sink.full;
  }

  /** Bytes that are not stored yet, including those of an incomplete frame. */
  get waiting(): number {
    return this.#sink.waiting + this.#framer.pending;
  }

  onDrain(listener: () => void): void {
    this.#sink.onDrain(listener);
  }

  end(output?: Output, trailers: Record<string, string> = {}): void {
    if (this.destroyed || this.writableFinished) return;
    this.#noteDropped(trailers);
    if (this.statusCode !== OK) this.refusal = parseObject(String(output ?? ''));
    else {
      if (output !== undefined) this.#take(this.#framer.push(outputBytes(output)));
      this.#take(this.#framer.end());
    }
    this.writableFinished = true;
    this.emit('close');
  }

  /** Ends the response, and with it the request to the upstream. */
  abort(): void {
    if (this.writableFinished || this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }

  onClose(listener: () => void): void {
    if (this.destroyed) listener();
    else this.on('close', () => this.writableFinished || listener());
  }

  onDone(listener: () => void): void {
    if (this.destroyed || this.writableFinished) listener();
    else this.on('close', listener);
  }

  #noteDropped({ [DROPPED_HEADER]: names }: Record<string, string>): void {
    if (names !== undefined) this.#sink.noteDropped(names);
  }

  #take(frames: readonly Buffer[]): void {
    for (const frame of frames) {
      const event = parseFrame(frame);
      if (event) this.#sink.add(parseObject(event.data));
    }
  }
}
