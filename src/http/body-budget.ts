/** Body budget: memory for all request bodies in flight, shared fairly between owners. */

import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

export interface BodyBudget {
  /** Reserves bytes for an owner, e.g. a key; undefined if they exceed the budget. */
  open(owner: string, bytes: number): BodyReservation | undefined;
  /** Reserved bytes. */
  readonly held: number;
}

export interface BodyReservation {
  /** Raises the reservation; false, without a change, if that exceeds the budget. */
  growTo(bytes: number): boolean;
  release(): void;
}

/** Share of the process memory for bodies; parsing and serializing one needs a multiple of its size. */
const MEMORY_SHARE = 1 / 8;
/** Minimum budget, in bodies of the maximum size. */
const MIN_LARGEST_BODIES = 2;

/** An owner may hold as much as was free before its last body: one alone gets about half of the budget, two a third each. */
export function createBodyBudget(limit: number): BodyBudget {
  const heldBy = new Map<string, number>();
  let total = 0;

  /** Raises a reservation of an owner, by the same rule as a new one of that size. */
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

/** Default budget in bytes, from the heap limit and the memory of this process. */
export function defaultBodyMemory(bodyLimit: number): number {
  const memory = Math.min(process.constrainedMemory() || totalmem(), totalmem());
  const share = Math.min(getHeapStatistics().heap_size_limit, memory) * MEMORY_SHARE;
  return Math.max(Math.floor(share), MIN_LARGEST_BODIES * bodyLimit);
}

/** The share of one of several workers in the memory for bodies, which holds at least one. */
export function bodyMemoryOf(
  { bodyMemory, bodyLimit }: { bodyMemory?: number | undefined; bodyLimit: number },
  workers = 1,
): number {
  return Math.max(bodyLimit, Math.floor((bodyMemory ?? defaultBodyMemory(bodyLimit)) / workers));
}
