/** Runs of the daily sums of usage, while the gateway runs. */

import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import { problemOf } from '../store/unavailable.ts';

export interface DailySumsRunOptions {
  store: Store;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
}

/** While there are days to be summed up. */
const BUSY_INTERVAL_MS = 60_000;
/** A look starts a thread that reads, which SQLite's store ends when it has idled. */
const IDLE_INTERVAL_MS = 10 * 60_000;

/** Returns how to end it; resolves when a run has ended. */
export function startDailySums({ store, clock, log }: DailySumsRunOptions): () => Promise<void> {
  const ending = new AbortController();
  let running: Promise<void> | undefined;
  let cancel = clock.after(BUSY_INTERVAL_MS, onDue);

  function onDue(): void {
    running = run();
  }

  async function run(): Promise<void> {
    const days = await sumUp().catch((error: Error) => {
      log.warn({ problem: problemOf(error) }, 'daily sums of usage could not be made');
      return 0;
    });
    if (!ending.signal.aborted) cancel = clock.after(days > 0 ? BUSY_INTERVAL_MS : IDLE_INTERVAL_MS, onDue);
  }

  async function sumUp(): Promise<number> {
    const { createDailySums } = await import('../usage/daily-sums.ts');
    return createDailySums({ store, clock }).run(ending.signal);
  }

  return async () => {
    cancel();
    ending.abort();
    await running;
  };
}
