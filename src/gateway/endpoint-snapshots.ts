/** Snapshots of endpoint health: that of this process, written for other gateways and for its next start. */

import type { Logger } from 'pino';
import { type Clock, every, sleep, systemClock } from '../core/clock.ts';
import type { EndpointSource } from '../http/admin/endpoint-rows.ts';
import { HEARTBEAT_INTERVAL_MS } from '../store/instance.ts';
import type { Store } from '../store/store.ts';
import { problemOf } from '../store/unavailable.ts';

export interface EndpointSnapshotOptions extends EndpointSource {
  store: Pick<Store, 'call' | 'engine' | 'now'>;
  clock: Pick<Clock, 'now' | 'after'>;
  log: Pick<Logger, 'warn'>;
  instance: string;
  /** Whether the gateway has no other process. */
  isSole: boolean;
}

/** Interval of a process whose snapshots are for its next start alone. */
const ALONE_INTERVAL_MS = 60_000;
/** Longest time for which the end of a gateway waits for its last snapshot. */
const LAST_MS = 2000;

/**
 * Writes a snapshot an interval at most, and none while nothing was attempted. Returns how to end it: with a last snapshot, unless
 * the store does not answer soon.
 */
export function startEndpointSnapshots(options: EndpointSnapshotOptions): () => Promise<void> {
  const { store, clock, log, instance, isSole, routing } = options;
  const isAlone = isSole && store.engine === 'sqlite';
  let written = 0;
  let running: Promise<void> | undefined;

  async function write(): Promise<void> {
    const { counted } = routing.attempts;
    if (counted === written) return;
    // A start does not need it.
    const { endpointRows, snapshotOf } = await import('../http/admin/endpoint-rows.ts');
    const snapshot = snapshotOf(endpointRows(options, clock.now()));
    await store.call('storeEndpointSnapshot', { instance, at: store.now(), snapshot });
    written = counted;
  }

  function writeOnce(): Promise<void> {
    running ??= write()
      .catch((error) => log.warn({ problem: problemOf(error) }, 'the state of endpoints could not be written'))
      .finally(() => {
        running = undefined;
      });
    return running;
  }

  const interval = isAlone ? ALONE_INTERVAL_MS : HEARTBEAT_INTERVAL_MS;
  const cancel = every(clock, interval, () => void writeOnce(), { background: true });

  return async () => {
    cancel();
    const written = new AbortController();
    const isWritten = Promise.resolve(running)
      .then(writeOnce)
      .finally(() => written.abort());
    await Promise.race([isWritten, sleep(systemClock, LAST_MS, written.signal)]);
  };
}
