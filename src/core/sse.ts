/** Server-sent events: bytes in any cut to frames, and frames to text. */

import { createByteCollector } from './byte-collector.ts';
import { GatewayError } from './errors.ts';

export interface SseEvent {
  /** The event's name; absent when no `event:` line was sent. */
  event?: string;
  /** All `data:` lines joined by a line feed. */
  data: string;
}

const LF = 10;
const CR = 13;

/** More than any provider sends in one frame (a generated image is some 10 MB); a longer one is a broken upstream. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** A blank line is at most four bytes long, so three bytes of what came before suffice to find one. */
const OVERLAP = 3;

const EMPTY = Buffer.alloc(0);

/** Splits a byte stream into frames. */
export interface Framer {
  push(chunk: Buffer): Buffer[];
  /** What is left when the stream has ended: a frame without its blank line, or none. */
  end(): Buffer[];
  /** Bytes of the frame that is not complete yet. */
  readonly pending: number;
}

/**
 * Gives the raw bytes of each frame with its blank line. Lines may end in LF, CR or CRLF, and the bytes may be cut
 * anywhere: inside a UTF-8 character and between CR and LF too. Joined, the frames are the bytes.
 */
export function createFramer(): Framer {
  const pending = createByteCollector();
  let tail: Buffer = EMPTY;

  function take(last: Buffer): Buffer {
    if (pending.size === 0) return last;
    pending.add(last);
    return pending.take();
  }

  function push(chunk: Buffer): Buffer[] {
    const frames: Buffer[] = [];
    const bytes = tail.length === 0 ? chunk : Buffer.concat([tail, chunk]);
    const nextBreak = createBreakFinder(bytes);
    let start = tail.length;
    let end = frameEnd(bytes, 0, nextBreak);
    while (end >= 0 && end <= start) end = frameEnd(bytes, end, nextBreak);
    let begin = 0;
    while (end >= 0) {
      frames.push(take(bytes.subarray(start, end)));
      start = end;
      begin = end;
      end = frameEnd(bytes, start, nextBreak);
    }
    if (start < bytes.length) pending.add(bytes.subarray(start));
    tail = pending.size === 0 ? EMPTY : bytes.subarray(Math.max(begin, bytes.length - OVERLAP));
    if (pending.size > MAX_FRAME_BYTES) throw new GatewayError('upstream_error', 'The upstream sent an endless event.');
    return frames;
  }

  return {
    push,
    end() {
      tail = EMPTY;
      return pending.size === 0 ? [] : [take(EMPTY)];
    },
    get pending() {
      return pending.size;
    },
  };
}

/** The index just after the first blank line at or after `from`, or -1. */
function frameEnd(bytes: Buffer, from: number, nextBreak: (from: number) => number): number {
  let position = nextBreak(from);
  while (position < bytes.length) {
    const next = lineEnd(bytes, position);
    if (next >= bytes.length) return -1;
    if (bytes[next] === LF || bytes[next] === CR) return lineEnd(bytes, next);
    position = nextBreak(next);
  }
  return -1;
}

/** Finds line breaks from ever later places on. What was found of each kind is kept, so that no byte is searched twice. */
function createBreakFinder(bytes: Buffer): (from: number) => number {
  let lineFeed = -1;
  let carriageReturn = -1;

  function find(byte: number, from: number): number {
    const found = bytes.indexOf(byte, from);
    return found < 0 ? bytes.length : found;
  }

  return (from) => {
    if (lineFeed < from) lineFeed = find(LF, from);
    if (carriageReturn < from) carriageReturn = find(CR, from);
    return Math.min(lineFeed, carriageReturn);
  };
}

function lineEnd(bytes: Buffer, at: number): number {
  return bytes[at] === CR && bytes[at + 1] === LF ? at + 2 : at + 1;
}

/** The event in a frame, or undefined for a frame of comments only. */
export function parseFrame(frame: Buffer): SseEvent | undefined {
  let text = frame.toString('utf8');
  if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
  let event: string | undefined;
  let data: string | undefined;
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line.startsWith('data:')) {
      const value = line.charCodeAt(5) === 32 ? line.slice(6) : line.slice(5);
      data = data === undefined ? value : `${data}\n${value}`;
    } else if (line.startsWith('event:')) event = line.slice(6).trim();
  }
  return data === undefined ? undefined : { event, data };
}

/** All events of a whole stream, for tests and for upstreams that answer at once. */
export function parseEvents(bytes: Buffer): SseEvent[] {
  const framer = createFramer();
  return [...framer.push(bytes), ...framer.end()].map(parseFrame).filter((event) => event !== undefined);
}
