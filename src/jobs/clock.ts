/** Store clock: the time of the store, which all its gateways share, with local timers. */

import { type Clock, systemClock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';

export function createClock(store: Pick<Store, 'now'>): Clock {
  return { ...systemClock, now: () => store.now() };
}

/** Resolves after the delay, or as soon as the signal aborts. */
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
