/** This gateway among those that share the store: they know of each other that they are alive. */

import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Store } from './store.ts';

export interface Instance {
  readonly id: string;
  /** Gives back what it holds. */
  close(): Promise<void>;
}

/** Milliseconds between two signs of life, and until silence means death. */
const BEAT = 5_000;
const LIFE = 30_000;

export async function joinStore(store: Store, log: Pick<Logger, 'warn'>): Promise<Instance> {
  const id = randomUUID();
  const alone = store.engine === 'sqlite';
  const beat = () => store.call('heartbeat', { id, now: store.now(), until: store.now() + LIFE, alone });
  await beat();
  const timer = setInterval(() => {
    beat().catch((error) => log.warn({ problem: error.message }, 'no sign of life could be given'));
  }, BEAT).unref();
  return {
    id,
    async close() {
      clearInterval(timer);
      await store.call('leave', { id }).catch(() => {});
    },
  };
}

export interface Gateways {
  /** How many share the store, as far as is known; never less than one. */
  count(): number;
  close(): void;
}

export function watchGateways(store: Store, log: Pick<Logger, 'warn'>): Gateways {
  let known = 1;
  if (store.engine === 'sqlite') return { count: () => known, close() {} };
  const look = () =>
    store.call('countInstances', { now: store.now() }).then(
      (count) => {
        known = Math.max(1, count);
      },
      (error) => log.warn({ problem: error.message }, 'other gateways could not be counted'),
    );
  look();
  const timer = setInterval(look, BEAT).unref();
  return { count: () => known, close: () => clearInterval(timer) };
}
