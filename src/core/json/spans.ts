/** Members at paths in JSON text, repeated ones included, and their replacement. */

import { GatewayError } from '../errors.ts';
import { type Span, skipSpace, stringEnd, valueEnd, visitMembers } from './json.ts';
import { unescaped } from './names.ts';
import type { NameWatch } from './scan.ts';

const OPEN_BRACE = 123;
const BACKSLASH = 92;

/** The spans of all members at a path; a name may be repeated, and readers differ in which one they use. */
export function everySpanAt(bytes: Buffer, paths: readonly (readonly string[])[]): Span[] {
  const found: Span[] = [];
  if (bytes[skipSpace(bytes, 0)] !== OPEN_BRACE) return found;
  visitMembers(bytes, (name, start, end) => {
    if (!paths.some(([first]) => first === name)) return;
    const rests = paths.filter(([first]) => first === name).map(([, ...rest]) => rest);
    if (rests.some((rest) => rest.length === 0)) found.push({ start, end });
    else
      for (const inner of everySpanAt(bytes.subarray(start, end), rests))
        found.push({ start: start + inner.start, end: start + inner.end });
  });
  return found;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;

/**
 * The span of the first member at one of the paths in a text without escaped names. Reads no further than its end, and
 * no byte twice.
 */
export function firstSpanAt(bytes: Buffer, paths: readonly (readonly string[])[], from = 0): Span | undefined {
  let position = skipSpace(bytes, from);
  if (bytes[position] !== OPEN_BRACE) return undefined;
  do {
    const keyStart = skipSpace(bytes, position + 1);
    if (bytes[keyStart] !== QUOTE) return undefined;
    const keyEnd = stringEnd(bytes, keyStart);
    const colon = skipSpace(bytes, keyEnd);
    if (bytes[colon] !== COLON) return undefined;
    const start = skipSpace(bytes, colon + 1);
    const name = bytes.toString('utf8', keyStart + 1, keyEnd - 1);
    if (paths.some(([first]) => first === name)) {
      const rests = paths.filter(([first]) => first === name).map(([, ...rest]) => rest);
      if (rests.some((rest) => rest.length === 0)) return { start, end: valueEnd(bytes, start) };
      const inner = firstSpanAt(bytes, rests, start);
      if (inner) return inner;
    }
    position = skipSpace(bytes, valueEnd(bytes, start));
  } while (bytes[position] === COMMA);
  return undefined;
}

/** Members at sought paths that a text may have: each costs memory and time, and no server repeats one more than by mistake. */
const MAX_FOUND_MEMBERS = 1000;
/** Length of a letter that is written as an escape. */
const ESCAPED_LETTER_BYTES = 6;

/** Members that a watch looks for. */
export class SoughtMembers {
  /** Names that are looked for in every object. */
  readonly names: readonly string[];
  readonly root: readonly Place[];
  /** Maximum length in bytes of a sought name with all letters escaped. */
  readonly maxNameBytes: number;

  constructor(paths: readonly (readonly string[])[], names: readonly string[] = []) {
    this.names = names;
    this.root = placesOf(paths);
    this.maxNameBytes = ESCAPED_LETTER_BYTES * Math.max(0, ...[...names, ...paths.flat()].map(({ length }) => length));
  }
}

/** A name on paths, in the object that they have led to. */
interface Place {
  name: string;
  /** The path that ends here. */
  path: readonly string[] | undefined;
  inside: readonly Place[];
}

const NO_PLACES: readonly Place[] = [];

function placesOf(paths: readonly (readonly string[])[], depth = 0): readonly Place[] {
  const names = [...new Set(paths.map((path) => path[depth]))].filter((name) => name !== undefined);
  return names.map((name) => {
    const through = paths.filter((path) => path[depth] === name);
    const path = through.find(({ length }) => length === depth + 1);
    return { name, path, inside: placesOf(through, depth + 1) };
  });
}

/**
 * Notes members while an upstream's text is scanned, so that nothing is searched for afterwards. Throws `upstream_error` for too
 * many at the sought paths.
 */
export class MemberWatch implements NameWatch {
  readonly #sought: SoughtMembers;
  /** Places in each open object or list, outermost first. */
  readonly #places: (readonly Place[])[] = [];
  /** Places inside of the next value. */
  #inside: readonly Place[];
  readonly #found: { path: readonly string[]; start: number }[] = [];
  #depth = 0;
  /** Whether an object has one of the sought names. */
  hasName = false;

  constructor(sought: SoughtMembers) {
    this.#sought = sought;
    this.#inside = sought.root;
  }

  open(isList: boolean): void {
    this.#places[this.#depth++] = isList ? NO_PLACES : this.#inside;
    this.#inside = NO_PLACES;
  }

  name(bytes: Buffer, start: number, end: number, colon: number): void {
    this.#inside = NO_PLACES;
    if (end - start > this.#sought.maxNameBytes) return;
    const plain = unescapedBetween(bytes, start, end);
    const isNamed = (name: string) => (plain === undefined ? isBetween(bytes, start, end, name) : plain === name);
    for (const { name, path, inside } of this.#places[this.#depth - 1] ?? NO_PLACES) {
      if (!isNamed(name)) continue;
      this.#inside = inside;
      if (path) this.#find(path, skipSpace(bytes, colon + 1));
    }
    for (const name of this.#sought.names) if (isNamed(name)) this.hasName = true;
  }

  close(): void {
    if (this.#depth > 0) this.#depth--;
  }

  /** The spans of all members at the paths, some of those sought, in the text that was scanned. */
  spansAt(bytes: Buffer, paths: readonly (readonly string[])[]): Span[] {
    const found = this.#found.filter(({ path }) => paths.includes(path));
    return found.map(({ start }) => ({ start, end: valueEnd(bytes, start) }));
  }

  #find(path: readonly string[], start: number): void {
    if (this.#found.push({ path, start }) <= MAX_FOUND_MEMBERS) return;
    const name = path.join('.');
    throw new GatewayError(
      'upstream_error',
      `The upstream's response has ${name} more than ${MAX_FOUND_MEMBERS} times.`,
    );
  }
}

/** The name between two positions without its escapes; undefined if it has none. */
function unescapedBetween(bytes: Buffer, start: number, end: number): string | undefined {
  for (let index = start; index < end; index++)
    if (bytes[index] === BACKSLASH) return unescaped(bytes.toString('utf8', start, end));
  return undefined;
}

function isBetween(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (end - start !== name.length) return false;
  for (let index = 0; index < name.length; index++) if (bytes[start + index] !== name.charCodeAt(index)) return false;
  return true;
}

/** A range and its replacement. */
export interface Edit extends Span {
  text: Buffer;
}

/** Copy of the bytes with the edits, which do not overlap. */
export function withEdits(bytes: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return bytes;
  let size = bytes.length;
  for (const { start, end, text } of edits) size += text.length - (end - start);
  const edited = Buffer.allocUnsafe(size);
  let from = 0;
  let at = 0;
  for (const { start, end, text } of inOrder(edits)) {
    at += bytes.copy(edited, at, from, start);
    at += text.copy(edited, at);
    from = end;
  }
  bytes.copy(edited, at, from);
  return edited;
}

function inOrder(edits: readonly Edit[]): readonly Edit[] {
  for (let index = 1; index < edits.length; index++) {
    if ((edits[index] as Edit).start < (edits[index - 1] as Edit).start)
      return edits.toSorted((one, other) => one.start - other.start);
  }
  return edits;
}

/** Copy of the bytes with all ranges, in ascending order, replaced by the same text. */
export function spliceAll(bytes: Buffer, spans: readonly Span[], replacement: string): Buffer {
  const text = Buffer.from(replacement);
  return withEdits(
    bytes,
    spans.map(({ start, end }) => ({ start, end, text })),
  );
}
