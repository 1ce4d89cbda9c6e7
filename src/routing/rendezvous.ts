/**
 * Spreads conversations over endpoints by weight, each conversation always in the same order: no table, the same in every
 * process, and when an endpoint drops out only its own conversations move.
 */

import { createHash } from 'node:crypto';

const DIGEST_RANGE = 2 ** 48;

/** The endpoint with the lowest score is the conversation's own; the next is where it goes when that one fails. */
export function rendezvousScore(conversation: string, endpoint: string, weight: number): number {
  const digest = createHash('sha256').update(`${endpoint}\n${conversation}`).digest();
  return -Math.log((digest.readUIntBE(0, 6) + 1) / (DIGEST_RANGE + 1)) / weight;
}
