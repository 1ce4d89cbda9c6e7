/** Readiness check of `GET /readyz`: whether the store and usage records can be written. `/healthz` checks neither. */

import type { Logger } from 'pino';
import { type Clock, systemClock } from '../core/clock.ts';
import type { Store, StoreHealth } from '../store/store.ts';
import type { Recorder } from '../usage/recorder.ts';
import type { HttpResponse } from './http-response.ts';

const HEADERS = { 'cache-control': 'no-store' };
/** Time for which a result is reused. */
const MAX_AGE_MS = 1000;

export type CheckReadiness = () => Promise<HttpResponse>;

export interface ReadinessOptions {
  store: Pick<Store, 'health'>;
  /** Gets the cause of a failure, which clients do not see. */
  log: Logger;
  /** Absent: only the store is checked. */
  recorder?: Pick<Recorder, 'ready'> | undefined;
  clock?: Clock | undefined;
  /** Whether the gateway is about to stop, and load balancers should leave it. */
  isDraining?: (() => boolean) | undefined;
}

export function createReadiness({
  store,
  log,
  recorder,
  clock = systemClock,
  isDraining,
}: ReadinessOptions): CheckReadiness {
  let checked = Number.NEGATIVE_INFINITY;
  let checking: Promise<StoreHealth> | undefined;
  let known: StoreHealth = { writable: true };

  async function check(): Promise<StoreHealth> {
    const { writable } = known;
    known = await store.health();
    checked = clock.monotonic();
    if (writable && !known.writable) log.error({ problem: known.problem }, 'the store is unavailable');
    if (!writable && known.writable) log.info('the store is available again');
    return known;
  }

  return async () => {
    if (isDraining?.()) return unavailable('The gateway is stopping.');
    if (clock.monotonic() - checked >= MAX_AGE_MS) {
      checking ??= check().finally(() => {
        checking = undefined;
      });
    }
    const { writable } = await (checking ?? known);
    if (!writable) return unavailable('The store cannot be written to.');
    if (recorder && !recorder.ready) return unavailable('Usage records cannot be written.');
    return { status: 200, headers: HEADERS, body: { status: 'ok' } };
  };
}

function unavailable(reason: string): HttpResponse {
  return { status: 503, headers: HEADERS, body: { status: 'unavailable', reason } };
}
