/** Retry budget: bounds retries, so that an outage does not double the load on the remaining endpoints. */

export interface RetryBudget {
  /** Called for every request. */
  deposit(): void;
  /** True if the budget allows a retry, which is then spent. */
  tryWithdraw(): boolean;
}

/** Requests that earn one retry. */
const REQUESTS_PER_RETRY = 10;
/** Retries available after a time without failures; refills by one per second. */
const RESERVE_RETRIES = 10;
const MAX_RETRIES = 100;

/** Counts in requests instead of fractions of retries, so that sums are exact. */
export function createRetryBudget(now: () => number): RetryBudget {
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
