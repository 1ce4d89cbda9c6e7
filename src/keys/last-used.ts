/** Last use of keys by each of their secrets, precise to the minute: collected in memory and written in batches. */

import type { SecretUse } from '../store/operations/keys.ts';
import type { Store } from '../store/store.ts';

/** Precision of the last use. */
const RESOLUTION_MS = 60_000;

export interface LastUsedTracker {
  /** Records a use at `now`, in Unix milliseconds. Uses within `RESOLUTION_MS` count as one. */
  record(use: Pick<SecretUse, 'id' | 'digest'>, now: number): void;
  /** Writes new values; after a failure they stay pending. */
  flush(): Promise<void>;
}

export function createLastUsedTracker(store: Store): LastUsedTracker {
  /** Time of the last recorded use and the unwritten use, both by the digest of the secret. */
  const noted = new Map<string, number>();
  let unwritten = new Map<string, SecretUse>();
  return {
    record({ id, digest }, now) {
      if (now - (noted.get(digest) ?? Number.NEGATIVE_INFINITY) < RESOLUTION_MS) return;
      noted.set(digest, now);
      unwritten.set(digest, { id, digest, at: now });
    },
    async flush() {
      if (unwritten.size === 0) return;
      const written = unwritten;
      unwritten = new Map();
      try {
        await store.call('recordKeyUse', { uses: [...written.values()] });
      } catch (error) {
        unwritten = new Map([...written, ...unwritten]);
        throw error;
      }
    },
  };
}
