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
/** By how much a clock that was set is off at least. */
const JUMP = 1_000;

export async function joinStore(store: Store, log: Pick<Logger, 'warn'>): Promise<Instance> {
  const id = randomUUID();
  const alone = store.engine === 'sqlite';
  const beat = () => store.call('heartbeat', { id, now: store.now(), until: store.now() + LIFE, alone });
  if (alone) await keepDelays(store, log);
  await beat();
  const timer = setInterval(() => {
    beat().catch((error) => log.warn({ problem: error.message }, 'no sign of life could be given'));
  }, BEAT).unref();
  return {
    id,
    async close() {
      clearInterval(timer);
      // Alone it leaves its last sign of life, by which the next one knows the clock.
      await (alone ? beat() : store.call('leave', { id })).catch(() => {});
    },
  };
}

/** Where the clock was set back while no gateway ran, jobs keep their delays; the embedded store has no clock of its own. */
async function keepDelays(store: Store, log: Pick<Logger, 'warn'>): Promise<void> {
  const now = store.now();
  const by = (await store.call('lastHeartbeat', {})) - LIFE - now;
  if (by < JUMP) return;
  log.warn({ by }, 'the clock was set back while no gateway ran; jobs keep their delays');
  await store.call('shiftJobs', { now, by });
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
