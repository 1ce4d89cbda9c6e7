/** Server-sent events: splits bytes into frames, and parses frames. */

import { ByteCollector } from './byte-collector.ts';
import { GatewayError } from './errors.ts';
import { ownCopy } from './own-bytes.ts';

export interface SseEvent {
  /** Event name; absent without an `event:` line. */
  event?: string;
  /** All `data:` lines joined by a line feed. */
  data: string;
}

const LF = 10;
const CR = 13;
const SPACE = 32;

/** Maximum frame size. Real frames are smaller (a generated image is some 10 MB). */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** Bytes of earlier data to search again: a blank line has at most four bytes. */
const OVERLAP_BYTES = 3;

const EMPTY = Buffer.alloc(0);

/** Splits a byte stream into frames. */
export interface Framer {
  /** The chunk may be lent: frames are parts of it, and kept bytes are copies. */
  push(chunk: Buffer): Buffer[];
  /** The rest at the end of the stream: a frame without its blank line, or none. */
  end(): Buffer[];
  /** Bytes of the incomplete frame. */
  readonly pending: number;
}

/**
 * Yields the raw bytes of each frame with its blank line. Lines may end in LF, CR or CRLF, and the chunks may be cut
 * anywhere, even inside a UTF-8 character and between CR and LF. The concatenated frames equal the input.
 */
export function createFramer(): Framer {
  return new SseFramer();
}

class SseFramer implements Framer {
  /** Bytes of the incomplete frame; undefined if the last chunk ended with a frame, as most do. */
  #pending: ByteCollector | undefined;
  #tail: Buffer = EMPTY;

  get pending(): number {
    return this.#pending?.size ?? 0;
  }

  push(chunk: Buffer): Buffer[] {
    const frames: Buffer[] = [];
    const tail = this.#tail;
    const bytes = tail.length === 0 ? chunk : Buffer.concat([tail, chunk]);
    const breaks = new BreakFinder(bytes);
    let start = tail.length;
    let end = frameEnd(bytes, 0, breaks);
    while (end >= 0 && end <= start) end = frameEnd(bytes, end, breaks);
    let begin = 0;
    while (end >= 0) {
      frames.push(this.#take(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)));
      start = end;
      begin = end;
      end = start === bytes.length ? -1 : frameEnd(bytes, start, breaks);
    }
    if (start < bytes.length) {
      this.#pending ??= new ByteCollector();
      this.#pending.addCopy(bytes.subarray(start));
    }
    const overlap = Math.max(begin, bytes.length - OVERLAP_BYTES);
    this.#tail = this.#pending ? ownCopy(bytes, overlap, bytes.length) : EMPTY;
    if (this.pending > MAX_FRAME_BYTES) throw new GatewayError('upstream_error', 'The upstream sent an endless event.');
    return frames;
  }

  end(): Buffer[] {
    this.#tail = EMPTY;
    return this.#pending ? [this.#take(EMPTY)] : [];
  }

  #take(last: Buffer): Buffer {
    const pending = this.#pending;
    if (!pending) return last;
    this.#pending = undefined;
    pending.add(last);
    return pending.take();
  }
}

/** The index just after the first blank line at or after `from`, or -1. */
function frameEnd(bytes: Buffer, from: number, breaks: BreakFinder): number {
  let position = breaks.next(from);
  while (position < bytes.length) {
    const next = lineEnd(bytes, position);
    if (next >= bytes.length) return -1;
    if (bytes[next] === LF || bytes[next] === CR) return lineEnd(bytes, next);
    position = breaks.next(next);
  }
  return -1;
}

/** Line break finder for ascending positions. Caches the next break of each kind, so that no byte is searched twice. */
class BreakFinder {
  readonly #bytes: Buffer;
  #lineFeed = -1;
  #carriageReturn = -1;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  next(from: number): number {
    if (this.#lineFeed < from) this.#lineFeed = this.#find(LF, from);
    if (this.#carriageReturn < from) this.#carriageReturn = this.#find(CR, from);
    return Math.min(this.#lineFeed, this.#carriageReturn);
  }

  #find(byte: number, from: number): number {
    const found = this.#bytes.indexOf(byte, from);
    return found < 0 ? this.#bytes.length : found;
  }
}

function lineEnd(bytes: Buffer, at: number): number {
  return bytes[at] === CR && bytes[at + 1] === LF ? at + 2 : at + 1;
}

/** The event in a frame; undefined for a frame with only comments. */
export function parseFrame(frame: Buffer): SseEvent | undefined {
  let text = frame.toString('utf8');
  if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
  if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n');
  let event: string | undefined;
  let data: string | undefined;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found < 0 ? text.length : found;
    if (text.startsWith('data:', start)) {
      const value = text.slice(text.charCodeAt(start + 5) === SPACE ? start + 6 : start + 5, end);
      data = data === undefined ? value : `${data}\n${value}`;
    } else if (text.startsWith('event:', start)) event = text.slice(start + 6, end).trim();
    start = end + 1;
  }
  return data === undefined ? undefined : { event, data };
}

/** All events of a complete stream, for tests. */
export function parseEvents(bytes: Buffer): SseEvent[] {
  const framer = createFramer();
  return [...framer.push(bytes), ...framer.end()].map(parseFrame).filter((event) => event !== undefined);
}
