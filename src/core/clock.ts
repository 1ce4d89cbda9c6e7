/** The clock of a gateway: the time of day, durations, and timers, which tests replace by one that they move. */

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds since an arbitrary moment, which setting the time of day does not move. */
  monotonic(): number;
  /** Calls back after milliseconds; returns a function that cancels it. */
  after(milliseconds: number, callback: () => void): () => void;
}

/** Milliseconds since an arbitrary moment. */
export function monotonicNow(): number {
  return performance.now();
}

/** The clock of this machine; one with the time that several gateways share is in `jobs/clock.ts`. */
export const systemClock: Clock = {
  now: Date.now,
  monotonic: monotonicNow,
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};
