/** Member search in large JSON text, in slices of a few milliseconds. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type Span, skipSpace, stringEnd } from './json.ts';

const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
/** Bytes between two yields to the event loop. */
const SLICE_BYTES = 1024 * 1024;

/**
 * Same result as `spanAt` for a text without repeated names, but reads no further than needed; in slices, with a promise,
 * if the text is large.
 */
export function findSpan(bytes: Buffer, path: readonly string[]): Span | undefined | Promise<Span | undefined> {
  const search = searchSpan(bytes, path);
  return bytes.length <= SLICE_BYTES ? runAtOnce(search) : runInSlices(search);
}

type Search<Found> = Generator<void, Found, void>;

function runAtOnce<Found>(search: Search<Found>): Found {
  for (;;) {
    const step = search.next();
    if (step.done) return step.value;
  }
}

async function runInSlices<Found>(search: Search<Found>): Promise<Found> {
  for (;;) {
    const step = search.next();
    if (step.done) return step.value;
    await yieldToEventLoop();
  }
}

/** Yields after each slice. */
function* searchSpan(bytes: Buffer, path: readonly string[]): Search<Span | undefined> {
  let span: Span = { start: 0, end: bytes.length };
  for (const name of path) {
    const found = yield* searchMember(bytes, span, name);
    if (!found) return undefined;
    span = found;
  }
  return span;
}

function* searchMember(bytes: Buffer, { start, end }: Span, name: string): Search<Span | undefined> {
  let position = skipSpace(bytes, start);
  if (bytes[position] !== OPEN_BRACE) return undefined;
  while (bytes[position] === OPEN_BRACE || bytes[position] === COMMA) {
    const keyStart = skipSpace(bytes, position + 1);
    if (bytes[keyStart] !== QUOTE) return undefined;
    const keyEnd = stringEnd(bytes, keyStart);
    const valueStart = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const walk: ValueWalk = { position: valueStart, depth: 0 };
    while (!walkValue(bytes, walk, Math.min(walk.position + SLICE_BYTES, end))) {
      if (walk.position >= end) return undefined;
      yield;
    }
    if (isName(bytes.toString('utf8', keyStart, keyEnd), name)) return { start: valueStart, end: walk.position };
    position = skipSpace(bytes, walk.position);
  }
  return undefined;
}

interface ValueWalk {
  position: number;
  depth: number;
}

/** Scans a value up to about `limit`; returns whether its end was reached. */
function walkValue(bytes: Buffer, walk: ValueWalk, limit: number): boolean {
  let { position, depth } = walk;
  let ended = false;
  while (position < limit && !ended) {
    const byte = bytes[position] as number;
    if (byte === QUOTE) {
      position = stringEnd(bytes, position);
      ended = depth === 0;
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 0) {
        ended = true;
        break;
      }
      ended = --depth === 0;
    } else if (depth === 0 && (byte === COMMA || byte <= 32)) {
      ended = true;
      break;
    }
    position++;
  }
  walk.position = position;
  walk.depth = depth;
  return ended;
}

/** Whether a quoted key equals a name; keys with invalid escapes never match. */
function isName(key: string, name: string): boolean {
  try {
    return key.includes('\\') ? JSON.parse(key) === name : key.slice(1, -1) === name;
  } catch {
    return false;
  }
}
