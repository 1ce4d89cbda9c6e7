/** Reservation pool: reservations against a limit of concurrent requests or of money, from a hold in the store. */

import { minBigInt } from '../core/money.ts';
import { createFairQueue } from './fair-queue.ts';
import type { HeldLimit, Quota } from './quota.ts';

export interface ReservationPoolOptions {
  holding: HeldLimit;
  quota: Quota;
  /** Amount held beyond the current need, so that the next reservation needs no store call. */
  slice: bigint;
}

export interface ReservationPool {
  /** Reserves `amount`; undefined if the limit leaves too little. */
  admit(amount: bigint): Promise<LimitReservation | undefined>;
  /** Amount that can still be reserved, as of the last store call. */
  readonly left: bigint;
  /** Releases the unused hold if nothing was reserved since the last call. */
  releaseIdle(): Promise<void>;
}

export interface LimitReservation {
  /** Ends the reservation; `spent` is consumed. Idempotent. */
  settle(spent: bigint): void;
}

export function createReservationPool({ holding, quota, slice }: ReservationPoolOptions): ReservationPool {
  let granted = 0n;
  let reserved = 0n;
  /** Amount left in the store beyond the hold of this gateway. */
  let unclaimed = holding.limit;
  /** Amount spent since the last store call was sent; its result may or may not include it. */
  let spentSince = 0n;
  let usedSinceRelease = false;

  async function ask(want: bigint): Promise<void> {
    spentSince = 0n;
    const part = await quota.hold(holding, minBigInt(want, holding.limit));
    granted = part.granted - spentSince;
    unclaimed = holding.limit - part.spent - part.others - part.granted;
  }

  const queue = createFairQueue<bigint>({
    tryTake(amount) {
      if (reserved + amount > granted) return false;
      reserved += amount;
      return true;
    },
    async request(amounts) {
      await ask(amounts.reduce((sum, amount) => sum + amount, reserved + slice));
      return spentSince > 0n;
    },
  });

  return {
    async admit(amount) {
      usedSinceRelease = true;
      if (!(await queue.acquire(amount))) return undefined;
      let over = false;
      return {
        settle(spent) {
          if (over) return;
          over = true;
          reserved -= amount;
          granted -= spent;
          spentSince += spent;
        },
      };
    },
    get left() {
      return granted - reserved + unclaimed;
    },
    async releaseIdle() {
      const idle = !usedSinceRelease;
      usedSinceRelease = false;
      if (idle && granted > reserved) await queue.whenIdle(() => ask(reserved));
    },
  };
}
