/** Body budget: memory for all request bodies in flight, shared fairly between owners. */

import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { createByteBudget } from '../core/byte-budget.ts';

export interface BodyBudget {
  /** Reserves bytes for an owner, e.g. a key; undefined if they exceed the budget. */
  open(owner: string, bytes: number): BodyReservation | undefined;
  /** Most bytes together. */
  readonly limit: number;
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

export function createBodyBudget(limit: number): BodyBudget {
  const budget = createByteBudget(limit);
  return {
    limit,
    open(owner, bytes) {
      const share = budget.open(owner);
      if (!share.resize(bytes)) return undefined;
      let reserved = bytes;
      return {
        growTo(size) {
          if (size <= reserved) return true;
          if (!share.resize(size)) return false;
          reserved = size;
          return true;
        },
        release: share.close,
      };
    },
    get held() {
      return budget.held;
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
