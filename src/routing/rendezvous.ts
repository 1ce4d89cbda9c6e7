/**
 * Weighted rendezvous hashing: spreads conversations over endpoints without a table. Every process computes the same order,
 * and when an endpoint drops out, only its own conversations move.
 */

import { createHash } from 'node:crypto';

const DIGEST_RANGE = 2 ** 48;

/** The endpoint with the lowest score is tried first, the next one is its fallback. */
export function rendezvousScore(conversation: string, endpoint: string, weight: number): number {
  const digest = createHash('sha256').update(`${endpoint}\n${conversation}`).digest();
  return -Math.log((digest.readUIntBE(0, 6) + 1) / (DIGEST_RANGE + 1)) / weight;
}
