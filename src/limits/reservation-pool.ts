/** A limit on what is under way: requests at once, or money that answers on their way may still cost. */

import { minBigInt } from '../core/money.ts';
import { createFairQueue } from './fair-queue.ts';
import type { HeldLimit, Quota } from './quota.ts';

export interface ReservationPoolOptions {
  holding: HeldLimit;
  quota: Quota;
  /** What is asked for beyond the need of the moment, so that the next one needs no question. */
  slice: bigint;
}

export interface ReservationPool {
  /** Reserves; undefined, with nothing reserved, where the limit leaves too little. */
  admit(amount: bigint): Promise<LimitReservation | undefined>;
  /** What may still be reserved here, as far as is known. */
  readonly left: bigint;
  /** Gives back what nobody has asked for since the last time. */
  releaseIdle(): Promise<void>;
}

export interface LimitReservation {
  /** Ends it; `spent` is gone for good. */
  settle(spent: bigint): void;
}

export function createReservationPool({ holding, quota, slice }: ReservationPoolOptions): ReservationPool {
  let granted = 0n;
  let reserved = 0n;
  /** What the store had left beyond what is held here. */
  let unclaimed = holding.limit;
  /** What was spent since the last question was asked: nobody knows whether its answer counts it already. */
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
