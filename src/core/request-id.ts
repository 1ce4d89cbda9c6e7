/**
 * Request ids and other time-ordered ids: 32 hexadecimal digits, of which the first 12 are the Unix time in milliseconds and the
 * others random; `req_` stands before those of requests. Ids of later milliseconds sort after earlier ones, so that tables and
 * indexes grow at their end.
 */

import { randomFillSync } from 'node:crypto';
import { systemClock } from './clock.ts';

const PREFIX = 'req_';
const TIME_DIGITS = 12;
const RANDOM_DIGITS = 20;
const MAX_TIME_MS = 2 ** 48 - 1;
/** Random digits drawn at once. */
const POOL_BYTES = 4000;
const REQUEST_ID_PATTERN = /^req_[0-9a-f]{32}$/;

const pool = Buffer.allocUnsafe(POOL_BYTES);
let digits = '';
let used = 0;
/** Digits of the latest millisecond, which many ids share. */
let latest = { ms: -1, time: '' };

/** A new id of a request; `now` is in Unix milliseconds. */
export function newRequestId(now: number = systemClock.now()): string {
  return PREFIX + newTimeOrderedId(now);
}

/** A new id without a prefix. */
export function newTimeOrderedId(now: number): string {
  if (now !== latest.ms) latest = { ms: now, time: timeDigits(now) };
  if (used >= digits.length) {
    digits = randomFillSync(pool).toString('hex');
    used = 0;
  }
  used += RANDOM_DIGITS;
  return latest.time + digits.slice(used - RANDOM_DIGITS, used);
}

function timeDigits(now: number): string {
  const ms = Math.min(MAX_TIME_MS, Math.max(0, Math.floor(now)));
  return ms.toString(16).padStart(TIME_DIGITS, '0');
}

/** Unix milliseconds in a request id; undefined for other ids. Ids of earlier versions are random and yield any time. */
export function timeOfRequestId(id: string): number | undefined {
  return REQUEST_ID_PATTERN.test(id)
    ? Number.parseInt(id.slice(PREFIX.length, PREFIX.length + TIME_DIGITS), 16)
    : undefined;
}
