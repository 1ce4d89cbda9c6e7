/** Real work under a manual clock: time passes only while nothing is under way, so that a slow machine changes no result. */

import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import type { ManualClock } from './manual-clock.ts';

export interface Activity {
  /** The same function, whose calls count as under way until they settle. */
  track<Parameters extends unknown[], Result>(
    work: (...parameters: Parameters) => Promise<Result>,
  ): (...parameters: Parameters) => Promise<Result>;
  /** Resolves when nothing is under way. */
  quiet(): Promise<void>;
}

export function createActivity(): Activity {
  let running = 0;
  return {
    track:
      (work) =>
      async (...parameters) => {
        running += 1;
        try {
          return await work(...parameters);
        } finally {
          running -= 1;
        }
      },
    async quiet() {
      do await turn();
      while (running > 0);
    },
  };
}

export interface Passing {
  clock: ManualClock;
  activity: Activity;
  /** Milliseconds of the clock after which it fails. */
  most: number;
}

/** Lets time pass until something has happened. Returns how much it was. */
export async function passing(
  { clock, activity, most }: Passing,
  condition: () => boolean | Promise<boolean>,
): Promise<number> {
  const started = clock.now();
  await activity.quiet();
  while (!(await condition())) {
    assert.ok(clock.now() - started < most, 'takes too long');
    clock.advance(100);
    await activity.quiet();
  }
  return clock.now() - started;
}
