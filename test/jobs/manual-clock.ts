/** A clock that moves only when a test says so. */

import type { Clock } from '../../src/core/clock.ts';

export interface ManualClock extends Clock {
  /** Lets time pass, calling back in order whatever becomes due. */
  advance(milliseconds: number): void;
  /** Sets the clock, as an administrator would: no timer notices. */
  set(now: number): void;
}

interface Timer {
  at: number;
  callback: () => void;
}

export function createManualClock(start: number): ManualClock {
  let wall = start;
  let elapsed = 0;
  const timers = new Set<Timer>();

  function due(until: number) {
    let first: Timer | undefined;
    // Of timers that are due at one moment, the one set first.
    for (const timer of timers) if (timer.at <= until && (!first || timer.at < first.at)) first = timer;
    return first;
  }

  return {
    now: () => wall,
    monotonic: () => elapsed,
    after(milliseconds, callback) {
      const timer = { at: elapsed + Math.max(0, milliseconds), callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(milliseconds) {
      const until = elapsed + milliseconds;
      for (let timer = due(until); timer; timer = due(until)) {
        timers.delete(timer);
        wall += timer.at - elapsed;
        elapsed = timer.at;
        timer.callback();
      }
      wall += until - elapsed;
      elapsed = until;
    },
    set: (now) => {
      wall = now;
    },
  };
}
