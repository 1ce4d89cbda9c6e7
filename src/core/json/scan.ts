/** Scan of JSON text as bytes: counts and limits, without parsing it. */

import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors.ts';
import { type Json, read, type Span, stringEnd } from './json.ts';

/** Observer of the objects in a text. Calls are nested like the text. */
export interface NameWatch {
  /** Called at an opening bracket; `isList` tells `[` from `{`. */
  open(isList: boolean): void;
  /** The name is between its quotes, with escapes, from `start` to before `end`; `colon` follows it. May throw `invalid_request`. */
  name(bytes: Buffer, start: number, end: number, colon: number): void;
  close(): void;
}

export interface JsonLimits {
  depth: number;
  /** Commas and opening brackets: a bound on the number of values. */
  values: number;
  /** Bytes of white space between values. */
  space: number;
  /** Bytes of a number. */
  number: number;
}

export const REQUEST_LIMITS: JsonLimits = { depth: 100, values: 100_000, space: 4 * 1024 * 1024, number: 1000 };

/** Values that JSON in the texts of one request may have together, where these are read. */
export const TEXT_VALUES = 200_000;

const QUOTE = 34;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const COMMA = 44;
const SPACE = 32;
const COLON = 58;
const LOWER_CASE = 32;
const LOWER_E = 101;
/** Digits, with sign and point, that a double always represents. */
const EXACT_DIGITS = 15;

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57;
}

/** A resumable scan of a text: its position, state and limits. */
export interface Walk {
  readonly limits: JsonLimits;
  readonly watch: NameWatch | undefined;
  /** Creates the error for an exceeded limit. */
  refuse(excess: string): GatewayError;
  position: number;
  depth: number;
  /** Number of values so far. */
  values: number;
  /** Whether a number had so many digits, or an exponent, that a double may not represent it. */
  hasLongNumber: boolean;
  space: number;
  /** Index of the last byte that is not part of a number. */
  mark: number;
  /** The content of the last string. */
  text: Span;
}

/** Scan of a client's body, whose names `watch` observes. */
export function startWalk(limits: JsonLimits, watch?: NameWatch, refuse: Walk['refuse'] = tooMuch): Walk {
  return {
    limits,
    watch,
    refuse,
    position: 0,
    depth: 0,
    values: 0,
    hasLongNumber: false,
    space: 0,
    mark: 0,
    text: { start: 0, end: 0 },
  };
}

/** Result of a scan. */
export type Scanned = Pick<Walk, 'values' | 'hasLongNumber'>;

/**
 * Counts the values in the bytes. Throws `invalid_request` for bytes that are not UTF-8, nest too deeply, hold too many or
 * too long numbers, and for names that `watch` refuses.
 */
export function guard(bytes: Buffer, limits: JsonLimits = REQUEST_LIMITS, watch?: NameWatch): Scanned {
  if (!isUtf8(bytes)) throw new GatewayError('invalid_request', 'The body is not valid UTF-8.');
  const walk = startWalk(limits, watch);
  walkUntil(bytes, bytes.length, walk);
  return walk;
}

/** Scan of an upstream's bytes. Throws the error that `refuse` creates for an exceeded limit. */
export function scan(bytes: Buffer, { limits, watch, refuse }: Pick<Walk, 'limits' | 'watch' | 'refuse'>): Scanned {
  const walk = startWalk(limits, watch, refuse);
  walkUntil(bytes, bytes.length, walk);
  return walk;
}

/** Advances a scan to the byte `end`, or to the end of the string there. The bytes must be UTF-8. */
export function walkUntil(bytes: Buffer, end: number, walk: Walk): void {
  const { limits, watch, refuse } = walk;
  let { position, depth, values, hasLongNumber, space, mark } = walk;
  let { start: textStart, end: textEnd } = walk.text;
  for (; position < end; position++) {
    const byte = bytes[position] as number;
    if (byte > COMMA && byte < COLON) {
      if (position - mark > limits.number) throw refuse(`holds a number of more than ${limits.number} digits`);
      continue;
    }
    if (position - mark > EXACT_DIGITS) hasLongNumber = true;
    mark = position;
    if (byte === QUOTE) {
      textStart = position + 1;
      mark = position = textEnd = stringEnd(bytes, position) - 1;
    } else if (byte === COLON) {
      watch?.name(bytes, textStart, textEnd, position);
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      values++;
      if (++depth > limits.depth) throw refuse(`nests deeper than ${limits.depth} levels`);
      watch?.open(byte === OPEN_BRACKET);
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--;
      watch?.close();
    } else if (byte === COMMA) values++;
    else if (byte <= SPACE) space++;
    else if ((byte | LOWER_CASE) === LOWER_E && isDigit(bytes[position - 1])) hasLongNumber = true;
    if (values > limits.values) throw refuse(`holds more than ${limits.values} values`);
    if (space > limits.space) throw refuse(`holds more than ${limits.space} bytes of white space`);
  }
  walk.position = position;
  walk.depth = depth;
  walk.values = values;
  walk.hasLongNumber = hasLongNumber;
  walk.space = space;
  walk.mark = mark;
  walk.text = { start: textStart, end: textEnd };
}

function tooMuch(what: string): GatewayError {
  return new GatewayError('invalid_request', `The body ${what}.`);
}

/** Values that are left to the texts of one request. */
export interface TextBudget {
  values: number;
}

/** Length up to which a text takes negligible time to read, also one of many. */
const UNCOUNTED_CHARACTERS = 256;
/** Length up to which a text cannot nest so deeply that it cannot be written again. */
const SHALLOW_CHARACTERS = 4096;

/**
 * Reads JSON in a text; undefined for another text, for a long one that nests too deeply, and for one with more values than are left
 * in the budget. Without a budget only long texts have a limit, each its own.
 */
export function readText(text: string, budget?: TextBudget): Json {
  try {
    if (text.length > (budget ? UNCOUNTED_CHARACTERS : SHALLOW_CHARACTERS))
      take(text, budget ?? { values: TEXT_VALUES });
    return read(text);
  } catch {
    return undefined;
  }
}

function take(text: string, budget: TextBudget): void {
  const limits = { ...REQUEST_LIMITS, values: budget.values };
  // Later texts are not counted in vain.
  budget.values = 0;
  const { values } = scan(Buffer.from(text), { limits, watch: undefined, refuse: tooMuch });
  budget.values = limits.values - values;
}
