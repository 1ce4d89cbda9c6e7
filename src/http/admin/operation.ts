/** Handlers of the admin API for the operation of a gateway: its configuration, its store, and tests of providers. */

import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { stateOf } from '../../keys/key.ts';
import { newestRequests } from '../../usage/request-search.ts';
import { iso } from './key-object.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';
import { type ConfigText, configText } from './schema.ts';

type OperationHandlers = Pick<
  AdminHandlers,
  'Setup' | 'Config' | 'ConfigCheck' | 'StoreHealth' | 'ProviderTest' | 'LocalServers'
>;

export function createOperationHandlers({ operation, keys, ...options }: AdminOptions): OperationHandlers {
  async function checkConfig({ body }: AdminRequest): Promise<Json> {
    assertValid(configText, body);
    return { data: operation.checkConfig((body as ConfigText).text) };
  }

  async function setup(): Promise<Json> {
    const at = options.clock.now();
    const [all, newest] = await Promise.all([
      keys.list(),
      newestRequests({ filter: {}, from: 0, to: Number.MAX_SAFE_INTEGER, limit: 1 }, options),
    ]);
    const endedAt = newest.rows[0]?.ended_at;
    return {
      data: {
        providers: operation.providers(),
        active_keys: all.filter((key) => stateOf(key, at) === 'active').length,
        last_request_at: endedAt == null ? null : iso(Number(endedAt)),
      },
    };
  }

  return {
    Setup: setup,
    Config: async () => ({ data: operation.config() }),
    ConfigCheck: checkConfig,
    StoreHealth: async () => ({ data: await operation.storeHealth() }),
    LocalServers: async () => ({ data: await operation.localServers() }),
    ProviderTest: async ({ parameters: { id = '' } }) => ({ data: await operation.testProvider(id) }),
  };
}
