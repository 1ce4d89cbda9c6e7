/** The clock of a gateway: the store's moments, and the timers of Node. */

import type { Store } from '../store/store.ts';
import type { Clock } from './job.ts';

export function createClock(store: Pick<Store, 'now'>): Clock {
  return {
    now: () => store.now(),
    after(milliseconds, callback) {
      const timer = setTimeout(callback, milliseconds);
      return () => clearTimeout(timer);
    },
  };
}

/** Resolves after milliseconds, or at once when the signal aborts. */
export function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(milliseconds, end);
    signal.addEventListener('abort', end, { once: true });
  });
}
