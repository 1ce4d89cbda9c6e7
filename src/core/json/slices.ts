/** Sliced JSON parser: yields to the event loop between slices, so one large body does not delay other requests. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { hasControlByte } from './control-bytes.ts';
import { characterEnd, type Json, keepNumber, stringEnd } from './json.ts';
import { LongText, mayBeLongText, PLAIN_PIECE_BYTES } from './long-text.ts';

/** Values and bytes between two yields to the event loop: each about ten milliseconds of work. */
const SLICE_VALUES = 20_000;
const PAUSE_BYTES = 256 * 1024;
/** Bytes of one string per slice; one long string is parsed faster than many short ones. */
const SLICE_BYTES = 1024 * 1024;
/** Bytes of a long string that are decoded at once. */
const PIECE_BYTES = 64 * 1024;

/** Most bytes of a body that are deferred: one reader may decode all of them at once, in some ten milliseconds. */
const MAX_DEFERRED_BYTES = 6 * 1024 * 1024;

/** Maximum length of a literal; numbers of upstreams are far shorter. */
const MAX_LITERAL_BYTES = 1024 * 1024;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const LOWER_U = 117;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

type Container = { array: Json[] } | { object: Record<string, Json>; key: string };

export interface SliceOptions {
  /** Leaves long texts of objects for their first reader. The bytes stay in memory until they are read. */
  defersTexts?: boolean | undefined;
}

/** Same result as `read`, with a SyntaxError for the same texts. The bytes must be UTF-8. */
export async function readInSlices(bytes: Buffer, { defersTexts = false }: SliceOptions = {}): Promise<Json> {
  let deferrable = defersTexts ? MAX_DEFERRED_BYTES : 0;
  const stack: Container[] = [];
  let position = 0;
  let values = 0;
  let pause = PAUSE_BYTES;
  /** Whether a key of the innermost container comes next. */
  let needsKey = false;

  function fail(): never {
    throw new SyntaxError(`Unexpected token at position ${position}`);
  }

  function space(): number {
    for (;;) {
      const byte = bytes[position];
      if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) return byte ?? -1;
      position++;
    }
  }

  function take(byte: number): void {
    if (space() !== byte) fail();
    position++;
  }

  /** The literal that starts here: a number, true, false or null. */
  function literal(): Json {
    const start = position;
    const end = Math.min(bytes.length, start + MAX_LITERAL_BYTES);
    while (position < end && isLiteral(bytes[position] as number)) position++;
    const text = bytes.toString('latin1', start, position);
    if (text === '') fail();
    const value = JSON.parse(text);
    return typeof value === 'number' ? keepNumber(value, text) : value;
  }

  /** The string that starts here, or the bytes between the quotes of a long one. */
  function string(): string | Buffer {
    if (space() !== QUOTE) fail();
    const end = stringEnd(bytes, position);
    if (bytes[end - 1] !== QUOTE || end - position < 2) fail();
    const open = position;
    position = end;
    if (end - open <= PIECE_BYTES) return JSON.parse(bytes.toString('utf8', open, end));
    return bytes.subarray(open + 1, end - 1);
  }

  /** Adds a complete value to its container and closes containers; returns the root value at the end. */
  function place(value: Json): { root: Json } | undefined {
    let finished = value;
    for (;;) {
      const container = stack.at(-1);
      if (!container) return { root: finished };
      add(container, finished);
      const next = space();
      position++;
      if (next === COMMA) {
        needsKey = 'object' in container;
        return undefined;
      }
      if (next !== ('array' in container ? CLOSE_BRACKET : CLOSE_BRACE)) fail();
      stack.pop();
      finished = 'array' in container ? container.array : container.object;
    }
  }

  /** Opens the container that starts here, or returns it if it is empty. */
  function open(isArray: boolean): Json | undefined {
    position++;
    if (space() === (isArray ? CLOSE_BRACKET : CLOSE_BRACE)) {
      position++;
      return isArray ? [] : {};
    }
    needsKey = !isArray;
    stack.push(isArray ? { array: [] } : { object: {}, key: '' });
    return undefined;
  }

  // Only pauses are awaited: a promise for each value would cost more than the value.
  for (;;) {
    if (++values % SLICE_VALUES === 0 || position > pause) {
      await yieldToEventLoop();
      pause = position + PAUSE_BYTES;
    }
    if (needsKey) {
      const key = string();
      (stack.at(-1) as { key: string }).key = typeof key === 'string' ? key : await longString(key);
      take(COLON);
      needsKey = false;
    }
    const byte = space();
    let value: Json | undefined;
    if (byte === QUOTE) {
      const text = string();
      const container = stack.at(-1);
      if (typeof text === 'string') value = text;
      else if (text.length <= deferrable && container && 'object' in container && mayBeLongText(container.key, text)) {
        deferrable -= text.length;
        await checkPlain(text);
        value = new LongText(text);
      } else value = await longString(text);
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) value = open(byte === OPEN_BRACKET);
    else value = literal();
    const done = value !== undefined && place(value);
    if (!done) continue;
    if (space() !== -1) fail();
    return done.root;
  }
}

/** The text of a long string: at once if it has no escapes, else from pieces that a cache holds. */
async function longString(content: Buffer): Promise<string> {
  if (content.indexOf(BACKSLASH) < 0) return plainString(content);
  let text = '';
  let pause = SLICE_BYTES;
  for (let start = 0; start < content.length; ) {
    const end = pieceEnd(content, start);
    text += JSON.parse(`"${content.toString('utf8', start, end)}"`);
    start = end;
    if (start < pause) continue;
    pause = start + SLICE_BYTES;
    await yieldToEventLoop();
  }
  return text;
}

async function plainString(content: Buffer): Promise<string> {
  let text = '';
  for (let start = 0; start < content.length; ) {
    const end = characterEnd(content, start + PLAIN_PIECE_BYTES);
    refuseControls(content.subarray(start, end));
    text += content.toString('utf8', start, end);
    start = end;
    await yieldToEventLoop();
  }
  return text;
}

/** Rejects for the bytes of a string without escapes that has a control character. */
async function checkPlain(content: Buffer): Promise<void> {
  for (let start = 0; start < content.length; start += SLICE_BYTES) {
    refuseControls(content.subarray(start, start + SLICE_BYTES));
    await yieldToEventLoop();
  }
}

function refuseControls(piece: Buffer): void {
  if (hasControlByte(piece)) throw new SyntaxError('Bad control character in string literal');
}

function add(container: Container, value: Json): void {
  if ('array' in container) container.array.push(value);
  else if (value instanceof LongText) value.addTo(container.object, container.key);
  else if (container.key === '__proto__') {
    Object.defineProperty(container.object, '__proto__', {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else container.object[container.key] = value;
}

/** Next cut position in a string: after about one piece, never inside an escape or a character. */
function pieceEnd(content: Buffer, start: number): number {
  const cut = characterEnd(content, start + PIECE_BYTES);
  if (cut === content.length) return cut;
  for (let at = cut - 1; at > cut - LONGEST_ESCAPE; at--) {
    if (content[at] !== BACKSLASH) continue;
    let run = at;
    while (run > start && content[run - 1] === BACKSLASH) run--;
    // The last one of an odd number begins an escape; the others are pairs.
    const isEscape = (at - run) % 2 === 0;
    return isEscape && at + (content[at + 1] === LOWER_U ? LONGEST_ESCAPE : 2) > cut ? at : cut;
  }
  return cut;
}

/** Bytes of an escape with four hexadecimal digits. */
const LONGEST_ESCAPE = 6;

/** Letters, digits and the signs of numbers. */
function isLiteral(byte: number): boolean {
  return (
    (byte >= 48 && byte <= 57) ||
    (byte >= 97 && byte <= 122) ||
    byte === 43 ||
    byte === 45 ||
    byte === 46 ||
    byte === 69
  );
}
