/** A budget of bytes for the request bodies that are held at once. */

import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

export interface BodyBudget {
  /** Reserves bytes for an owner, e.g. a key; undefined where there is no room for them now. */
  open(owner: string, bytes: number): BodyReservation | undefined;
  /** Bytes that are reserved. */
  readonly held: number;
}

export interface BodyReservation {
  /** Raises the reservation; false, with nothing changed, where there is no room. */
  growTo(bytes: number): boolean;
  release(): void;
}

/** Share of the memory that bodies may take: parsed and written anew, each needs a multiple of its length. */
const MEMORY_SHARE = 1 / 8;
/** Bodies of the largest size that there is room for in any case. */
const MIN_LARGEST_BODIES = 2;

/** An owner may hold as much as was left free before its last body: one alone takes about half of it, two a third each. */
export function createBodyBudget(limit: number): BodyBudget {
  const heldBy = new Map<string, number>();
  let total = 0;

  /** Raises a reservation of an owner, as if all of it were asked for anew. */
  function raise(owner: string, from: number, to: number): boolean {
    const own = (heldBy.get(owner) ?? 0) - from + to;
    if (own > limit - (total - from)) return false;
    change(owner, to - from);
    return true;
  }

  function change(owner: string, bytes: number): void {
    total += bytes;
    const own = (heldBy.get(owner) ?? 0) + bytes;
    if (own === 0) heldBy.delete(owner);
    else heldBy.set(owner, own);
  }

  return {
    open(owner, bytes) {
      if (!raise(owner, 0, bytes)) return undefined;
      let reserved = bytes;
      let isReleased = false;
      return {
        growTo(size) {
          if (size <= reserved || isReleased) return true;
          if (!raise(owner, reserved, size)) return false;
          reserved = size;
          return true;
        },
        release() {
          if (isReleased) return;
          isReleased = true;
          change(owner, -reserved);
        },
      };
    },
    get held() {
      return total;
    },
  };
}

/** Bytes, as the heap and the memory of this process allow. */
export function defaultBodyMemory(bodyLimit: number): number {
  const memory = Math.min(process.constrainedMemory() || totalmem(), totalmem());
  const share = Math.min(getHeapStatistics().heap_size_limit, memory) * MEMORY_SHARE;
  return Math.max(Math.floor(share), MIN_LARGEST_BODIES * bodyLimit);
}
