/** Instance registry: heartbeats of the gateways that share a store, and the clock by which stored data expire. */

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
  /** Calls back when the store has registered this instance anew: others took it for dead, and its holds are gone. */
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
/** Speed of the clock of expiry, as a multiple of that of time, while it catches up with a clock that is ahead of it. */
const EXPIRY_SPEED = 24;
/** Change of the clock of expiry that is written to the store. */
const EXPIRY_WRITE_MS = 3_600_000;
/** Difference to the clock of which the log tells. */
const EXPIRY_LAG_MS = 24 * 3_600_000;
/** Clocks that show an earlier time, 2026, were not set yet. */
const EARLIEST_EXPIRY = Date.UTC(2026, 0);
const EXPIRY_MOMENT = 'expiry';
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

/**
 * Opens the clock by which stored data expire. It is that of the store, but where that is set ahead it follows a day in an hour, and
 * goes on from there after a restart: a clock that is wrong for a while, as after a boot without network, deletes next to nothing. The
 * first start takes the clock as it is. Ask it often: what passed since the last question is the time in which it may follow.
 */
export async function openExpiryClock(
  store: Pick<Store, 'call'>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
  log: Pick<Logger, 'warn'>,
): Promise<Pick<Clock, 'now'>> {
  let written = (await store.call('readMoment', { name: EXPIRY_MOMENT })) ?? 0;
  /** The latest moment of this clock. */
  let reached = written;
  let askedAt = clock.monotonic();
  let isBehind = false;
  let isWriting = false;

  /** The next question tries again what fails. */
  async function write(at: number): Promise<void> {
    isWriting = true;
    await store.call('noteMoment', { name: EXPIRY_MOMENT, at }).then(
      () => {
        written = at;
      },
      () => undefined,
    );
    isWriting = false;
  }

  function follow(now: number): void {
    const asked = clock.monotonic();
    const next = reached < EARLIEST_EXPIRY ? now : Math.min(now, reached + (asked - askedAt) * EXPIRY_SPEED);
    reached = Math.max(reached, next);
    askedAt = asked;
    if (!isWriting && reached - written >= EXPIRY_WRITE_MS) void write(reached);
  }

  function warn(by: number): void {
    if (by > EXPIRY_LAG_MS && !isBehind)
      log.warn({ by }, 'the clock was set ahead, or no gateway ran for long; what has expired is deleted bit by bit');
    isBehind = by > EXPIRY_LAG_MS;
  }

  if (clock.now() < EARLIEST_EXPIRY) {
    const at = new Date(clock.now()).toISOString();
    log.warn({ at }, 'the clock is not set; what is stored meanwhile is deleted as old once it is');
  }

  return {
    now() {
      const now = clock.now();
      follow(now);
      warn(now - reached);
      return Math.min(now, reached);
    },
  };
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
