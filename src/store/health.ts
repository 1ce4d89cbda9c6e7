/** Store health check: one small write in each database. */

import type { Clock } from '../core/clock.ts';
import type { Store, StoreHealth } from './store.ts';
import { answerInTime, StoreUnavailable } from './unavailable.ts';

/** Checks of the same moment share the writes, so that those of a store that stalls are never many. */
export function createHealthCheck(
  store: Pick<Store, 'call'>,
  clock?: Pick<Clock, 'after'>,
): () => Promise<StoreHealth> {
  let probes: Promise<unknown> | undefined;
  return async () => {
    probes ??= Promise.all([store.call('probeState', {}), store.call('probeUsage', {})]).finally(() => {
      probes = undefined;
    });
    try {
      await answerInTime(probes, clock);
      return { writable: true };
    } catch (error) {
      return { writable: false, problem: error instanceof StoreUnavailable ? error.problem : (error as Error).message };
    }
  };
}
