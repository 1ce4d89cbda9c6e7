/** Quota of a gateway: the whole of a limit, or slices of it where others share the store; and what these others have reserved. */

import type { Clock } from '../core/clock.ts';
import { type BudgetPeriod, decodeReservations, type Reservations } from '../records/reservations.ts';
import type { Store } from '../store/store.ts';
import { answerInTime } from '../store/unavailable.ts';

export interface Window {
  /** Name of the limit. */
  name: string;
  /** Start, in Unix milliseconds. */
  at: number;
  limit: number;
}

export interface HeldLimit {
  /** Name of the limit, or of the period of a budget. */
  name: string;
  limit: bigint;
  /** Budget whose spending counts against the limit, in addition to holds. */
  budget?: BudgetPeriod;
}

export interface Quota {
  /** Amount to request at once, so that store calls are rare. */
  slice(limit: number): number;
  /** Takes up to `want` of a window, and `alreadyUsed` in any case. `taken` is the total of all gateways. */
  take(window: Window, want: number, alreadyUsed: number): Promise<{ granted: number; taken: number }>;
  /** Sets the hold of this gateway to `want`, or to the rest of the limit if that is less. */
  hold(heldLimit: HeldLimit, want: bigint): Promise<{ granted: bigint; spent: bigint; others: bigint }>;
}

export interface QuotaOptions {
  store: Pick<Store, 'call' | 'engine'>;
  instance: string;
  /** Whether other processes use the limits too; by default if the store is a server. */
  shared?: boolean;
  clock?: Pick<Clock, 'after'> | undefined;
}

/** Slices of a limit on a shared store, so that every gateway gets some. */
const SLICES_PER_LIMIT = 20;

/** No request waits for a store that stalls: it is refused as by one that is away. */
export function createQuota({ store, instance, shared = store.engine !== 'sqlite', clock }: QuotaOptions): Quota {
  const hold: Quota['hold'] = (heldLimit, want) =>
    answerInTime(store.call('setHold', { ...heldLimit, instance, want }), clock);
  if (!shared) {
    return { slice: (limit) => limit, take: async ({ limit }) => ({ granted: limit, taken: 0 }), hold };
  }
  return {
    slice: (limit) => Math.max(1, Math.floor(limit / SLICES_PER_LIMIT)),
    take: ({ name, at, limit }, want, alreadyUsed) =>
      answerInTime(store.call('takeAllowance', { name, windowAt: at, limit, want, alreadyUsed }), clock),
    hold,
  };
}

export interface ReservationReaderOptions {
  store: Pick<Store, 'call' | 'now'>;
  /** Instance whose reservations are left out: this gateway. Absent in a command beside running gateways. */
  instance?: string;
}

/** Reads the reservations of running requests of other gateways, as of their last heartbeat. Questions of the same moment share an answer. */
export function createReservationReader({
  store,
  instance = '',
}: ReservationReaderOptions): () => Promise<Reservations> {
  let running: Promise<Reservations> | undefined;
  return () => {
    running ??= store
      .call('reservationsOfOthers', { except: instance, now: store.now() })
      .then(decodeReservations)
      .finally(() => {
        running = undefined;
      });
    return running;
  };
}
