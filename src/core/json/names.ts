/**
 * Member name check: of a repeated name some JSON readers take the first value and some the
 * last, and some ignore case. Repeated names and names in the wrong case are refused, so all readers see the checked value.
 */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { GatewayError } from '../errors.ts';
import type { Json } from './json.ts';
import type { NameWatch } from './scan.ts';

/** The names that a wire format knows in one object. */
export interface KnownNames {
  /** By each accepted spelling. */
  spelled: Map<string, KnownName>;
  /** By the folded form. */
  folded: Map<string, KnownName>;
}

export interface KnownName {
  folded: string;
  spellings: readonly string[];
  /** Names of the objects and lists under the name. */
  inside: KnownNames | undefined;
}

export type Spell = (name: string) => readonly string[];

/** All names that the schemas mention, object by object; `spell` gives the accepted spellings of each. */
export function knownNames(schemas: readonly TSchema[], spell: Spell = (name) => [name]): KnownNames {
  const known = noNames();
  for (const schema of schemas) learn(known, schema, spell);
  return known;
}

/** Schema of an object with members of any type, for names that the schema of a request does not mention. */
export function objectWith(members: readonly string[]): TSchema {
  return Type.Object(Object.fromEntries(members.map((name) => [name, Type.Unknown()])));
}

/** Members of `provider`, the object of a body by which a client directs the routing of its request. */
export const PROVIDER_MEMBERS: readonly string[] = [
  'options',
  'order',
  'only',
  'ignore',
  'models',
  'fallback',
  'allow_fallbacks',
  'sort',
  'routing',
  'type',
];

function noNames(): KnownNames {
  return { spelled: new Map(), folded: new Map() };
}

function learn(known: KnownNames, schema: Json, spell: Spell): void {
  for (const alternative of schema.anyOf ?? []) learn(known, alternative, spell);
  if (schema.items) learn(known, schema.items, spell);
  for (const [name, inner] of Object.entries<Json>(schema.properties ?? {})) {
    const folded = fold(name);
    const entry = known.folded.get(folded) ?? { folded, spellings: [], inside: undefined };
    entry.spellings = [...new Set([...entry.spellings, ...spell(name)])];
    const inside = entry.inside ?? noNames();
    learn(inside, inner, spell);
    if (inside.folded.size > 0) entry.inside = inside;
    known.folded.set(folded, entry);
    for (const spelling of entry.spellings) known.spelled.set(spelling, entry);
  }
}

/**
 * Equal for names that some reader treats as equal: Go folds `ſ` and the Kelvin sign, Java the dotted and the dotless i,
 * and protobuf treats `max_tokens` and `maxTokens` as equal.
 */
export function fold(name: string): string {
  if (PLAIN.test(name)) return name;
  return name
    .toUpperCase()
    .toLowerCase()
    .replace(/_|\u0307/g, '');
}

const PLAIN = /^[a-z0-9]*$/;

function lookUp({ spelled, folded }: KnownNames, name: string): KnownName | undefined {
  return spelled.get(name) ?? folded.get(fold(name));
}

interface Frame {
  isList: boolean;
  known: KnownNames | undefined;
  /** Known names of the next value. */
  inside: KnownNames | undefined;
  /** Names so far; moved to a set after `SMALL_OBJECT_MEMBERS`. */
  few: string[];
  many: Set<string> | undefined;
  /** The latest name. */
  at: string;
}

/** Maximum length of a name that is compared with others; no wire format has a longer one, however it is escaped. */
const MAX_NAME_BYTES = 1024;
/** Length of the names whose texts are kept; those of schemas and wire formats are shorter. */
const MAX_KEPT_BYTES = 40;
/** A power of two. */
const KEPT_TEXTS = 1024;
const FNV_PRIME = 0x01000193;
const BACKSLASH = 92;
const FIRST_NOT_ASCII = 0x80;
/** Members of one object up to which its names are kept in a list. */
const SMALL_OBJECT_MEMBERS = 24;
/** Maximum members of one object: names take a hundred times their length in memory. */
const MAX_MEMBERS = 10_000;

/**
 * Texts of names. A body has few different short names, and the next body has the same: their texts are kept and found by the bytes,
 * which takes a third of the time of decoding them. A name that meets another in its place takes the place.
 */
class NameTexts {
  readonly #kept: string[] = new Array<string>(KEPT_TEXTS).fill('');

  text(bytes: Buffer, start: number, end: number): string {
    if (end - start > MAX_KEPT_BYTES) return unescaped(bytes.toString('utf8', start, end));
    let hash = 0;
    for (let position = start; position < end; position++) {
      const byte = bytes[position] as number;
      if (byte >= FIRST_NOT_ASCII || byte === BACKSLASH) return unescaped(bytes.toString('utf8', start, end));
      hash = Math.imul(hash ^ byte, FNV_PRIME);
    }
    const place = (hash ^ (hash >>> 16)) & (KEPT_TEXTS - 1);
    const kept = this.#kept[place] as string;
    if (isText(kept, bytes, start, end)) return kept;
    const text = bytes.toString('latin1', start, end);
    this.#kept[place] = text;
    return text;
  }
}

const nameTexts = new NameTexts();

function isText(text: string, bytes: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) !== bytes[start + index]) return false;
  return true;
}

export interface WatchedNames {
  /** Names of the wire format at the root. */
  known?: KnownNames | undefined;
  /** Names whose presence anywhere in the text is noted, with a bit of `found` for each kind of them. */
  sought?: SoughtNames | undefined;
}

export type SoughtNames = ReadonlyMap<string, number>;

export function createNameWatch(known: KnownNames | undefined, sought?: SoughtNames): NameChecker {
  const checker = new NameChecker();
  checker.start({ known, sought });
  return checker;
}

/** Can be used again for another text, so that a small body needs no frames of its own. */
export class NameChecker implements NameWatch {
  readonly #frames: Frame[] = [];
  #depth = 0;
  #known: KnownNames | undefined;
  #sought: SoughtNames | undefined;
  /** Bits of the sought names that were there. */
  found = 0;

  start({ known, sought }: WatchedNames): void {
    this.#known = known;
    this.#sought = sought;
    this.#depth = 0;
    this.found = 0;
  }

  open(isList: boolean): void {
    const known = this.#depth === 0 ? this.#known : this.#frames[this.#depth - 1]?.inside;
    let frame = this.#frames[this.#depth];
    if (!frame) {
      frame = emptyFrame();
      this.#frames.push(frame);
    }
    this.#depth++;
    frame.isList = isList;
    frame.known = isList ? undefined : known;
    frame.inside = isList ? known : undefined;
    frame.few.length = 0;
    frame.many = undefined;
    frame.at = '';
  }

  name(bytes: Buffer, start: number, end: number): void {
    const frame = this.#frames[this.#depth - 1];
    if (this.#depth === 0 || !frame || frame.isList) return;
    if (end - start > MAX_NAME_BYTES) {
      frame.inside = undefined;
      return;
    }
    const name = nameTexts.text(bytes, start, end);
    frame.at = name;
    if (this.#sought) this.found |= this.#sought.get(name) ?? 0;
    const entry = frame.known && lookUp(frame.known, name);
    frame.inside = entry?.inside;
    if (entry && !entry.spellings.includes(name)) this.#refuse(name, `must be written ${entry.spellings.join(' or ')}`);
    if (this.#isRepeated(frame, frame.known ? (entry?.folded ?? fold(name)) : name))
      this.#refuse(name, 'is given twice; give it once');
  }

  close(): void {
    if (this.#depth === 0) return;
    this.#depth--;
    const frame = this.#frames[this.#depth];
    if (frame) frame.many = undefined;
  }

  #isRepeated(frame: Frame, key: string): boolean {
    if (frame.many ? frame.many.has(key) : frame.few.includes(key)) return true;
    if (frame.many) {
      frame.many.add(key);
      if (frame.many.size > MAX_MEMBERS) this.#refuseMembers();
    } else if (frame.few.push(key) > SMALL_OBJECT_MEMBERS) frame.many = new Set(frame.few);
    return false;
  }

  #refuseMembers(): never {
    const path = this.#holders();
    const where = path === '' ? '' : `: ${path}`;
    const message = `The body has an object with more than ${MAX_MEMBERS} members${where}.`;
    throw new GatewayError('invalid_request', message, path === '' ? {} : { param: path });
  }

  /** The path of the object that is open. */
  #holders(): string {
    const steps = this.#frames
      .slice(0, this.#depth - 1)
      .map(({ isList, at }) => (isList ? '[]' : `.${at.slice(0, SHOWN_CHARACTERS)}`));
    return steps.join('').slice(1);
  }

  #refuse(name: string, problem: string): never {
    const shown = name.slice(0, SHOWN_CHARACTERS);
    const path = this.#depth > 1 ? `${this.#holders()}.${shown}` : shown;
    throw new GatewayError('invalid_request', `${path} ${problem}.`, { param: path });
  }
}

const SHOWN_CHARACTERS = 100;

function emptyFrame(): Frame {
  return { isList: false, known: undefined, inside: undefined, few: [], many: undefined, at: '' };
}

/** A name without its escapes; the raw text if these are invalid, and the text is not JSON then. */
export function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    return text;
  }
}

/** Checks the names of a parsed value. Throws `invalid_request`, with `path` as the prefix of the name. */
export function checkNames(value: Json, known: KnownNames | undefined, path: string): void {
  if (!known || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) checkNames(item, known, path);
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    const entry = lookUp(known, name);
    if (!entry) continue;
    const shown = name.slice(0, SHOWN_CHARACTERS);
    const param = path === '' ? shown : `${path}.${shown}`;
    if (!entry.spellings.includes(name)) {
      throw new GatewayError('invalid_request', `${param} must be written ${entry.spellings.join(' or ')}.`, { param });
    }
    checkNames(inner, entry.inside, param);
  }
}
