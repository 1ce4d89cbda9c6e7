/**
 * Weighted rendezvous hashing: spreads conversations over endpoints without a table. Every process computes the same order,
 * and when an endpoint drops out, only its own conversations move.
 */

const HASH_RANGE = 2 ** 53;

/** The endpoint with the lowest score is tried first, the next one is its fallback. `conversation` is a digest: a bounded text. */
export function rendezvousScore(conversation: string, endpoint: string, weight: number): number {
  return -Math.log((hashOf(`${endpoint}\n${conversation}`) + 1) / (HASH_RANGE + 1)) / weight;
}

/** 53 bits of two FNV hashes, mixed as in MurmurHash3. It spreads, and hides nothing; SHA-256 takes ten times as long. */
function hashOf(text: string): number {
  let one = 0x811c9dc5;
  let other = 0x9747b28c;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    one = Math.imul(one ^ code, 0x01000193);
    other = Math.imul(other ^ code, 0x5bd1e995);
  }
  return mixed(one) * 2 ** 21 + (mixed(other) >>> 11);
}

function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
