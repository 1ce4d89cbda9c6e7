/** Response budget: memory for all upstream responses in flight. */

import { getHeapStatistics } from 'node:v8';
import { type ByteShare, createByteBudget } from '../../core/byte-budget.ts';
import { GatewayError } from '../../core/errors.ts';

const MEBIBYTE = 1024 * 1024;

/** Maximum size of a whole response; a generated image has about 10 MB. */
const MAX_RESPONSE_BYTES = 64 * MEBIBYTE;
/** Maximum of all responses together, lower if the heap limit is low. */
const MAX_HELD_BYTES = Math.min(256 * MEBIBYTE, getHeapStatistics().heap_size_limit / 4);
/** Maximum of one stream, whose text a translation keeps for provider state and token counts. */
export const MAX_STREAM_BYTES = (MAX_HELD_BYTES * 7) / 8;
/** Suggested delay before a retry while the budget is exhausted. */
const RETRY_AFTER_MS = 1000;

export const responseBudget = createByteBudget(MAX_HELD_BYTES);

/** Sets the share of a response. Throws `upstream_error` if it is too large, and `unavailable` while the budget is exhausted. */
export function resizeShare(share: ByteShare, bytes: number, most = MAX_RESPONSE_BYTES): void {
  if (bytes > most) {
    const limit = Math.floor(most / MEBIBYTE);
    throw new GatewayError('upstream_error', `The upstream's response is larger than ${limit} MiB.`);
  }
  if (share.resize(bytes)) return;
  const message = 'The responses in flight fill the memory that the gateway has for them; try again.';
  throw new GatewayError('unavailable', message, { retryAfter: RETRY_AFTER_MS });
}
