/** Where a gateway gets its share of a limit from: alone it may take all that is left, with others it takes slices. */

import type { Period } from '../records/key-settings.ts';
import type { Store } from '../store/store.ts';

export interface Window {
  /** What is limited. */
  subject: string;
  /** Unix milliseconds at which it began. */
  at: number;
  limit: number;
}

export interface HeldLimit {
  subject: string;
  limit: bigint;
  /** What counts against the limit beside holdings. */
  budget?: { keyId: string; period: Period; startsAt: number };
}

export interface Quota {
  /** A share of a limit that is worth a question to the store. */
  slice(limit: number): number;
  /** Takes up to `want` of a window; `owed` is taken in any case. `taken` is what all have taken. */
  take(window: Window, want: number, alreadyUsed: number): Promise<{ granted: number; taken: number }>;
  /** Sets what this gateway holds to as much of `want` as is left. */
  hold(holding: HeldLimit, want: bigint): Promise<{ granted: bigint; spent: bigint; others: bigint }>;
}

export interface QuotaOptions {
  store: Pick<Store, 'call' | 'engine'>;
  instance: string;
}

/** Gateways on one database take a limit in so many parts, so that several of them get some. */
const SLICES_PER_LIMIT = 20;

export function createQuota({ store, instance }: QuotaOptions): Quota {
  const hold: Quota['hold'] = (holding, want) => store.call('setHold', { ...holding, instance, want });
  if (store.engine === 'sqlite') {
    return { slice: (limit) => limit, take: async ({ limit }) => ({ granted: limit, taken: 0 }), hold };
  }
  return {
    slice: (limit) => Math.max(1, Math.floor(limit / SLICES_PER_LIMIT)),
    take: ({ subject, at, limit }, want, alreadyUsed) =>
      store.call('takeAllowance', { subject, windowAt: at, limit, want, alreadyUsed }),
    hold,
  };
}
