/**
 * Long texts of parsed JSON, decoded when they are first read: a request that is passed on has no reader for a document or an image
 * of some megabytes.
 */

import { MAX_ID_CHARACTERS, MAX_MEDIA_TYPE_CHARACTERS } from '../lengths.ts';
import { characterEnd } from './json.ts';

/** Bytes from which a text is long: with as many, it has more characters than any text whose length is limited. */
const LONG_BYTES = 4 * (MAX_ID_CHARACTERS + 1);
/** Bytes that are decoded at once: V8 puts a string of more than a megabyte outside of the heap, where only a full collection ends it. */
const PIECE_BYTES = 512 * 1024;

/** Members that may be a `LongText`: those of documents and media. */
const MEMBER_NAMES = ['content', 'data', 'file_data', 'image_url', 'text', 'url'];

const BACKSLASH = 92;
const COMMA = 44;
const DATA_URL = 'data:';
const BASE64 = ';base64';
const MAX_DATA_URL_HEAD_BYTES = DATA_URL.length + MAX_MEDIA_TYPE_CHARACTERS + BASE64.length;

/** For checks of kind and length. */
const ANY_LONG_TEXT = 'x'.repeat(MAX_ID_CHARACTERS + 1);
const ANY_LONG_DATA_URL = `${DATA_URL}${BASE64},${ANY_LONG_TEXT}`;

/** Hidden member of an object: its long texts by the names of their members. A weak map would keep them until a full collection. */
const LONG_TEXTS = Symbol('long texts');

interface Holder {
  [LONG_TEXTS]?: Map<string, LongText>;
}

/** Stands in for all long texts that are read while it is set. */
let standIn: ((text: LongText) => string) | undefined;

/** Whether a member may be a `LongText`; `bytes` are those between the quotes. A data URL with other data than base64 is checked as a whole. */
export function mayBeLongText(name: string, bytes: Buffer): boolean {
  if (bytes.length < LONG_BYTES || !accessors.has(name) || bytes.includes(BACKSLASH)) return false;
  return !isDataUrl(bytes) || endOfHead(bytes).endsWith(BASE64);
}

function isDataUrl(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, DATA_URL.length) === DATA_URL;
}

/** What stands before the data; empty if that is too long. */
function endOfHead(bytes: Buffer): string {
  const comma = bytes.subarray(0, MAX_DATA_URL_HEAD_BYTES + 1).indexOf(COMMA);
  return comma < 0 ? '' : bytes.toString('latin1', DATA_URL.length, comma);
}

/** Text of a string without escapes, whose bytes are valid UTF-8 without control characters. */
export class LongText {
  /** As they stand in JSON. */
  readonly bytes: Buffer;
  #text: string | undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get text(): string {
    this.#text ??= decoded(this.bytes);
    return this.#text;
  }

  /** Another text of its kind, longer than any length is limited to: of no kind, or a data URL. */
  get ofItsKind(): string {
    return isDataUrl(this.bytes) ? ANY_LONG_DATA_URL : ANY_LONG_TEXT;
  }

  /** Adds a member, which can be set and deleted as any other. */
  addTo(object: Holder, name: string): void {
    const texts = object[LONG_TEXTS];
    if (texts) texts.set(name, this);
    else Object.defineProperty(object, LONG_TEXTS, { value: new Map([[name, this]]) });
    Object.defineProperty(object, name, accessors.get(name) as PropertyDescriptor);
  }
}

function decoded(bytes: Buffer): string {
  let text = '';
  for (let start = 0; start < bytes.length; ) {
    const end = characterEnd(bytes, start + PIECE_BYTES);
    text += bytes.toString('utf8', start, end);
    start = end;
  }
  return text;
}

/** The text of a member that was not decoded yet. */
export function longTextAt(object: Holder, name: string): LongText | undefined {
  const text = object[LONG_TEXTS]?.get(name);
  // It may have been deleted.
  return text && Object.getOwnPropertyDescriptor(object, name)?.get ? text : undefined;
}

/** Runs `step`, in which long texts read as `stand` says, and none is decoded. */
export function withStandIns<Result>(stand: (text: LongText) => string, step: () => Result): Result {
  standIn = stand;
  try {
    return step();
  } finally {
    standIn = undefined;
  }
}

/** The engine keeps an accessor with the hidden class of its object until a full collection, so that all objects share them. */
const accessors = new Map(MEMBER_NAMES.map((name) => [name, accessorOf(name)]));

function accessorOf(name: string): PropertyDescriptor & ThisType<Holder> {
  return {
    get() {
      const text = this[LONG_TEXTS]?.get(name);
      if (!text || standIn) return text && standIn?.(text);
      replace(this, name, text.text);
      return text.text;
    },
    set(value) {
      replace(this, name, value);
    },
    enumerable: true,
    configurable: true,
  };
}

function replace(object: Holder, name: string, value: unknown): void {
  object[LONG_TEXTS]?.delete(name);
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
