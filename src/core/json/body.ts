/** Reads the body of a client's request and writes an upstream's, without holding up others; what is wrong is said in words. */

import { isUtf8 } from 'node:buffer';
import { setImmediate as breathe } from 'node:timers/promises';
import { GatewayError } from '../errors.ts';
import type { NameWatch } from './json.ts';
import { guard, isObject, type Json, type JsonLimits, REQUEST_LIMITS, read, startWalk, walkUntil } from './json.ts';
import { createNameWatch, type KnownNames } from './names.ts';
import { readInSlices, writeInSlices } from './slices.ts';

/** Up to these sizes parsing at once takes a few milliseconds. */
const SMALL_BYTES = 512 * 1024;
const SMALL_VALUES = 10_000;
/** Bytes after which others get their turn: some five milliseconds where they are names that are all escaped. */
const SLICE_BYTES = 256 * 1024;

export interface ReadOptions {
  limits?: JsonLimits;
  /** What the body's wire format knows; a name that differs only in case is refused. */
  names?: KnownNames;
}

/** Throws `invalid_request`, also for a name that stands twice in one object. */
export async function readBody(bytes: Buffer, { limits, names }: ReadOptions = {}): Promise<Json> {
  if (bytes.length === 0) throw new GatewayError('invalid_request', 'The body is empty; a JSON object is expected.');
  await yieldIfLarge(bytes.length);
  const values = await guardInSlices(bytes, limits, createNameWatch(names));
  const body = await parse(bytes, values);
  if (!isObject(body)) throw new GatewayError('invalid_request', 'The body must be a JSON object.');
  return body;
}

/** What `guard` does, a few milliseconds at a time. */
async function guardInSlices(bytes: Buffer, limits: JsonLimits | undefined, watch: NameWatch): Promise<number> {
  if (bytes.length <= SMALL_BYTES) return guard(bytes, limits, watch);
  if (!isUtf8(bytes)) throw new GatewayError('invalid_request', 'The body is not valid UTF-8.');
  const walk = startWalk(limits ?? REQUEST_LIMITS, watch);
  while (walk.position < bytes.length) {
    walkUntil(bytes, Math.min(walk.position + SLICE_BYTES, bytes.length), walk);
    await breathe();
  }
  return walk.values;
}

/** Bytes after which a body takes more than a moment for each step that walks through it. */
const MOMENT_BYTES = 64 * 1024;

/** Lets others have their turn between two steps that each walk through a body of this size. */
export async function yieldIfLarge(size: number): Promise<void> {
  if (size > MOMENT_BYTES) await breathe();
}

async function parse(bytes: Buffer, values: number): Promise<Json> {
  try {
    if (bytes.length <= SMALL_BYTES && values <= SMALL_VALUES) return read(bytes);
    await breathe();
    return await readInSlices(bytes);
  } catch (cause) {
    const text = String((cause as Error).message);
    const where = /position (\d+)/.exec(text);
    const hint = where ? ` (at position ${where[1]})` : text.includes('end of JSON') ? ' (it ends too early)' : '';
    throw new GatewayError('invalid_request', `The body is not valid JSON${hint}.`, { cause });
  }
}

/** The bytes of a body made from one of `size` bytes. */
export async function writeBody(body: Json, size: number): Promise<Buffer> {
  return size <= SMALL_BYTES ? Buffer.from(JSON.stringify(body)) : writeInSlices(body);
}
