/**
 * Text meter: estimates the text tokens in relayed frames without parsing them, by the character classes of `estimate.ts`. The
 * members that contain text are searched in the bytes of a frame and measured in place.
 */

import type { TextPlaces } from '../../core/text-places.ts';
import { costOf, type RunCost } from '../tokens/estimate.ts';

export interface TextMeter {
  add(frame: Buffer): void;
  tokens(): number;
}

const QUOTE = 34;
const COLON = 58;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const BACKSLASH = 92;
const SPACE = 32;
const LETTER_U = 117;
/** Characters of the one-letter escapes that do not stand for themselves. */
const ESCAPES = new Map([...'bfnrt'].map((letter, index) => [letter.charCodeAt(0), '\b\f\n\r\t'.charCodeAt(index)]));
/** Bytes measured of a longer value; the rest is extrapolated. */
const SAMPLE_BYTES = 64 * 1024;
/** Bytes measured of a frame; the rest is media or an attack. */
const MAX_MEASURED_BYTES = 1024 * 1024;
/** Small frames that are all measured; afterwards one of `FRAME_STEP` is, and extrapolated by size. */
const MEASURED_FRAMES = 64;
const FRAME_STEP = 4;
const SMALL_FRAME_BYTES = 1024;

export function createTextMeter(places: TextPlaces): TextMeter {
  const starts = places.after.map((text) => Buffer.from(text));
  const end = places.before === undefined ? undefined : Buffer.from(places.before);
  const texts = marksOf(places.text);
  const calls = marksOf(places.calls);
  const { several = false } = places;
  let tokens = 0;
  let run: RunCost | undefined;
  /** Index of the member that had text in the previous frame; it is tried first. */
  let likely = 0;
  let frames = 0;
  let skippedBytes = 0;
  /** Totals of the measured small frames. */
  const small = { tokens: 0, bytes: 0 };

  function count(cost: RunCost): void {
    tokens += cost === run ? cost.more : cost.first;
    run = cost;
  }

  /** Measures a JSON string after its opening quote; returns the index after its end. */
  function string(bytes: Buffer, start: number): number {
    const end = Math.min(bytes.length, start + SAMPLE_BYTES);
    const before = tokens;
    let at = start;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) return at + 1;
      if (byte === BACKSLASH) at += escaped(bytes, at);
      else if (byte < 0x80) {
        count(costOf(byte));
        at++;
      } else at += character(bytes, at, byte);
    }
    const close = closingQuote(bytes, at);
    tokens += ((tokens - before) * (close - at)) / Math.max(1, at - start);
    return close + 1;
  }

  /** Returns the length of the escape. */
  function escaped(bytes: Buffer, at: number): number {
    const letter = bytes[at + 1] ?? 0;
    if (letter !== LETTER_U) {
      count(costOf(ESCAPES.get(letter) ?? letter));
      return 2;
    }
    const code = Number.parseInt(bytes.toString('latin1', at + 2, at + 6), 16);
    if (!Number.isNaN(code)) count(costOf(code));
    return 6;
  }

  /** Returns the length of the UTF-8 character; one of four bytes has two UTF-16 units. */
  function character(bytes: Buffer, at: number, lead: number): number {
    const bits = (index: number) => (bytes[at + index] ?? 0) & 0x3f;
    if (lead < 0xe0) count(costOf(((lead & 0x1f) << 6) | bits(1)));
    else if (lead < 0xf0) count(costOf(((lead & 0x0f) << 12) | (bits(1) << 6) | bits(2)));
    else for (let unit = 0; unit < 2; unit++) count(costOf(0xd800));
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  }

  /** Measures the text of a JSON object; returns the index after its end. */
  function object(bytes: Buffer, start: number): number {
    let depth = 0;
    let at = start;
    while (at < bytes.length) {
      const byte = bytes[at] as number;
      at++;
      if (byte > SPACE) count(costOf(byte));
      if (byte === QUOTE) {
        at = string(bytes, at);
        count(costOf(QUOTE));
      } else if (byte === OPEN_BRACE) depth++;
      else if (byte === CLOSE_BRACE && --depth === 0) return at;
    }
    return at;
  }

  /** Returns whether the member has text. */
  function measure(bytes: Buffer, mark: Buffer, all: boolean): boolean {
    const before = tokens;
    let at = bytes.indexOf(mark);
    while (at >= 0) {
      const value = valueAt(bytes, at + mark.length);
      const first = bytes[value];
      if (first === QUOTE) at = string(bytes, value + 1);
      else if (first === OPEN_BRACE) at = object(bytes, value);
      else at += mark.length;
      at = all || value === bytes.length ? bytes.indexOf(mark, at) : -1;
    }
    return tokens > before;
  }

  function measureTexts(bytes: Buffer): boolean {
    if (measure(bytes, texts[likely] as Buffer, several)) return true;
    const found = texts.findIndex((mark, index) => index !== likely && measure(bytes, mark, several));
    if (found >= 0) likely = found;
    return found >= 0;
  }

  function measureFrame(frame: Buffer): void {
    const bytes = partOf(frame, starts, end);
    if (!bytes || (measureTexts(bytes) && !several)) return;
    for (const mark of calls) measure(bytes, mark, true);
  }

  return {
    add(frame) {
      frames++;
      if (frame.length >= SMALL_FRAME_BYTES) measureFrame(frame);
      else if (frames > MEASURED_FRAMES && frames % FRAME_STEP > 0) skippedBytes += frame.length;
      else {
        const before = tokens;
        measureFrame(frame);
        small.tokens += tokens - before;
        small.bytes += frame.length;
      }
    },
    tokens() {
      const skipped = skippedBytes === 0 ? 0 : (skippedBytes * small.tokens) / small.bytes;
      return tokens === 0 ? 0 : Math.max(1, Math.round(tokens + skipped));
    },
  };
}

function marksOf(members: readonly string[]): Buffer[] {
  return members.map((name) => Buffer.from(`"${name}"`));
}

function partOf(frame: Buffer, starts: readonly Buffer[], end: Buffer | undefined): Buffer | undefined {
  for (const start of starts) {
    const from = frame.indexOf(start);
    if (from < 0) continue;
    const to = end ? frame.indexOf(end, from) : -1;
    return frame.subarray(from, Math.min(from + MAX_MEASURED_BYTES, to < 0 ? frame.length : to));
  }
  return undefined;
}

/** The index of the value after a member name; the length of the bytes if the string was not a name. */
function valueAt(bytes: Buffer, nameEnd: number): number {
  let at = nameEnd;
  while ((bytes[at] ?? QUOTE) <= SPACE) at++;
  if (bytes[at] !== COLON) return bytes.length;
  at++;
  while ((bytes[at] ?? QUOTE) <= SPACE) at++;
  return at;
}

function closingQuote(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let slashes = 0;
    while (at - slashes > from && bytes[at - slashes - 1] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return bytes.length;
}
