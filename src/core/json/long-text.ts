/**
 * Long texts of parsed JSON, decoded when they are first read. A request that is passed on has no reader for a document of some
 * megabytes, and V8 would have to collect its text.
 */

import { MAX_ID_CHARACTERS } from '../lengths.ts';

/** Bytes from which a text is long: with as many, it has more characters than any text whose length is limited. */
const LONG_BYTES = 4 * (MAX_ID_CHARACTERS + 1);
const BACKSLASH = 92;
const DATA_URL = Buffer.from('data:');
const BASE64 = ';base64,';
const MAX_DATA_URL_HEAD_BYTES = 512;

/** Hidden member of an object: its long texts by the names of their members. */
const LONG_TEXTS = Symbol('long texts');

interface Holder {
  [LONG_TEXTS]?: Map<string, LongText>;
}

/** Stands in for all long texts that are read while it is set. */
let standIn: ((text: LongText) => string) | undefined;

/** Whether the bytes between the quotes of a string may be a `LongText`. A data URL is checked as a whole, unless it is base64. */
export function mayBeLongText(bytes: Buffer): boolean {
  if (bytes.length < LONG_BYTES || bytes.includes(BACKSLASH)) return false;
  if (!bytes.subarray(0, DATA_URL.length).equals(DATA_URL)) return true;
  return bytes.subarray(0, MAX_DATA_URL_HEAD_BYTES).includes(BASE64);
}

export class LongText {
  /** As they stand in JSON. */
  readonly bytes: Buffer;
  #text: string | undefined;

  /** `bytes` are valid UTF-8 without control characters, for which `mayBeLongText` holds. */
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get text(): string {
    this.#text ??= this.bytes.toString();
    return this.#text;
  }

  /** More characters of its start than any length is limited to, and maybe a part of another one. */
  get start(): string {
    return this.bytes.toString('utf8', 0, LONG_BYTES);
  }

  /** Adds a member, which can be set and deleted as any other. */
  addTo(object: Holder, name: string): void {
    const accessor = accessorOf(name);
    if (!accessor) {
      define(object, name, this.text);
      return;
    }
    const texts = object[LONG_TEXTS];
    if (texts) texts.set(name, this);
    else Object.defineProperty(object, LONG_TEXTS, { value: new Map([[name, this]]) });
    Object.defineProperty(object, name, accessor);
  }
}

/** The text of a member that was not decoded yet. */
export function longTextAt(object: Holder, name: string): LongText | undefined {
  const text = object[LONG_TEXTS]?.get(name);
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

/** Accessors by the names of members: the engine keeps an accessor with the hidden class of an object, so they are shared. */
const accessors = new Map<string, PropertyDescriptor>();
const MAX_ACCESSORS = 100;

/** Undefined for one name too many. */
function accessorOf(name: string): PropertyDescriptor | undefined {
  const known = accessors.get(name);
  if (known || accessors.size === MAX_ACCESSORS) return known;
  const accessor: PropertyDescriptor & ThisType<Holder> = {
    get() {
      const text = this[LONG_TEXTS]?.get(name);
      if (!text || standIn) return text && standIn?.(text);
      define(this, name, text.text);
      return text.text;
    },
    set(value) {
      define(this, name, value);
    },
    enumerable: true,
    configurable: true,
  };
  accessors.set(name, accessor);
  return accessor;
}

function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
