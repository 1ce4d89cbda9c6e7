/** Request bodies: reads the client's and writes the upstream's in slices, without blocking the event loop. */

import { isUtf8 } from 'node:buffer';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { GatewayError } from '../errors.ts';
import { isObject, type Json, read } from './json.ts';
import { createNameWatch, type KnownNames, NameChecker, type SoughtNames } from './names.ts';
import type { NameWatch } from './scan.ts';
import {
  guard,
  type JsonLimits,
  REQUEST_LIMITS,
  type Scanned,
  startWalk,
  TEXT_VALUES,
  type Walk,
  walkUntil,
} from './scan.ts';
import { readInSlices } from './slices.ts';
import { writeInSlices } from './write-slices.ts';

/** Sizes up to which synchronous parsing takes a few milliseconds. */
const SMALL_BYTES = 512 * 1024;
const SMALL_VALUES = 10_000;
/** Bytes between two yields to the event loop: about five milliseconds for escaped names, the worst case. */
const SLICE_BYTES = 256 * 1024;

export interface ReadOptions {
  limits?: JsonLimits;
  /** Known names of the wire format; a name that differs only in case is refused. */
  names?: KnownNames;
  /** Names whose presence is noted in `facts`. */
  sought?: SoughtNames | undefined;
  /** Facts that the scan of the body finds, set before it is parsed. */
  facts?: BodyFacts;
  /** Whether long texts of a large body are left for their first reader, by the facts. The bytes stay in memory until they are read. */
  defersTexts?(facts: BodyFacts): boolean;
}

export interface BodyFacts {
  /** Bits of the sought names that a member has, at any depth. */
  found: number;
}

/** Checker shared by small bodies, which are scanned one at a time. */
const smallBodyNames = new NameChecker();

/**
 * Reads a small body at once and a large one in slices. Throws and rejects with `invalid_request`, also for a repeated name
 * in one object.
 */
export function readBody(bytes: Buffer, options: ReadOptions = {}): Json | Promise<Json> {
  if (bytes.length === 0) throw new GatewayError('invalid_request', 'The body is empty; a JSON object is expected.');
  if (bytes.length > LARGE_BODY_BYTES) return readLargeBody(bytes, options);
  const { limits, names, sought, facts } = options;
  smallBodyNames.start({ known: names, sought });
  const { values, hasLongNumber } = guard(bytes, limits, smallBodyNames);
  if (facts) facts.found = smallBodyNames.found;
  if (values > SMALL_VALUES) return readLargeBody(bytes, options);
  return checkedBody(parse(bytes, hasLongNumber));
}

async function readLargeBody(bytes: Buffer, options: ReadOptions): Promise<Json> {
  const { limits, names, sought, facts, defersTexts } = options;
  await yieldToEventLoop();
  const watch = createNameWatch(names, sought);
  const { values, hasLongNumber } = await guardInSlices(bytes, limits, watch);
  if (facts) facts.found = watch.found;
  if (bytes.length <= SMALL_BYTES && values <= SMALL_VALUES) return checkedBody(parse(bytes, hasLongNumber));
  await yieldToEventLoop();
  return checkedBody(await readInSlices(bytes, { defersTexts: defersTexts?.(watch) }).catch(refuseSyntax));
}

function checkedBody(body: Json): Json {
  if (!isObject(body)) throw new GatewayError('invalid_request', 'The body must be a JSON object.');
  return body;
}

/** `guard` in slices of a few milliseconds. */
async function guardInSlices(bytes: Buffer, limits: JsonLimits | undefined, watch: NameWatch): Promise<Scanned> {
  if (bytes.length <= SMALL_BYTES) return guard(bytes, limits, watch);
  if (!isUtf8(bytes)) throw new GatewayError('invalid_request', 'The body is not valid UTF-8.');
  const walk = startWalk(limits ?? REQUEST_LIMITS, watch);
  while (walk.position < bytes.length) {
    walkUntil(bytes, Math.min(walk.position + SLICE_BYTES, bytes.length), walk);
    await yieldToEventLoop();
  }
  return walk;
}

/** Size from which each pass over a body takes noticeable time. */
const LARGE_BODY_BYTES = 64 * 1024;

/** Yields to the event loop between two passes over a body of this size; undefined for a small one. */
export function yieldIfLarge(size: number): Promise<void> | undefined {
  return size > LARGE_BODY_BYTES ? yieldToEventLoop() : undefined;
}

function parse(bytes: Buffer, hasLongNumber: boolean): Json {
  try {
    return read(bytes, hasLongNumber);
  } catch (cause) {
    return refuseSyntax(cause);
  }
}

function refuseSyntax(cause: unknown): never {
  const text = String((cause as Error).message);
  const where = /position (\d+)/.exec(text);
  const hint = where ? ` (at position ${where[1]})` : text.includes('end of JSON') ? ' (it ends too early)' : '';
  throw new GatewayError('invalid_request', `The body is not valid JSON${hint}.`, { cause });
}

/** Serializes a body derived from one of `size` bytes, at once if it is small. */
export function writeBody(body: Json, size: number): Buffer | Promise<Buffer> {
  return size <= SMALL_BYTES ? Buffer.from(JSON.stringify(body)) : writeInSlices(body);
}

/** Counts the values of JSON in texts that are read later, all at once. Rejects with the error that `refuse` makes for too many of them. */
export function checkTexts(texts: readonly string[], refuse: Walk['refuse']): Promise<void> | undefined {
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  return characters > TEXT_VALUES ? countInSlices(texts, refuse) : undefined;
}

async function countInSlices(texts: readonly string[], refuse: Walk['refuse']): Promise<void> {
  let left = TEXT_VALUES;
  let scanned = 0;
  for (const text of texts) {
    const bytes = Buffer.from(text);
    const limits = { depth: Infinity, values: left, space: Infinity, number: Infinity };
    const walk = startWalk(limits, undefined, refuse);
    while (walk.position < bytes.length) {
      const start = walk.position;
      walkUntil(bytes, Math.min(start + SLICE_BYTES, bytes.length), walk);
      scanned += walk.position - start;
      if (scanned < SLICE_BYTES) continue;
      scanned = 0;
      await yieldToEventLoop();
    }
    left -= walk.values;
  }
}
