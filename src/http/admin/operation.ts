/** Handlers of the admin API for the operation of a gateway: its configuration, its store, and tests of providers. */

import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';
import { type ConfigText, configText } from './schema.ts';

type OperationHandlers = Pick<AdminHandlers, 'Config' | 'ConfigCheck' | 'StoreHealth' | 'ProviderTest'>;

export function createOperationHandlers({ operation }: AdminOptions): OperationHandlers {
  async function checkConfig({ body }: AdminRequest): Promise<Json> {
    assertValid(configText, body);
    return { data: operation.checkConfig((body as ConfigText).text) };
  }

  return {
    Config: async () => ({ data: operation.config() }),
    ConfigCheck: checkConfig,
    StoreHealth: async () => ({ data: await operation.storeHealth() }),
    ProviderTest: async ({ parameters: { id = '' } }) => ({ data: await operation.testProvider(id) }),
  };
}
