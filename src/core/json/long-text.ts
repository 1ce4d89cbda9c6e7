/** Long texts of parsed JSON, decoded when they are first read: a request that is passed on has no reader for a document of some megabytes. */

import { MAX_ID_CHARACTERS } from '../lengths.ts';
import { characterEnd } from './json.ts';

/** Strings of so many bytes are long. UTF-8 has at most four bytes a character, so that they exceed all limits of lengths. */
const LONG_BYTES = 4 * (MAX_ID_CHARACTERS + 1);
/** Bytes that are decoded at once: Node puts a string of more than a megabyte outside of the heap, where only a full collection frees it. */
export const PLAIN_PIECE_BYTES = 512 * 1024;
/** Members that may be a `LongText`: those of documents. */
const MEMBER_NAMES = ['content', 'input', 'text'];
const BACKSLASH = 92;

/** For checks of type and length. */
export const ANY_LONG_TEXT = 'x'.repeat(MAX_ID_CHARACTERS + 1);

/** Hidden member of an object: its long texts by the names of their members. A weak map would keep them until a full collection. */
const LONG_TEXTS = Symbol('long texts');

interface Holder {
  [LONG_TEXTS]?: Map<string, LongText>;
}

/** Stands in for all long texts that are read while it is set. */
let standIn: ((text: LongText) => string) | undefined;

/** Whether a member may be a `LongText`; `bytes` are those between the quotes. */
export function mayBeLongText(name: string, bytes: Buffer): boolean {
  return bytes.length >= LONG_BYTES && accessors.has(name) && !bytes.includes(BACKSLASH);
}

/** Text of a string without escapes, whose bytes are valid UTF-8 without control characters. */
export class LongText {
  /** UTF-8 bytes between the quotes of the JSON string. */
  readonly bytes: Buffer;
  #text: string | undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get text(): string {
    this.#text ??= decoded(this.bytes);
    return this.#text;
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
    const end = characterEnd(bytes, start + PLAIN_PIECE_BYTES);
    text += bytes.toString('utf8', start, end);
    start = end;
  }
  return text;
}

/** Whether an object has, or had, members with long texts: most have none, and this is faster than a look at each member. */
export function hasLongTexts(object: Holder): boolean {
  return object[LONG_TEXTS] !== undefined;
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

/** `object` has the member itself. */
function replace(object: Holder, name: string, value: unknown): void {
  object[LONG_TEXTS]?.delete(name);
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
