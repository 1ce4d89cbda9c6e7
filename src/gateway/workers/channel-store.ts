/** Embedded store of a worker: its operations are calls to the primary, which owns the files. */

import { systemClock } from '../../core/clock.ts';
import { createHealthCheck } from '../../store/health.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import type { Channel } from './channel.ts';
import type { StoreCall } from './messages.ts';

export function createChannelStore(channel: Pick<Channel, 'call'>): Store {
  let closed = false;

  async function call(name: string, parameters: unknown): Promise<unknown> {
    if (closed) throw new StoreUnavailable('the store is closed');
    return channel.call('store', { name, parameters } satisfies StoreCall);
  }

  const store: Store = {
    engine: 'sqlite',
    call: call as Store['call'],
    now: systemClock.now,
    health: createHealthCheck({ call: call as Store['call'] }),
    async close() {
      closed = true;
    },
  };
  return store;
}
