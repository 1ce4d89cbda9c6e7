/** Bounds how many requests are tried again, so that an outage does not double the load on what still works. */

import { monotonicNow } from '../core/clock.ts';

export interface RetryBudget {
  /** A request began. */
  earn(): void;
  /** True when one more attempt may be made; it is then spent. */
  spend(): boolean;
}

/** Requests that earn one more attempt. */
const REQUESTS = 10;
/** Attempts that are always there after a while without failures; one comes back in a second. */
const RESERVE = 10;
const MOST = 100;

/** Counted in requests, so that the sums are exact. */
export function createRetryBudget(now: () => number = monotonicNow): RetryBudget {
  let earned = RESERVE * REQUESTS;
  let refilled = now();

  function refill(): void {
    const seconds = Math.floor((now() - refilled) / 1000);
    if (seconds === 0) return;
    refilled += seconds * 1000;
    if (earned < RESERVE * REQUESTS) earned = Math.min(RESERVE * REQUESTS, earned + Math.max(0, seconds) * REQUESTS);
  }

  return {
    earn() {
      refill();
      earned = Math.min(MOST * REQUESTS, earned + 1);
    },
    spend() {
      refill();
      if (earned < REQUESTS) return false;
      earned -= REQUESTS;
      return true;
    },
  };
}
