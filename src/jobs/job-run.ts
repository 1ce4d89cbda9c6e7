/** One claimed job from its claim to its end: waits for its moment, keeps its lease, gives it back if it came to nothing. */

import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { ClaimedJob } from '../store/operations/jobs.ts';
import type { Store } from '../store/store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import type { Handler } from './job.ts';
import { persist } from './persistence.ts';

export interface RunOptions {
  store: Store;
  handler: Handler;
  log: Pick<Logger, 'warn' | 'error'>;
  clock: Clock;
  job: ClaimedJob;
  leaseUntil: number;
  /** Milliseconds that a lease lasts. */
  lifetime: number;
}

export interface Run {
  readonly job: ClaimedJob;
  /** At its moment. */
  start(): void;
  /** Makes the lease last a lifetime from now. */
  renew(): Promise<void>;
  /** Gives the job back if it has not begun. */
  stop(): void;
  /** Ends it in any case. */
  abort(): void;
  readonly ended: Promise<void>;
}

/** Milliseconds a job waits that failed by our own fault: doubled by each fault in a row. */
const FIRST_PAUSE = 5_000;
const LONGEST_PAUSE = 15 * 60_000;
/** And one that failed because the store was away. */
const STORE_PAUSE = 1_000;

export function createRun({ store, handler, log, clock, job, leaseUntil, lifetime }: RunOptions): Run {
  const { id, lease, kind, ref } = job;
  const controller = new AbortController();
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let until = leaseUntil;
  let phase: 'waiting' | 'running' | 'stopped' | 'lost' | 'over' = 'waiting';
  let cancelTimer = () => {};

  /** Timers may fire a little early, and the clock may have moved meanwhile. */
  function hold(): void {
    const delay = job.dueAt - clock.now();
    if (delay > 0) cancelTimer = clock.after(delay, hold);
    else begin();
  }

  function begin(): void {
    // Whoever slept past the end of the lease knows that somebody else may have the job.
    if (clock.now() >= until) end();
    else {
      phase = 'running';
      keepLease();
      run().finally(end);
    }
  }

  function end(): void {
    cancelTimer();
    phase = 'over';
    resolve();
  }

  async function run(): Promise<void> {
    try {
      await handler.run(job, controller.signal);
    } catch (error) {
      if (phase !== 'lost') await giveBack(error);
    }
  }

  async function giveBack(error: unknown): Promise<void> {
    const isFault = phase === 'running' && !(error instanceof StoreUnavailable);
    if (isFault) log.error({ err: error, kind, ref, faults: job.faults + 1 }, 'job failed; it comes back later');
    const pause = isFault ? Math.min(FIRST_PAUSE * 2 ** job.faults, LONGEST_PAUSE) : STORE_PAUSE;
    const dueAt = phase === 'stopped' ? job.dueAt : clock.now() + pause;
    await giveBackAt(dueAt, isFault ? 1 : 0);
  }

  async function giveBackAt(dueAt: number, faults: 0 | 1): Promise<void> {
    const write = () => store.call('returnJob', { id, lease, dueAt, faults });
    await persist(write, { clock, signal: controller.signal }).catch((error) => {
      log.warn({ err: error, kind, ref }, 'job not given back; its lease ends by itself');
    });
  }

  function keepLease(): void {
    cancelTimer = clock.after(lifetime / 3, () => {
      renew().finally(() => {
        if (phase === 'running') keepLease();
      });
    });
  }

  async function renew(): Promise<void> {
    const next = clock.now() + lifetime;
    try {
      if (await store.call('renewJob', { id, lease, until: next })) until = next;
      else lose();
    } catch (error) {
      // Nobody else can have it while the store is away; the next renewal tells.
      log.warn({ err: error, kind, ref }, 'lease not renewed');
    }
  }

  function lose(): void {
    const hadBegun = phase !== 'waiting';
    phase = 'lost';
    controller.abort(new Error(`the lease of job ${id} is lost`));
    if (!hadBegun) end();
  }

  function stop(): void {
    if (phase !== 'waiting') return;
    cancelTimer();
    phase = 'stopped';
    giveBackAt(job.dueAt, 0).then(end);
  }

  function abort(): void {
    if (phase === 'running') phase = 'stopped';
    controller.abort(new Error('the gateway stops'));
  }

  return { job, start: hold, renew, stop, abort, ended };
}
