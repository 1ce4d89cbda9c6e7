/** Runs of the daily sums of usage, while the gateway runs. */

import type { Logger } from 'pino';
import { type Clock, every } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import { createDailySums } from '../usage/daily-sums.ts';

export interface DailySumsRunOptions {
  store: Store;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
}

const INTERVAL_MS = 60_000;

/** Returns how to end it; resolves when a run has ended. */
export function startDailySums({ store, clock, log }: DailySumsRunOptions): () => Promise<void> {
  const dailySums = createDailySums({ store, clock });
  const ending = new AbortController();
  let running: Promise<void> | undefined;
  const cancel = every(clock, INTERVAL_MS, () => {
    running ??= dailySums
      .run(ending.signal)
      .then(
        () => {},
        (error: Error) => log.warn({ problem: error.message }, 'daily sums of usage could not be made'),
      )
      .finally(() => {
        running = undefined;
      });
  });
  return async () => {
    cancel();
    ending.abort();
    await running;
  };
}
