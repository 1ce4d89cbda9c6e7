/** Rate limiter (generic cell rate algorithm): a steady rate with bursts, per caller. */

import { monotonicNow } from '../core/clock.ts';
import type { MaybePromise } from '../store/operation.ts';

export interface RateOptions {
  /** Calls per second. */
  rate: number;
  /** Calls at once after a pause. */
  burst: number;
  /** Milliseconds. */
  now?(): number;
}

/** Counts a call and returns 0, or returns the milliseconds to wait without counting it. */
export type Rate = (caller: string) => number;

/** A rate that several processes may count together. */
export type SharedRate = (caller: string) => MaybePromise<number>;

/** Rates of one name are one rate. */
export type CreateSharedRate = (name: string, options: RateOptions) => SharedRate;

/** Creates a rate in the memory of this process; each caller has its own. */
export function createRate({ rate, burst, now = monotonicNow }: RateOptions): Rate {
  const interval = 1000 / rate;
  /** Theoretical arrival time of each caller, in order of the last call. */
  const arrivalAt = new Map<string, number>();

  function forget(moment: number): void {
    for (const [caller, at] of arrivalAt) {
      if (at > moment) return;
      arrivalAt.delete(caller);
    }
  }

  return (caller) => {
    const moment = now();
    const from = Math.max(arrivalAt.get(caller) ?? moment, moment);
    const wait = from + interval - moment - burst * interval;
    if (wait > 0) return Math.ceil(wait);
    arrivalAt.delete(caller);
    arrivalAt.set(caller, from + interval);
    forget(moment);
    return 0;
  };
}
