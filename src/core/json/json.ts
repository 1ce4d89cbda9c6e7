/** JSON as bytes: lossless parsing of numbers, and replacement of single values. */

/** Parsed JSON of unknown shape; only decode functions access its members. */
// biome-ignore lint/suspicious/noExplicitAny: the one place where wire data enters without a type.
export type Json = any;

/** Half-open byte range of a value, strings with their quotes. */
export interface Span {
  start: number;
  end: number;
}

/** A member to set in an object, at a path. */
export interface Member {
  path: readonly string[];
  value: Json;
}

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const COMMA = 44;
const COLON = 58;

/**
 * Parses a body. Numbers that a double cannot represent are kept as raw JSON, so serializing yields the same digits.
 * `hasLongNumber` spares a search for them where a scan has looked already.
 */
export function read(bytes: Buffer | string, hasLongNumber?: boolean): Json {
  const text = typeof bytes === 'string' ? bytes : bytes.toString('utf8');
  return (hasLongNumber ?? LONG_NUMBER.test(text)) ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

/** Whether a value is a JSON object; a raw number is not one. */
export function isObject(value: unknown): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** A number of 16 characters or with an exponent. A number begins after a separator; digits within words are none. */
const LONG_NUMBER = /(?<![^:,[ \t\r\n-])[0-9](?:[0-9.]{15}|[0-9.]*[eE])/;

/** The engine sometimes omits the source text; the parsed number is used then. */
function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === 'number' && context?.source !== undefined ? keepNumber(value, context.source) : value;
}

/** The number, or its source text as raw JSON if the number lost digits. */
export function keepNumber(value: number, source: string): unknown {
  if (sameNumber(value, source)) return value;
  return RAW_JSON.rawJSON(source);
}

/** Standard JavaScript since 2025; missing in the type definitions. */
const RAW_JSON = JSON as unknown as { rawJSON(text: string): unknown; isRawJSON(value: unknown): boolean };

function sameNumber(value: number, source: string): boolean {
  if (String(value) === source) return true;
  return Number.isFinite(value) && !/^-?\d{16,}$/.test(source) && source.replace(/[^0-9]/g, '').length <= 17;
}

/** Whether a value is a number that `read` kept as raw JSON. */
export function isRawNumber(value: unknown): boolean {
  return RAW_JSON.isRawJSON(value);
}

/** True for JSON white space only. */
export function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text);
}

/** The value at `path` through objects, or undefined. */
export function valueAt(value: Json, path: readonly string[]): Json {
  return path.reduce((holder, name) => (isObject(holder) ? holder[name] : undefined), value);
}

/** The value if it is a non-empty string, else undefined. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Parses JSON arguments; undefined if they are not an object. Empty text is the empty object. */
export function parseObject(text: string): Record<string, Json> | undefined {
  return isBlank(text) ? {} : readObject(text);
}

/** The object that a text is; undefined if it is another value, or no JSON. */
export function readObject(text: string): Record<string, Json> | undefined {
  try {
    const value = read(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The members of the top-level object of a well-formed text, in their order. */
function membersOf(bytes: Buffer): (Span & { name: string })[] {
  const members: (Span & { name: string })[] = [];
  visitMembers(bytes, (name, start, end) => members.push({ name, start, end }));
  return members;
}

/** Calls `onMember` for each member of the top-level object of a well-formed text, in their order. */
export function visitMembers(bytes: Buffer, onMember: (name: string, start: number, end: number) => void): void {
  let position = bytes.indexOf(OPEN_BRACE) + 1;
  while (position > 0 && position < bytes.length) {
    const keyStart = bytes.indexOf(QUOTE, position);
    if (keyStart < 0) break;
    const keyEnd = stringEnd(bytes, keyStart);
    const start = skipSpace(bytes, bytes.indexOf(COLON, keyEnd) + 1);
    const end = valueEnd(bytes, start);
    onMember(unquoted(bytes.toString('utf8', keyStart, keyEnd)), start, end);
    position = skipSpace(bytes, end);
    if (bytes[position] !== COMMA) break;
    position++;
  }
}

/** The spans of the named members of the top-level object of a well-formed text; of a repeated name, the last. */
export function spans(bytes: Buffer, names: readonly string[]): Map<string, Span> {
  const selected = [...membersOf(bytes)].filter(({ name }) => names.includes(name));
  return new Map(selected.map(({ name, ...span }) => [name, span]));
}

/** The decoded text of a key; the raw text if its escapes are invalid, which matches no known name. */
function unquoted(text: string): string {
  try {
    return text.includes('\\') ? JSON.parse(text) : text.slice(1, -1);
  } catch {
    return text;
  }
}

/** The span of the member at `path` through objects, or undefined. */
export function spanAt(bytes: Buffer, path: readonly string[]): Span | undefined {
  let offset = 0;
  let span: Span | undefined;
  for (const name of path) {
    const inside: Buffer = span ? bytes.subarray(span.start, span.end) : bytes;
    offset = span?.start ?? 0;
    const found = inside[skipSpace(inside, 0)] === OPEN_BRACE ? spans(inside, [name]).get(name) : undefined;
    if (!found) return undefined;
    span = { start: offset + found.start, end: offset + found.end };
  }
  return span;
}

/** Copy of the bytes with one range replaced. */
export function splice(bytes: Buffer, span: Span, replacement: string): Buffer {
  return Buffer.concat([bytes.subarray(0, span.start), Buffer.from(replacement), bytes.subarray(span.end)]);
}

/** The index of the next byte that is no white space. */
export function skipSpace(bytes: Buffer, from: number): number {
  let position = from;
  while (position < bytes.length && (bytes[position] as number) <= 32) position++;
  return position;
}

/** Bytes of a string scanned one by one before the next quote is searched with `indexOf`. */
const SHORT_STRING_BYTES = 256;

/** The index after the closing quote of the string that opens at `open`; the end of the bytes if it is not closed. */
export function stringEnd(bytes: Buffer, open: number): number {
  let position = open + 1;
  while (position < bytes.length) {
    const limit = Math.min(position + SHORT_STRING_BYTES, bytes.length);
    while (position < limit) {
      const byte = bytes[position];
      if (byte === QUOTE) return position + 1;
      position += byte === BACKSLASH ? 2 : 1;
    }
    const quote = bytes.indexOf(QUOTE, position);
    if (quote < 0) return bytes.length;
    let escapes = quote;
    while (escapes > position && bytes[escapes - 1] === BACKSLASH) escapes--;
    position = quote;
    if ((quote - escapes) % 2 === 0) return quote + 1;
    position++;
  }
  return bytes.length;
}

/** The position, or the one before it where it would split a character; the end of the bytes if it is behind it. */
export function characterEnd(bytes: Buffer, position: number): number {
  if (position >= bytes.length) return bytes.length;
  let end = position;
  while (isContinuation(bytes[end] as number)) end--;
  return end;
}

/** Whether a byte continues a character. */
function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** The end of the value that begins at `start` in a well-formed text. */
export function valueEnd(bytes: Buffer, start: number): number {
  if (bytes[start] === QUOTE) return stringEnd(bytes, start);
  let depth = 0;
  let position = start;
  while (position < bytes.length) {
    const byte = bytes[position] as number;
    if (byte === QUOTE) {
      position = stringEnd(bytes, position);
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 0) return position;
      if (--depth === 0) return position + 1;
    } else if (depth === 0 && (byte === COMMA || byte <= 32)) return position;
    position++;
  }
  return position;
}
