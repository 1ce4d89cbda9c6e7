/** What all answers that are under way may hold in memory. */

import { getHeapStatistics } from 'node:v8';
import { type ByteShare, createByteBudget } from '../../core/byte-budget.ts';
import { GatewayError } from '../../core/errors.ts';

const MEBIBYTE = 1024 * 1024;

/** Of one whole answer; a generated image is some 10 MB. */
const MAX_ANSWER_BYTES = 64 * MEBIBYTE;
/** Of all answers together; less where the process may use little memory. */
const MAX_HELD_BYTES = Math.min(256 * MEBIBYTE, getHeapStatistics().heap_size_limit / 4);
/** Of one stream, whose text a translation keeps for its state and its count; the rest is left to all others. */
export const MAX_STREAM_BYTES = (MAX_HELD_BYTES * 7) / 8;
/** Milliseconds after which other answers may have been delivered. */
const RETRY_AFTER = 1000;

export const answerBudget = createByteBudget(MAX_HELD_BYTES);

/** Throws `upstream_error` for an answer that is too large, and `unavailable` while others fill the budget. */
export function hold(share: ByteShare, bytes: number, most = MAX_ANSWER_BYTES): void {
  if (bytes > most)
    throw new GatewayError('upstream_error', 'The upstream answered with more than the gateway accepts.');
  if (share.resize(bytes)) return;
  const message = 'The answers under way fill the memory that the gateway has for them; try again.';
  throw new GatewayError('unavailable', message, { retryAfter: RETRY_AFTER });
}
