/** Store health check: one small write in each database. */

import type { Store, StoreHealth } from './store.ts';
import { StoreUnavailable } from './unavailable.ts';

export async function healthOf(store: Pick<Store, 'call'>): Promise<StoreHealth> {
  try {
    await Promise.all([store.call('probeState', {}), store.call('probeUsage', {})]);
    return { writable: true };
  } catch (error) {
    return { writable: false, problem: error instanceof StoreUnavailable ? error.problem : (error as Error).message };
  }
}
