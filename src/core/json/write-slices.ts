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
  const longTexts: (string | LongText)[] = [];
  const mark = randomUUID();
  const marked = (text: string | LongText) => `${mark}${longTexts.push(text) - 1}`;
  const largeValues = new Set<Json>();
  withStandIns(
    () => '',
    () => findLarge(value, largeValues),
  );
  const slices = slicesOf(value, largeValues, (_key, inner) =>
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
      const part = longTexts[Number.parseInt(text, 10)] ?? '';
      if (part instanceof LongText) pieces.push(part.bytes);
      else for (const piece of piecesOf(part)) await add(Buffer.from(JSON.stringify(piece).slice(1, -1)));
      await add(Buffer.from(text.slice(text.indexOf('"'))));
    }
  }
}

type Replacer = (key: string, value: Json) => Json;

/** Texts that make up the JSON of a value, each of about one slice. */
function* slicesOf(value: Json, large: ReadonlySet<Json>, replacer: Replacer): Generator<string> {
  if (!large.has(value)) {
    yield JSON.stringify(value, replacer);
    return;
  }
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  let separator = '';
  let names: string[] = [];
  let weight = 0;

  /** Takes the text before the small members that wait, and these. */
  function take(): string {
    const group = isList
      ? names.map((name) => (value as Json)[name])
      : Object.fromEntries(names.map((name) => [name, value[name]]));
    const taken = names.length === 0 ? text : text + separator + JSON.stringify(group, replacer).slice(1, -1);
    if (names.length > 0) separator = ',';
    text = '';
    names = [];
    weight = 0;
    return taken;
  }

  for (const name of Object.keys(value)) {
    const inner = value[name];
    if (inner === undefined && !isList) continue;
    if (large.has(inner)) {
      text = take() + separator + (isList ? '' : `${JSON.stringify(name)}:`);
      yield take();
      yield* slicesOf(inner, large, replacer);
      separator = ',';
    } else {
      names.push(name);
      weight += weightOf(inner, SLICE_WEIGHT);
      if (weight >= SLICE_WEIGHT) yield take();
    }
  }
  yield take() + (isList ? ']' : '}');
}

/** Weight of a value. Adds all objects and lists in it to `large` that weigh a slice or more, each looked at once. */
function findLarge(value: Json, large: Set<Json>): number {
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return weightOf(value, SLICE_WEIGHT);
  let weight = hasLongTexts(value) ? SLICE_WEIGHT : VALUE_WEIGHT;
  for (const name in value) weight += name.length + findLarge(value[name], large);
  if (weight >= SLICE_WEIGHT) large.add(value);
  return weight;
}

/** About the characters of a value in JSON, but no more than `most`; long texts that are not decoded weigh that. */
export function weightOf(value: Json, most: number): number {
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
    const next = text.charCodeAt(end);
    if (last >= 0xd800 && last <= 0xdbff && next >= 0xdc00 && next <= 0xdfff) end++;
    yield text.slice(start, end);
    start = end;
  }
}
