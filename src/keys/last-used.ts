/** Last use of keys, precise to the minute: collected in memory and written in batches. */

import type { Store } from '../store/store.ts';

/** Precision of the last use. */
const RESOLUTION_MS = 60_000;

export interface LastUsedTracker {
  record(id: string, now: number): void;
  /** Writes new values; after a failure they stay pending. */
  flush(): Promise<void>;
}

export function createLastUsedTracker(store: Store): LastUsedTracker {
  const noted = new Map<string, number>();
  let unwritten = new Map<string, number>();
  return {
    record(id, now) {
      if (now - (noted.get(id) ?? Number.NEGATIVE_INFINITY) < RESOLUTION_MS) return;
      noted.set(id, now);
      unwritten.set(id, now);
    },
    async flush() {
      if (unwritten.size === 0) return;
      const written = unwritten;
      unwritten = new Map();
      try {
        await store.call('recordKeyUse', { uses: [...written].map(([id, at]) => ({ id, at })) });
      } catch (error) {
        unwritten = new Map([...written, ...unwritten]);
        throw error;
      }
    },
  };
}
