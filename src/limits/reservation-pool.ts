/** Reservation pool: reservations against a limit of concurrent requests or of money, from a hold in the store. */

import { maxBigInt, minBigInt } from '../core/money.ts';
import { createFairQueue } from './fair-queue.ts';
import type { HeldLimit, Quota } from './quota.ts';

export interface PoolLimit {
  heldLimit: HeldLimit;
  /** Amount held beyond the current need, so that the next reservation needs no store call. */
  slice: bigint;
}

export interface ReservationPoolOptions extends PoolLimit {
  quota: Quota;
}

export interface ReservationPool {
  /**
   * Reserves `most`; where less is left, half of the rest, but `least` at least; undefined where less than `least` is left.
   * `least` is `most` if absent.
   */
  admit(most: bigint, least?: bigint): Promise<LimitReservation | undefined> | LimitReservation;
  /** Amount that can still be reserved, as of the last store call. */
  readonly left: bigint;
  /** Amount that is reserved and not settled yet. */
  readonly reserved: bigint;
  /** Replaces the limit. Existing reservations count against it; the rest of the hold is requested anew. */
  change(limit: PoolLimit): void;
  /** Asks the store before the next reservation, because something that was not reserved here has been spent or released. */
  recount(): void;
  /** Takes the hold of all reservations again, because the store has deleted it. */
  renew(): Promise<void>;
  /** Releases the unused hold if nothing was reserved since the last call. */
  releaseIdle(): Promise<void>;
  /** Whether nothing is held, reserved or asked for. */
  readonly isEmpty: boolean;
}

export interface LimitReservation {
  readonly amount: bigint;
  /** Ends the reservation; `spent` is consumed. Idempotent. */
  settle(spent: bigint): void;
}

/** A reservation that was asked for. */
interface ReservationRequest {
  most: bigint;
  least: bigint;
  /** Set when it is granted. */
  amount: bigint;
}

export function createReservationPool({ quota, ...first }: ReservationPoolOptions): ReservationPool {
  let { heldLimit, slice }: PoolLimit = first;
  /** Hold of this gateway in the store. */
  let held = 0n;
  /** Unspent part of the hold, including reservations. */
  let granted = 0n;
  let reserved = 0n;
  /** Amount left in the store beyond the hold of this gateway. */
  let unclaimed = heldLimit.limit;
  /** Amount spent since the last store call was sent; its result may or may not include it. */
  let spentSince = 0n;
  let usedSinceRelease = false;
  /** Reservations that were asked for, and are not decided. */
  let waiting = 0;
  let isAsking = false;
  /** Something was spent or released elsewhere after the store was asked. */
  let isOutdated = false;

  async function ask(want: bigint): Promise<void> {
    const asked = heldLimit;
    spentSince = 0n;
    isAsking = true;
    const wanted = minBigInt(want, asked.limit);
    // Until the store has said otherwise, so that a hold whose acknowledgement was lost is released, too.
    held = maxBigInt(held, wanted);
    const part = await quota.hold(asked, wanted).finally(() => {
      isAsking = false;
    });
    held = part.granted;
    granted = part.granted - spentSince;
    unclaimed = asked.limit - part.spent - part.others - part.granted;
    if (asked !== heldLimit) recall();
  }

  function recall(): void {
    granted = minBigInt(granted, reserved);
  }

  function recount(): void {
    recall();
    // Those that wait for the answer are served by it; later ones are not.
    if (isAsking) isOutdated = true;
  }

  function take(request: ReservationRequest, amount: bigint): boolean {
    request.amount = amount;
    reserved += amount;
    return true;
  }

  const queue = createFairQueue<ReservationRequest>({
    tryTake(request, isLast) {
      const { most, least } = request;
      const free = granted - reserved;
      if (most <= free) return take(request, most);
      // Half, so that concurrent requests get a share.
      return isLast && least < most && least <= free && take(request, maxBigInt(least, free / 2n));
    },
    async request(requests) {
      const asked = heldLimit;
      await ask(requests.reduce((sum, { most }) => sum + most, reserved + slice));
      return spentSince > 0n || asked !== heldLimit;
    },
    onServed() {
      if (isOutdated) recall();
      isOutdated = false;
    },
  });

  function reservationOf({ amount }: ReservationRequest): LimitReservation {
    let over = false;
    return {
      amount,
      settle(spent) {
        if (over) return;
        over = true;
        reserved -= amount;
        granted -= spent;
        spentSince += spent;
      },
    };
  }

  async function granting(
    request: ReservationRequest,
    answer: Promise<boolean>,
  ): Promise<LimitReservation | undefined> {
    waiting += 1;
    const isGranted = await answer.finally(() => {
      waiting -= 1;
    });
    return isGranted ? reservationOf(request) : undefined;
  }

  return {
    admit(most, least = most) {
      usedSinceRelease = true;
      const request: ReservationRequest = { most, least, amount: 0n };
      const answer = queue.acquire(request);
      return answer === true ? reservationOf(request) : granting(request, answer);
    },
    change(next) {
      ({ heldLimit, slice } = next);
      recall();
    },
    recount,
    async renew() {
      recount();
      if (held > 0n || reserved > 0n) await queue.whenIdle(() => ask(reserved));
    },
    get left() {
      return granted - reserved + unclaimed;
    },
    get reserved() {
      return reserved;
    },
    get isEmpty() {
      return held === 0n && reserved === 0n && waiting === 0;
    },
    async releaseIdle() {
      const idle = !usedSinceRelease;
      usedSinceRelease = false;
      if (idle && held > reserved) await queue.whenIdle(() => ask(reserved));
    },
  };
}
