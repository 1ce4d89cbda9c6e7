/** Bounds how many requests are tried again, so that an outage does not double the load on what still works. */

export interface RetryBudget {
  /** A request began. */
  earn(): void;
  /** True when one more attempt may be made; it is then spent. */
  spend(): boolean;
}

/** Of the requests, the share that may be tried again. */
const SHARE = 0.1;
/** Attempts that are always there after a while without failures. */
const RESERVE = 10;
const MOST = 100;
/** Attempts of the reserve that come back in a second. */
const REFILL = 1;

export function createRetryBudget(now: () => number = Date.now): RetryBudget {
  let attempts = RESERVE;
  let refilled = now();

  function refill(): void {
    const moment = now();
    const more = ((moment - refilled) / 1000) * REFILL;
    refilled = moment;
    if (attempts < RESERVE) attempts = Math.min(RESERVE, attempts + Math.max(0, more));
  }

  return {
    earn() {
      refill();
      attempts = Math.min(MOST, attempts + SHARE);
    },
    spend() {
      refill();
      if (attempts < 1) return false;
      attempts -= 1;
      return true;
    },
  };
}
