/** The clock of gateways that share a store, which has the time of day, and pauses on it. */

import { type Clock, systemClock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';

export function createClock(store: Pick<Store, 'now'>): Clock {
  return { ...systemClock, now: () => store.now() };
}

/** Resolves after milliseconds, or at once when the signal aborts. */
export function sleep(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = () => {
      cancel();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(milliseconds, finish);
    signal.addEventListener('abort', finish, { once: true });
  });
}
