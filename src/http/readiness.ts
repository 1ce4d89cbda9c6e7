/** `GET /readyz`: whether requests should be sent here, which `/healthz`, a sign of life, doesn't say. */

import type { Logger } from 'pino';
import type { Store, StoreHealth } from '../store/store.ts';
import type { Recorder } from '../usage/recorder.ts';
import type { HttpAnswer } from './request-context.ts';

/** Milliseconds that a finding holds. */
const FRESH = 1000;

export type CheckReadiness = () => Promise<HttpAnswer>;

/** Why the store doesn't work is for the log alone. Without a recorder only the store is asked. */
export function createReadiness(
  store: Pick<Store, 'health'>,
  log: Logger,
  recorder?: Pick<Recorder, 'ready'>,
): CheckReadiness {
  let checked = Number.NEGATIVE_INFINITY;
  let checking: Promise<StoreHealth> | undefined;
  let known: StoreHealth = { writable: true };

  async function check(): Promise<StoreHealth> {
    const { writable } = known;
    known = await store.health();
    checked = performance.now();
    if (writable && !known.writable) log.error({ problem: known.problem }, 'the store is unavailable');
    if (!writable && known.writable) log.info('the store is available again');
    return known;
  }

  return async () => {
    if (performance.now() - checked >= FRESH) {
      checking ??= check().finally(() => {
        checking = undefined;
      });
    }
    const { writable } = await (checking ?? known);
    const headers = { 'cache-control': 'no-store' };
    const unavailable = (reason: string) => ({ status: 503, headers, body: { status: 'unavailable', reason } });
    if (!writable) return unavailable('The store cannot be written to.');
    if (recorder && !recorder.ready) return unavailable('Usage records cannot be written.');
    return { status: 200, headers, body: { status: 'ok' } };
  };
}
