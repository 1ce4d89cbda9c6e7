/** How often somebody may come: a steady rate, and a burst now and then. */

import { monotonicNow } from '../core/clock.ts';

export interface RateOptions {
  /** Times a second. */
  rate: number;
  /** Times at once after a pause. */
  burst: number;
  /** Milliseconds. */
  now?(): number;
}

/** Counts one visit and returns 0, or says how many milliseconds are to be waited and counts nothing. */
export type Rate = (visitor: string) => number;

export function createRate({ rate, burst, now = monotonicNow }: RateOptions): Rate {
  const interval = 1000 / rate;
  /** When a visitor's allowance is whole again, those who came last at the end. */
  const wholeAt = new Map<string, number>();

  function forget(moment: number): void {
    for (const [visitor, at] of wholeAt) {
      if (at > moment) return;
      wholeAt.delete(visitor);
    }
  }

  return (visitor) => {
    const moment = now();
    const from = Math.max(wholeAt.get(visitor) ?? moment, moment);
    const wait = from + interval - moment - burst * interval;
    if (wait > 0) return Math.ceil(wait);
    wholeAt.delete(visitor);
    wholeAt.set(visitor, from + interval);
    forget(moment);
    return 0;
  };
}
