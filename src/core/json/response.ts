/** JSON responses of upstreams: checked against limits before parsing, and parsed in slices if large. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { GatewayError } from '../errors.ts';
import { type Json, read } from './json.ts';
import { type JsonLimits, type NameWatch, REQUEST_LIMITS, scan } from './scan.ts';
import { readInSlices } from './slices.ts';

/** Limits of a whole response. Log probabilities of a long answer have some hundred thousand values. */
const RESPONSE_LIMITS: JsonLimits = { ...REQUEST_LIMITS, values: 1_000_000, number: 100 };
/** Limits of JSON parsed synchronously: an event of a stream, an error, the response to a poll. */
const AT_ONCE_LIMITS: JsonLimits = { ...REQUEST_LIMITS, values: 200_000, number: 100 };
/** Size up to which there are no limits, because parsing takes negligible time. */
const UNGUARDED_BYTES = 16 * 1024;
const NO_LIMITS: JsonLimits = { depth: Infinity, values: Infinity, space: Infinity, number: Infinity };
/** Sizes up to which synchronous parsing takes a few milliseconds. */
const AT_ONCE_BYTES = 512 * 1024;
const AT_ONCE_VALUES = 10_000;

/** Returns the value, or a promise if it is large; `watch` has seen all names then. Throws or rejects with `upstream_error`. */
export function readResponseJson(bytes: Buffer, watch?: NameWatch): Json | Promise<Json> {
  const limits = bytes.length <= UNGUARDED_BYTES ? NO_LIMITS : RESPONSE_LIMITS;
  const { values, hasLongNumber } = scan(bytes, { limits, watch, refuse: refused });
  const isSmall = bytes.length <= AT_ONCE_BYTES && values <= AT_ONCE_VALUES;
  return isSmall ? parsed(bytes, hasLongNumber) : parsedInSlices(bytes);
}

/** Parses synchronously. Throws `upstream_error`. */
export function readAtOnce(bytes: Buffer): Json {
  checkResponseLimits(bytes);
  return parsed(bytes);
}

/** Throws `upstream_error` for bytes that would take too long to parse synchronously. */
export function checkResponseLimits(bytes: Buffer): void {
  if (bytes.length > UNGUARDED_BYTES) scan(bytes, { limits: AT_ONCE_LIMITS, watch: undefined, refuse: refused });
}

/** Throws `upstream_error` for the text of an event that would take too long to parse. */
export function checkEventLimits(data: string): void {
  if (data.length > UNGUARDED_BYTES) checkResponseLimits(Buffer.from(data));
}

function parsed(bytes: Buffer, hasLongNumber?: boolean): Json {
  try {
    return read(bytes, hasLongNumber);
  } catch (cause) {
    throw notJson(cause);
  }
}

async function parsedInSlices(bytes: Buffer): Promise<Json> {
  await yieldToEventLoop();
  try {
    return await readInSlices(bytes);
  } catch (cause) {
    throw notJson(cause);
  }
}

function notJson(cause: unknown): GatewayError {
  return new GatewayError('upstream_error', 'The upstream answered with something that is not JSON.', { cause });
}

function refused(excess: string): GatewayError {
  return new GatewayError('upstream_error', `The upstream's response ${excess}.`);
}
