/** Everything that delivers webhooks, on a store of its own. */

import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { type Clock, createStoreClock } from '../../src/core/clock.ts';
import type { Scheduler } from '../../src/jobs/job.ts';
import { createScheduler } from '../../src/jobs/scheduler.ts';
import { createAddressPolicy } from '../../src/net/address-policy.ts';
import { createGuardedClient } from '../../src/net/guarded-client.ts';
import type { Lookup } from '../../src/net/resolver.ts';
import { createCipher } from '../../src/security/cipher.ts';
import { Secret } from '../../src/security/secret.ts';
import type { Store } from '../../src/store/store.ts';
import { createDeliveryHandler, type DeliveryOptions } from '../../src/webhooks/delivery.ts';
import { deliveryForOperator } from '../../src/webhooks/delivery-log.ts';
import { newDelivery } from '../../src/webhooks/envelope.ts';
import { createWebhookSecrets } from '../../src/webhooks/secrets.ts';
import { type JobStore, openJobStore, silent } from '../jobs/rig.ts';
import { testCa } from '../net/servers.ts';
import type { OpenTestStore } from '../store/stores.ts';

export const SECRET = 'a-secret-of-the-whole-gateway';
export const OWNER = 'key-1';
export const encryptionKey = Buffer.alloc(32, 7);

export interface RigOptions extends Partial<Omit<DeliveryOptions, 'store' | 'secrets' | 'log'>> {
  lookup?: Lookup;
  /** What stands between the parts and the store. */
  through?: (store: Store) => Store;
}

export interface Rig {
  store: JobStore;
  scheduler: Scheduler;
  /** Owes a webhook, as the settlement of a task does. */
  owe(url: string, over?: { owner?: string; task?: object; taskId?: string }): Promise<string>;
  /** The log of a task's webhook with all details. */
  log(taskId: string): ReturnType<typeof deliveryForOperator>;
}

export const toLoopback: Lookup = async () => ['127.0.0.1'];

export function loopbackClient(lookup: Lookup = toLoopback) {
  return createGuardedClient({
    policy: createAddressPolicy({ allowCidrs: ['127.0.0.1/32'] }),
    lookup,
    extraCa: testCa,
    reuseConnections: true,
  });
}

export async function startRig(context: TestContext, open: OpenTestStore, options: RigOptions = {}): Promise<Rig> {
  const store = await openJobStore(context, open);
  const { through = (inner) => inner, lookup, clock = createStoreClock(store), ...rest } = options;
  const seen = through(store);
  const cipher = createCipher([encryptionKey]);
  const client = loopbackClient(lookup);
  const request = store.activity.track(client.request);
  const handler = createDeliveryHandler({
    ...{ store: seen, secrets: createWebhookSecrets({ store: seen, cipher, fallback: new Secret(SECRET) }) },
    ...{ client: { request }, log: { ...(silent as object), info() {}, warn() {} }, clock },
    ...{ userAgent: 'polygate/test', ...rest },
  });
  const scheduler = createScheduler({ store: seen, handlers: [handler], log: silent, clock });
  context.after(() => ending(scheduler, clock));
  return {
    store,
    scheduler,
    async owe(url, { owner = OWNER, taskId = randomUUID(), task = taskOf(taskId) } = {}) {
      const settled = { taskId, status: 'completed', url, owner, createdAt: clock.now(), task } as const;
      await store.do('addDeliveries', { deliveries: [newDelivery(settled)] });
      scheduler.wake('webhook');
      return taskId;
    },
    log: (taskId) => deliveryForOperator(store, taskId),
  };
}

export function taskOf(id: string): object {
  return { id, status: 'completed', prompt: 'Zwölf Boxkämpfer <🥊> "\\u0041"', seed: 1e21, cost: '0.1' };
}

/** A clock that stands still would keep it from ending. */
async function ending(scheduler: Scheduler, clock: Clock & { advance?(milliseconds: number): void }): Promise<void> {
  const pump = setInterval(() => clock.advance?.(1), 1);
  await scheduler.stop(0);
  clearInterval(pump);
}
