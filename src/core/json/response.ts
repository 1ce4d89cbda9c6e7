/** JSON responses of upstreams: checked against limits before parsing, and parsed in slices if large. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { GatewayError } from '../errors.ts';
import { type Json, read } from './json.ts';
import { countValues, type JsonLimits, REQUEST_LIMITS } from './scan.ts';
import { readInSlices } from './slices.ts';

/** Limits of a whole response. Log probabilities of a long answer have some hundred thousand values. */
const RESPONSE_LIMITS: JsonLimits = { ...REQUEST_LIMITS, values: 1_000_000, number: 100 };
/** Limits of JSON parsed synchronously: an event of a stream, an error, the response to a poll. */
const AT_ONCE_LIMITS: JsonLimits = { ...REQUEST_LIMITS, values: 200_000, number: 100 };
/** Size up to which the limits are not checked, because parsing takes negligible time. */
const UNGUARDED_BYTES = 16 * 1024;
/** Sizes up to which synchronous parsing takes a few milliseconds. */
const AT_ONCE_BYTES = 512 * 1024;
const AT_ONCE_VALUES = 10_000;

/** Returns the value, or a promise if it is large. Throws or rejects with `upstream_error`. */
export function readResponseJson(bytes: Buffer): Json | Promise<Json> {
  const values = bytes.length <= UNGUARDED_BYTES ? 0 : countValues(bytes, RESPONSE_LIMITS, refused);
  return bytes.length <= AT_ONCE_BYTES && values <= AT_ONCE_VALUES ? parsed(bytes) : parsedInSlices(bytes);
}

/** Parses synchronously. Throws `upstream_error`. */
export function readAtOnce(bytes: Buffer): Json {
  checkResponseLimits(bytes);
  return parsed(bytes);
}

/** Throws `upstream_error` for bytes that would take too long to parse synchronously. */
export function checkResponseLimits(bytes: Buffer): void {
  if (bytes.length > UNGUARDED_BYTES) countValues(bytes, AT_ONCE_LIMITS, refused);
}

/** Throws `upstream_error` for the text of an event that would take too long to parse. */
export function checkEventLimits(data: string): void {
  if (data.length > UNGUARDED_BYTES) checkResponseLimits(Buffer.from(data));
}

function parsed(bytes: Buffer): Json {
  try {
    return read(bytes);
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
