/** Clock: time of day, monotonic time and timers. Tests replace it by a manual clock. */

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Monotonic milliseconds since an arbitrary moment; unaffected by changes of the system time. */
  monotonic(): number;
  /** Calls back after a delay in milliseconds; returns a function that cancels the timer. */
  after(milliseconds: number, callback: () => void): () => void;
}

/** Milliseconds since an arbitrary moment. */
export function monotonicNow(): number {
  return performance.now();
}

/** The clock of this machine; `jobs/clock.ts` has the clock shared by several gateways. */
export const systemClock: Clock = {
  now: Date.now,
  monotonic: monotonicNow,
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};
