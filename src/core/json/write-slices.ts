/** Sliced JSON serializer: yields to the event loop between slices, so one large value does not delay other requests. */

import { randomUUID } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { isRawNumber, type Json } from './json.ts';
import { hasLongTexts, LongText, withStandIns } from './long-text.ts';

/** Weight of a value that is written at once: about its characters. */
const SLICE_WEIGHT = 256 * 1024;
/** Characters of a string that are written at once. */
const SLICE_CHARACTERS = 256 * 1024;
/** Weight of a value besides its characters. */
const VALUE_WEIGHT = 16;
/** Bytes between two yields to the event loop. */
const PAUSE_BYTES = 256 * 1024;
const QUOTE_BYTES = Buffer.from('"');

/** Whether a value is so large that `writeInSlices` writes it in several slices. */
export function needsSlices(value: Json): boolean {
  return weightOf(value, SLICE_WEIGHT) >= SLICE_WEIGHT;
}

/** The bytes of `JSON.stringify`. Long strings are written in pieces, and deferred texts by their bytes. */
export async function writeInSlices(value: Json): Promise<Buffer> {
  const large: (string | LongText)[] = [];
  const mark = randomUUID();
  const marked = (text: string | LongText) => `${mark}${large.push(text) - 1}`;
  const slices = slicesOf(value, (_key, inner) =>
    typeof inner === 'string' && inner.length > SLICE_CHARACTERS ? marked(inner) : inner,
  );
  const pieces: Buffer[] = [];
  let written = 0;

  async function add(piece: Buffer): Promise<void> {
    pieces.push(piece);
    written += piece.length;
    if (written < PAUSE_BYTES) return;
    written = 0;
    await yieldToEventLoop();
  }

  for (;;) {
    const { value: slice, done } = withStandIns(marked, () => slices.next());
    if (done) return Buffer.concat(pieces);
    const [first = '', ...rest] = slice.split(`"${mark}`);
    await add(Buffer.from(first));
    for (const text of rest) {
      pieces.push(QUOTE_BYTES);
      const part = large[Number.parseInt(text, 10)] ?? '';
      if (part instanceof LongText) pieces.push(part.bytes);
      else for (const piece of piecesOf(part)) await add(Buffer.from(JSON.stringify(piece).slice(1, -1)));
      await add(Buffer.from(text.slice(text.indexOf('"'))));
    }
  }
}

type Replacer = (key: string, value: Json) => Json;

/** Texts that make up the JSON of a value, each of about one slice. */
function* slicesOf(value: Json, replacer: Replacer): Generator<string> {
  const isList = Array.isArray(value);
  const isContainer = isList || (typeof value === 'object' && value !== null && !isRawNumber(value));
  if (!isContainer || weightOf(value, SLICE_WEIGHT) < SLICE_WEIGHT) {
    yield JSON.stringify(value, replacer);
    return;
  }
  let text = isList ? '[' : '{';
  let separator = '';
  let group: Json[] = [];
  let weight = 0;
  const groupText = () => separator + JSON.stringify(group, replacer).slice(1, -1);
  for (const name of Object.keys(value)) {
    const inner = value[name];
    const own = weightOf(inner, SLICE_WEIGHT);
    if (isList && own < SLICE_WEIGHT) {
      group.push(inner);
      weight += own;
      if (weight < SLICE_WEIGHT) continue;
    }
    if (group.length > 0) {
      yield text + groupText();
      [text, separator, group, weight] = ['', ',', [], 0];
    }
    if (isList && own < SLICE_WEIGHT) continue;
    if (inner === undefined) continue;
    yield `${text}${separator}${isList ? '' : `${JSON.stringify(name)}:`}`;
    yield* slicesOf(inner, replacer);
    [text, separator] = ['', ','];
  }
  yield `${text}${group.length > 0 ? groupText() : ''}${isList ? ']' : '}'}`;
}

/** About the characters of a value in JSON, but no more than `most`; long texts that are not decoded weigh that. */
function weightOf(value: Json, most: number): number {
  if (typeof value === 'string') return Math.min(most, value.length + VALUE_WEIGHT);
  if (typeof value !== 'object' || value === null) return VALUE_WEIGHT;
  // Before its members are read, which would decode them.
  if (hasLongTexts(value)) return most;
  let weight = VALUE_WEIGHT;
  for (const name in value) {
    if (weight >= most) return most;
    weight += name.length + weightOf(value[name], most);
  }
  return Math.min(most, weight);
}

/** The text in slices; no character is split. */
function* piecesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + SLICE_CHARACTERS, text.length);
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last <= 0xdbff) end++;
    yield text.slice(start, end);
    start = end;
  }
}
