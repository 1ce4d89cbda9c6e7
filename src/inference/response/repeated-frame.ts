/** Frames that repeat the frame before but for one text, as most of a stream do: their text is found without parsing them. */

import type { Json } from '../../core/json/json.ts';
import { ownCopy } from '../../core/own-bytes.ts';

/** Maximum size of a frame that is remembered, and of one like it: larger ones are read within the limits of events. */
const MAX_FRAME_BYTES = 4096;
/** Frames that are remembered in a row without a repetition, after which a stream has none. */
const MAX_ATTEMPTS = 4;
/** Texts that have the same bytes in JSON as in a frame. */
const PLAIN = /^[ !#-[\]-~]+$/;
/** Quotes and control characters, which no JSON string holds as they are. */
const OUTSIDE = /[^ !#-\uffff]/;
/** Maximum depth of a frame that is remembered, above that of any real one. */
const MAX_DEPTH = 16;
/** Filler of OpenAI's streams, which differs from frame to frame and says nothing. */
const FILLER = '"obfuscation":"';

/** Frame that was decoded to one text, split around that text. */
export class RepeatedFrame {
  /** The frame up to its text, with the opening quote; undefined if none is remembered. */
  #head: Buffer | undefined;
  /** From the closing quote of the text to the end, or to the filler. */
  #tail: Buffer | undefined;
  /** From the closing quote of the filler to the end. */
  #end: Buffer | undefined;
  #attempts = 0;

  /** The text of a repetition, never empty; undefined for another frame. */
  textIn(frame: Buffer): string | undefined {
    const [head, tail] = [this.#head, this.#tail];
    if (!head || !tail || frame.length > MAX_FRAME_BYTES || !startsWith(frame, head, 0)) return undefined;
    const end = this.#end ? this.#endBeforeFiller(frame, head.length, tail, this.#end) : frame.length - tail.length;
    if (end <= head.length || !startsWith(frame, tail, end)) return undefined;
    const text = unquoted(frame, head.length, end);
    if (text !== undefined) this.#attempts = 0;
    return text;
  }

  /** Remembers a frame that was decoded to this text alone, if it holds the text once. `data` is the JSON in the frame. */
  remember(frame: Buffer, data: string, text: string): void {
    this.forget();
    if (this.#attempts >= MAX_ATTEMPTS || frame.length > MAX_FRAME_BYTES || !PLAIN.test(text)) return;
    this.#attempts++;
    const bytes = frame.toString('latin1');
    const start = bytes.indexOf(`"${text}"`) + 1;
    if (start === 0 || bytes.indexOf(`"${text}"`, start) >= 0 || isElsewhere(text, data)) return;
    const end = start + text.length;
    const filler = bytes.indexOf(FILLER, end);
    const fillerStart = filler < 0 ? frame.length : filler + FILLER.length;
    this.#head = ownCopy(frame, 0, start);
    this.#tail = ownCopy(frame, end, fillerStart);
    if (filler >= 0) this.#end = ownCopy(frame, bytes.indexOf('"', fillerStart), frame.length);
  }

  forget(): void {
    this.#head = undefined;
    this.#tail = undefined;
    this.#end = undefined;
  }

  /** The end of the text before a filler; -1 if the rest of the frame is another one. */
  #endBeforeFiller(frame: Buffer, from: number, tail: Buffer, rest: Buffer): number {
    const end = frame.indexOf(tail, from);
    const fillerEnd = frame.length - rest.length;
    if (end < 0 || fillerEnd < end + tail.length || !startsWith(frame, rest, fillerEnd)) return -1;
    const filler = frame.toString('latin1', end + tail.length, fillerEnd);
    return filler === '' || PLAIN.test(filler) ? end : -1;
  }
}

function startsWith(frame: Buffer, part: Buffer, at: number): boolean {
  const end = at + part.length;
  return end <= frame.length && frame.compare(part, 0, part.length, at, end) === 0;
}

/** The text of the inside of a JSON string; undefined if it is not that of one string. */
function unquoted(frame: Buffer, start: number, end: number): string | undefined {
  const bytes = frame.toString('latin1', start, end);
  if (PLAIN.test(bytes)) return bytes;
  const text = frame.toString('utf8', start, end);
  if (!text.includes('\\')) return OUTSIDE.test(text) ? undefined : text;
  try {
    return JSON.parse(`"${text}"`) || undefined;
  } catch {
    return undefined;
  }
}

/** Whether a text may have been read from another place of the JSON than the one string that is it. */
function isElsewhere(text: string, data: string): boolean {
  const at = data.indexOf(`"${text}"`) + 1;
  if (at === 0) return true;
  try {
    // With the text twice in its place. A member of the same name, for one, may come behind it.
    return mayGive(text, JSON.parse(data.slice(0, at) + text + data.slice(at)), MAX_DEPTH);
  } catch {
    return true;
  }
}

/** Whether a value may be read as this text or a part of it, or is too deep. */
function mayGive(text: string, value: Json, depth: number): boolean {
  if (typeof value === 'string') return value !== '' && text.includes(value);
  if (typeof value !== 'object' || value === null) return String(value) === text;
  if (depth === 0) return true;
  let isEmpty = true;
  for (const name in value) {
    if (mayGive(text, value[name], depth - 1)) return true;
    isEmpty = false;
  }
  return isEmpty && JSON.stringify(value) === text;
}
