/** Reservation pool: reservations against a limit of concurrent requests or of money, from a hold in the store. */

import { minBigInt } from '../core/money.ts';
import { createFairQueue } from './fair-queue.ts';
import type { HeldLimit, Quota } from './quota.ts';

export interface PoolLimit {
  holding: HeldLimit;
  /** Amount held beyond the current need, so that the next reservation needs no store call. */
  slice: bigint;
}

export interface ReservationPoolOptions extends PoolLimit {
  quota: Quota;
}

export interface ReservationPool {
  /** Reserves `amount`; undefined if the limit leaves too little. */
  admit(amount: bigint): Promise<LimitReservation | undefined>;
  /** Amount that can still be reserved, as of the last store call. */
  readonly left: bigint;
  /** Amount that is reserved and not settled yet. */
  readonly reserved: bigint;
  /** Replaces the limit of the subject. Existing reservations count against it; the rest of the hold is requested anew. */
  change(limit: PoolLimit): void;
  /** Asks the store before the next reservation, because something that was not reserved here has been spent or released. */
  recount(): void;
  /** Releases the unused hold if nothing was reserved since the last call. */
  releaseIdle(): Promise<void>;
}

export interface LimitReservation {
  /** Ends the reservation; `spent` is consumed. Idempotent. */
  settle(spent: bigint): void;
}

export function createReservationPool({ quota, ...first }: ReservationPoolOptions): ReservationPool {
  let { holding, slice }: PoolLimit = first;
  /** Hold of this gateway in the store. */
  let held = 0n;
  /** Unspent part of the hold, including reservations. */
  let granted = 0n;
  let reserved = 0n;
  /** Amount left in the store beyond the hold of this gateway. */
  let unclaimed = holding.limit;
  /** Amount spent since the last store call was sent; its result may or may not include it. */
  let spentSince = 0n;
  let usedSinceRelease = false;
  /** Number of changes after which a hold in the store is out of date. */
  let changes = 0;

  async function ask(want: bigint): Promise<void> {
    const asked = holding;
    const changesBefore = changes;
    spentSince = 0n;
    const part = await quota.hold(asked, minBigInt(want, asked.limit));
    held = part.granted;
    granted = part.granted - spentSince;
    unclaimed = asked.limit - part.spent - part.others - part.granted;
    if (changesBefore !== changes) recall();
  }

  function recall(): void {
    changes++;
    granted = minBigInt(granted, reserved);
  }

  const queue = createFairQueue<bigint>({
    tryTake(amount) {
      if (reserved + amount > granted) return false;
      reserved += amount;
      return true;
    },
    async request(amounts) {
      const changesBefore = changes;
      await ask(amounts.reduce((sum, amount) => sum + amount, reserved + slice));
      return spentSince > 0n || changesBefore !== changes;
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
    change(next) {
      ({ holding, slice } = next);
      recall();
    },
    recount: recall,
    get left() {
      return granted - reserved + unclaimed;
    },
    get reserved() {
      return reserved;
    },
    async releaseIdle() {
      const idle = !usedSinceRelease;
      usedSinceRelease = false;
      if (idle && held > reserved) await queue.whenIdle(() => ask(reserved));
    },
  };
}
