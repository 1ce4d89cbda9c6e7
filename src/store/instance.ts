/** Instance registry: heartbeats of the gateways that share a store. */

import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../core/clock.ts';
import { version } from '../core/version.ts';
import type { Store } from './store.ts';
import { problemOf } from './unavailable.ts';

export interface Instance {
  readonly id: string;
  /** Adds the reservations of running requests to each heartbeat; without it, a heartbeat has none. */
  reportReservations(reservations: () => string): void;
  /** Calls back when the store has registered this instance again: others recorded it as dead, and its holds are gone. */
  onRemoved(listener: () => void): void;
  /** Sends a heartbeat if the store has had none for a lifetime. */
  ensureAlive(): Promise<void>;
  /** False while the store has had no heartbeat of this instance for its lifetime: others can look dead then, and are not. */
  isAlive(): boolean;
  /** Stops the heartbeat and releases the holds of this instance. */
  close(): Promise<void>;
}

/** Interval between two heartbeats. */
export const HEARTBEAT_INTERVAL_MS = 5_000;
/** Time without a heartbeat after which an instance counts as dead. */
export const INSTANCE_TTL_MS = 30_000;
/** Smallest step of the wall clock that counts as a clock change. */
const MIN_CLOCK_JUMP_MS = 1_000;

/** Place of a process in its gateway: all of it, the process that owns the embedded store, or one of its workers. */
export type ProcessRole = 'sole' | 'primary' | 'worker';

export interface JoinOptions {
  role?: ProcessRole;
  /** Id of the instance; that of a worker begins with the id of its primary and `/`. */
  id?: string;
  /** Clock of the heartbeats. */
  clock?: Pick<Clock, 'after'>;
}

export async function joinStore(
  store: Store,
  log: Pick<Logger, 'warn'>,
  { role = 'sole', id = randomUUID(), clock = systemClock }: JoinOptions = {},
): Promise<Instance> {
  const owns = store.engine === 'sqlite' && role !== 'worker';
  let reservations = () => '';
  let aliveUntil = 0;
  let onRemoved = () => {};
  let reviving: Promise<void> | undefined;
  const isAlive = () => store.now() < aliveUntil;
  const sendHeartbeat = async (exclusive = owns && role === 'sole') => {
    const now = store.now();
    const until = now + INSTANCE_TTL_MS;
    const isNew = await store.call('heartbeat', { id, version, reservations: reservations(), now, until, exclusive });
    const isFirst = aliveUntil === 0;
    aliveUntil = until;
    if (isNew && !isFirst) onRemoved();
  };
  if (owns) await preserveJobDelays(store, log);
  // The owner of the store joins before its workers, so that all instances that are registered already are dead.
  await sendHeartbeat(owns);
  const beat = () =>
    sendHeartbeat().then(
      () => undefined,
      (error) => log.warn({ problem: problemOf(error) }, 'the heartbeat could not be written'),
    );
  const stop = repeat(clock, beat);
  return {
    id,
    reportReservations(source) {
      reservations = source;
    },
    onRemoved(listener) {
      onRemoved = listener;
    },
    isAlive,
    async ensureAlive() {
      if (isAlive()) return;
      reviving ??= sendHeartbeat().finally(() => {
        reviving = undefined;
      });
      await reviving;
    },
    async close() {
      stop();
      // The only instance leaves its last heartbeat, from which the next start detects a clock change.
      await (owns ? sendHeartbeat() : store.call('removeInstance', { id })).catch(() => {});
    },
  };
}

/**
 * If the clock was set back while no gateway ran, moves the due times of jobs by the same amount. The embedded store has no
 * clock of its own.
 */
async function preserveJobDelays(store: Store, log: Pick<Logger, 'warn'>): Promise<void> {
  const now = store.now();
  const by = (await store.call('lastHeartbeat', {})) - INSTANCE_TTL_MS - now;
  if (by < MIN_CLOCK_JUMP_MS) return;
  log.warn({ by }, 'the clock was set back while no gateway ran; jobs keep their delays');
  await store.call('shiftJobs', { now, by });
}

export interface GatewayCounter {
  /** Number of live gateways on the store at the last count; at least one. */
  count(): number;
  close(): void;
}

export function countGateways(
  store: Store,
  log: Pick<Logger, 'warn'>,
  clock: Pick<Clock, 'after'> = systemClock,
): GatewayCounter {
  let known = 1;
  if (store.engine === 'sqlite') return { count: () => known, close() {} };
  const refresh = () =>
    store.call('countInstances', { now: store.now() }).then(
      (count) => {
        known = Math.max(1, count);
      },
      (error) => log.warn({ problem: problemOf(error) }, 'other gateways could not be counted'),
    );
  refresh();
  return { count: () => known, close: repeat(clock, refresh) };
}

/** Runs work at each interval, not before the last run has ended; returns a function that stops it. */
function repeat(clock: Pick<Clock, 'after'>, work: () => Promise<void>): () => void {
  let isStopped = false;
  let cancel = schedule();
  function schedule(): () => void {
    return clock.after(HEARTBEAT_INTERVAL_MS, onDue, { background: true });
  }
  function onDue(): void {
    void work().finally(() => {
      if (!isStopped) cancel = schedule();
    });
  }
  return () => {
    isStopped = true;
    cancel();
  };
}
