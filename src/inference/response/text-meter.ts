/**
 * Text meter: estimates the text tokens in relayed frames without parsing them, by the classes of `character-classes.ts`. The
 * members that contain text are searched in the bytes of a frame and measured in place.
 */

import type { TextPlaces } from '../../core/text-places.ts';
import { classOf, expectedTokens, leastTokens, NO_CLASS, pairOf } from '../tokens/character-classes.ts';

export interface TextMeter {
  add(frame: Buffer): void;
  /** Estimated tokens in the text of all frames so far. */
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

/** Marks in bytes, shared by all streams of an operation. */
interface Marks {
  starts: readonly Buffer[];
  end?: Buffer;
  texts: readonly Buffer[];
  calls: readonly Buffer[];
}

const knownMarks = new WeakMap<TextPlaces, Marks>();

export function createTextMeter(places: TextPlaces): TextMeter {
  let marks = knownMarks.get(places);
  if (!marks) {
    marks = {
      starts: places.after.map((text) => Buffer.from(text)),
      end: places.before === undefined ? undefined : Buffer.from(places.before),
      texts: marksOf(places.text),
      calls: marksOf(places.calls),
    };
    knownMarks.set(places, marks);
  }
  return new FrameMeter(marks, places.several ?? false);
}

class FrameMeter implements TextMeter {
  readonly #marks: Marks;
  readonly #several: boolean;
  /** Sums of `character-classes.ts`. */
  #expected = 0;
  #least = 0;
  /** Class of the last character. */
  #before = NO_CLASS;
  /** Index of the member that had text in the previous frame; it is tried first. */
  #likely = 0;
  #frames = 0;
  #skippedBytes = 0;
  /** Totals of the measured small frames. */
  #smallExpected = 0;
  #smallLeast = 0;
  #smallBytes = 0;

  constructor(marks: Marks, several: boolean) {
    this.#marks = marks;
    this.#several = several;
  }

  add(frame: Buffer): void {
    this.#frames++;
    if (frame.length >= SMALL_FRAME_BYTES) this.#frame(frame);
    else if (this.#frames > MEASURED_FRAMES && this.#frames % FRAME_STEP > 0) this.#skippedBytes += frame.length;
    else {
      const [expected, least] = [this.#expected, this.#least];
      this.#frame(frame);
      this.#smallExpected += this.#expected - expected;
      this.#smallLeast += this.#least - least;
      this.#smallBytes += frame.length;
    }
  }

  tokens(): number {
    if (this.#expected === 0) return 0;
    const skipped = this.#skippedBytes === 0 ? 0 : this.#skippedBytes / this.#smallBytes;
    const expected = this.#expected + skipped * this.#smallExpected;
    const least = this.#least + skipped * this.#smallLeast;
    return Math.max(1, Math.round(Math.max(expected, least)));
  }

  #frame(frame: Buffer): void {
    const { starts, end, calls } = this.#marks;
    const bytes = partOf(frame, starts, end);
    if (!bytes || (this.#texts(bytes) && !this.#several)) return;
    for (const mark of calls) this.#measure(bytes, mark, true);
  }

  #texts(bytes: Buffer): boolean {
    const { texts } = this.#marks;
    if (this.#measure(bytes, texts[this.#likely] as Buffer, this.#several)) return true;
    for (let index = 0; index < texts.length; index++) {
      if (index === this.#likely || !this.#measure(bytes, texts[index] as Buffer, this.#several)) continue;
      this.#likely = index;
      return true;
    }
    return false;
  }

  /** Returns whether the member has text. */
  #measure(bytes: Buffer, mark: Buffer, all: boolean): boolean {
    const before = this.#expected;
    let at = bytes.indexOf(mark);
    while (at >= 0) {
      const value = valueAt(bytes, at + mark.length);
      const first = bytes[value];
      if (first === QUOTE) at = this.#string(bytes, value + 1);
      else if (first === OPEN_BRACE) at = this.#object(bytes, value);
      else at += mark.length;
      at = all || value === bytes.length ? bytes.indexOf(mark, at) : -1;
    }
    return this.#expected > before;
  }

  /** Measures the text of a JSON object; returns the index after its end. */
  #object(bytes: Buffer, start: number): number {
    let depth = 0;
    let at = start;
    while (at < bytes.length) {
      const byte = bytes[at] as number;
      at++;
      if (byte > SPACE) this.#count(classOf(byte));
      if (byte === QUOTE) {
        at = this.#string(bytes, at);
        this.#count(classOf(QUOTE));
      } else if (byte === OPEN_BRACE) depth++;
      else if (byte === CLOSE_BRACE && --depth === 0) return at;
    }
    return at;
  }

  /** Measures a JSON string after its opening quote; returns the index after its end. */
  #string(bytes: Buffer, start: number): number {
    const end = Math.min(bytes.length, start + SAMPLE_BYTES);
    const [expected, least] = [this.#expected, this.#least];
    let at = start;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) return at + 1;
      if (byte === BACKSLASH) at += this.#escaped(bytes, at);
      else if (byte < 0x80) {
        this.#count(classOf(byte));
        at++;
      } else at += this.#character(bytes, at, byte);
    }
    const close = closingQuote(bytes, at);
    const rest = (close - at) / Math.max(1, at - start);
    this.#expected += (this.#expected - expected) * rest;
    this.#least += (this.#least - least) * rest;
    return close + 1;
  }

  /** Returns the length of the escape. */
  #escaped(bytes: Buffer, at: number): number {
    const letter = bytes[at + 1] ?? 0;
    if (letter !== LETTER_U) {
      this.#count(classOf(ESCAPES.get(letter) ?? letter));
      return 2;
    }
    const code = Number.parseInt(bytes.toString('latin1', at + 2, at + 6), 16);
    // Neither of digits of another base, nor of a minus.
    if (code >= 0) this.#count(classOf(code));
    return 6;
  }

  /** Returns the length of the UTF-8 character; one of four bytes has two UTF-16 units. */
  #character(bytes: Buffer, at: number, lead: number): number {
    if (lead < 0xe0) {
      this.#count(classOf(((lead & 0x1f) << 6) | lowBits(bytes, at + 1)));
      return 2;
    }
    if (lead < 0xf0) {
      this.#count(classOf(((lead & 0x0f) << 12) | (lowBits(bytes, at + 1) << 6) | lowBits(bytes, at + 2)));
      return 3;
    }
    for (let unit = 0; unit < 2; unit++) this.#count(classOf(0xd800));
    return 4;
  }

  #count(own: number): void {
    const pair = pairOf(this.#before, own);
    this.#expected += expectedTokens(pair);
    this.#least += leastTokens(pair);
    this.#before = own;
  }
}

/** Bits of a continuation byte of UTF-8. */
function lowBits(bytes: Buffer, at: number): number {
  return (bytes[at] ?? 0) & 0x3f;
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
