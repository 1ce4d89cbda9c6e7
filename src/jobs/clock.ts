/** Store clock: the time of the store, which all its gateways share, with local timers. */

import { type Clock, systemClock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';

export function createClock(store: Pick<Store, 'now'>): Clock {
  return { ...systemClock, now: () => store.now() };
}
