/** Bounds how many requests are tried again, so that an outage does not double the load on what still works. */

import { monotonicNow } from '../core/clock.ts';

export interface RetryBudget {
  /** A request began. */
  deposit(): void;
  /** True when one more attempt may be made; it is then spent. */
  tryWithdraw(): boolean;
}

/** Requests that earn one more attempt. */
const REQUESTS_PER_RETRY = 10;
/** Attempts that are always there after a while without failures; one comes back in a second. */
const RESERVE_RETRIES = 10;
const MAX_RETRIES = 100;

/** Counted in requests, so that the sums are exact. */
export function createRetryBudget(now: () => number = monotonicNow): RetryBudget {
  let earned = RESERVE_RETRIES * REQUESTS_PER_RETRY;
  let refilled = now();

  function refill(): void {
    const seconds = Math.floor((now() - refilled) / 1000);
    if (seconds === 0) return;
    refilled += seconds * 1000;
    if (earned < RESERVE_RETRIES * REQUESTS_PER_RETRY)
      earned = Math.min(RESERVE_RETRIES * REQUESTS_PER_RETRY, earned + Math.max(0, seconds) * REQUESTS_PER_RETRY);
  }

  return {
    deposit() {
      refill();
      earned = Math.min(MAX_RETRIES * REQUESTS_PER_RETRY, earned + 1);
    },
    tryWithdraw() {
      refill();
      if (earned < REQUESTS_PER_RETRY) return false;
      earned -= REQUESTS_PER_RETRY;
      return true;
    },
  };
}
