/** JSON from upstreams: guarded before it is parsed, and parsed in slices where it is large. */

import { setImmediate as breathe } from 'node:timers/promises';
import { GatewayError } from '../errors.ts';
import { countValues, type Json, type JsonLimits, REQUEST_LIMITS, read } from './json.ts';
import { readInSlices } from './slices.ts';

/** Log probabilities of a long answer are some hundred thousand values. */
const ANSWER_LIMITS: JsonLimits = { ...REQUEST_LIMITS, values: 1_000_000, number: 100 };
/** Of what is parsed at once: an event of a stream, an error, the answer of a poll. */
const AT_ONCE_LIMITS: JsonLimits = { ...REQUEST_LIMITS, values: 200_000, number: 100 };
/** Whatever stands in so few bytes, parsing it takes no time to speak of. */
const UNGUARDED_BYTES = 16 * 1024;
/** Up to these sizes parsing at once takes a few milliseconds. */
const AT_ONCE_BYTES = 512 * 1024;
const AT_ONCE_VALUES = 10_000;

/** The value, or a promise of it where parsing takes long. Throws or rejects with `upstream_error`. */
export function readAnswerJson(bytes: Buffer): Json | Promise<Json> {
  const values = bytes.length <= UNGUARDED_BYTES ? 0 : countValues(bytes, ANSWER_LIMITS, refused);
  return bytes.length <= AT_ONCE_BYTES && values <= AT_ONCE_VALUES ? parsed(bytes) : parsedInSlices(bytes);
}

/** The value of what must be parsed at once. Throws `upstream_error`. */
export function readAtOnce(bytes: Buffer): Json {
  guardAnswer(bytes);
  return parsed(bytes);
}

/** Throws `upstream_error` for bytes that would take too long to parse at once. */
export function guardAnswer(bytes: Buffer): void {
  if (bytes.length > UNGUARDED_BYTES) countValues(bytes, AT_ONCE_LIMITS, refused);
}

/** Throws `upstream_error` for the text of an event that would take too long to parse. */
export function guardEvent(data: string): void {
  if (data.length > UNGUARDED_BYTES) guardAnswer(Buffer.from(data));
}

function parsed(bytes: Buffer): Json {
  try {
    return read(bytes);
  } catch (cause) {
    throw notJson(cause);
  }
}

async function parsedInSlices(bytes: Buffer): Promise<Json> {
  await breathe();
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
  return new GatewayError('upstream_error', `The upstream's answer ${excess}.`);
}
