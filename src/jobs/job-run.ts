/** One claimed job from its claim to its end: waits for its moment, keeps its lease, gives it back if it came to nothing. */

import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { ClaimedJob } from '../store/operations/jobs.ts';
import type { Store } from '../store/store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import type { JobHandler } from './job.ts';
import { retryWhileUnavailable } from './store-retry.ts';

export interface JobRunOptions {
  store: Store;
  handler: JobHandler;
  log: Pick<Logger, 'warn' | 'error'>;
  clock: Clock;
  job: ClaimedJob;
  leaseUntil: number;
  /** Milliseconds that a lease lasts. */
  leaseMs: number;
}

export interface JobRun {
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
const FIRST_RETRY_DELAY_MS = 5_000;
const MAX_RETRY_DELAY_MS = 15 * 60_000;
/** And one that failed because the store was away. */
const STORE_RETRY_DELAY_MS = 1_000;

export function createJobRun({ store, handler, log, clock, job, leaseUntil, leaseMs }: JobRunOptions): JobRun {
  const { id, lease, kind, ref } = job;
  const controller = new AbortController();
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let leaseEndsAt = leaseUntil;
  let phase: 'waiting' | 'running' | 'stopped' | 'lost' | 'over' = 'waiting';
  let cancelTimer = () => {};

  /** Timers may fire a little early, and the clock may have moved meanwhile. */
  function startWhenDue(): void {
    const delay = job.dueAt - clock.now();
    if (delay > 0) cancelTimer = clock.after(delay, startWhenDue);
    else runIfLeased();
  }

  function runIfLeased(): void {
    // Whoever slept past the end of the lease knows that somebody else may have the job.
    if (clock.now() >= leaseEndsAt) finish();
    else {
      phase = 'running';
      scheduleRenewal();
      runHandler().finally(finish);
    }
  }

  function finish(): void {
    cancelTimer();
    phase = 'over';
    resolve();
  }

  async function runHandler(): Promise<void> {
    try {
      await handler.run(job, controller.signal);
    } catch (error) {
      if (phase !== 'lost') await returnAfterFailure(error);
    }
  }

  async function returnAfterFailure(error: unknown): Promise<void> {
    const isFault = phase === 'running' && !(error instanceof StoreUnavailable);
    if (isFault) log.error({ err: error, kind, ref, faults: job.faults + 1 }, 'job failed; it comes back later');
    const pause = isFault ? Math.min(FIRST_RETRY_DELAY_MS * 2 ** job.faults, MAX_RETRY_DELAY_MS) : STORE_RETRY_DELAY_MS;
    const dueAt = phase === 'stopped' ? job.dueAt : clock.now() + pause;
    await returnJob(dueAt, isFault ? 1 : 0);
  }

  async function returnJob(dueAt: number, faults: 0 | 1): Promise<void> {
    const write = () => store.call('returnJob', { id, lease, dueAt, faults });
    await retryWhileUnavailable(write, { clock, signal: controller.signal }).catch((error) => {
      log.warn({ err: error, kind, ref }, 'job not given back; its lease ends by itself');
    });
  }

  function scheduleRenewal(): void {
    cancelTimer = clock.after(leaseMs / 3, () => {
      renew().finally(() => {
        if (phase === 'running') scheduleRenewal();
      });
    });
  }

  async function renew(): Promise<void> {
    const next = clock.now() + leaseMs;
    try {
      if (await store.call('renewJob', { id, lease, until: next })) leaseEndsAt = next;
      else handleLostLease();
    } catch (error) {
      // Nobody else can have it while the store is away; the next renewal tells.
      log.warn({ err: error, kind, ref }, 'lease not renewed');
    }
  }

  function handleLostLease(): void {
    const hadBegun = phase !== 'waiting';
    phase = 'lost';
    controller.abort(new Error(`the lease of job ${id} is lost`));
    if (!hadBegun) finish();
  }

  function stop(): void {
    if (phase !== 'waiting') return;
    cancelTimer();
    phase = 'stopped';
    returnJob(job.dueAt, 0).then(finish);
  }

  function abort(): void {
    if (phase === 'running') phase = 'stopped';
    controller.abort(new Error('the gateway stops'));
  }

  return { job, start: startWhenDue, renew, stop, abort, ended };
}
