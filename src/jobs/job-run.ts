/** Job run: one claimed job. Waits until it is due, renews its lease while it runs, and returns it to the queue on failure. */

import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { ClaimedJob } from '../store/operations/jobs.ts';
import type { Store } from '../store/store.ts';
import { retryWhileUnavailable, StoreUnavailable } from '../store/unavailable.ts';
import type { JobHandler } from './job.ts';

export interface JobRunOptions {
  store: Store;
  handler: JobHandler;
  log: Pick<Logger, 'warn' | 'error'>;
  clock: Clock;
  job: ClaimedJob;
  leaseUntil: number;
  /** Duration of a lease. */
  leaseMs: number;
}

export interface JobRun {
  readonly job: ClaimedJob;
  /** Schedules the run for the time at which the job is due. */
  start(): void;
  /** Extends the lease by its full duration from now. */
  renew(): Promise<void>;
  /** Whether the lease has expired, so that a claim may take the job. */
  isExpired(): boolean;
  /** Returns the job to the queue if it has not started; resolves when it is there. */
  stop(): Promise<void>;
  /** Aborts the job even if it is running. */
  abort(): void;
  readonly ended: Promise<void>;
}

/** Longest wait at a time: no timer lasts as long as a clock can be set back. */
const MAX_WAIT_MS = 1_000;
/** Backoff of a job that threw: doubled by each consecutive failure. */
const FIRST_RETRY_DELAY_MS = 5_000;
const MAX_RETRY_DELAY_MS = 15 * 60_000;
/** Delay of a job that failed because the store was unavailable. */
const STORE_RETRY_DELAY_MS = 1_000;

export function createJobRun({ store, handler, log, clock, job, leaseUntil, leaseMs }: JobRunOptions): JobRun {
  const { id, lease, kind, ref } = job;
  const controller = new AbortController();
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let leaseEndsAt = leaseUntil;
  let phase: 'waiting' | 'running' | 'stopped' | 'lost' | 'over' = 'waiting';
  let cancelTimer = () => {};

  /** Timers may fire early and the clock may be adjusted, so the due time is checked again. */
  function startWhenDue(): void {
    const delay = job.dueAt - clock.now();
    if (delay > 0) cancelTimer = clock.after(Math.min(delay, MAX_WAIT_MS), startWhenDue);
    else runIfLeased();
  }

  function runIfLeased(): void {
    // The lease has expired: another gateway may hold the job.
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
    if (isFault) log.error({ err: error, kind, ref, faults: job.faults + 1 }, 'job failed; it is retried later');
    const pause = isFault ? Math.min(FIRST_RETRY_DELAY_MS * 2 ** job.faults, MAX_RETRY_DELAY_MS) : STORE_RETRY_DELAY_MS;
    const dueAt = phase === 'stopped' ? job.dueAt : clock.now() + pause;
    await returnJob(dueAt, isFault ? 1 : 0);
  }

  async function returnJob(dueAt: number, faults: 0 | 1): Promise<void> {
    const write = () => store.call('returnJob', { id, lease, dueAt, faults });
    await retryWhileUnavailable(write, { clock, signal: controller.signal }).catch((error) => {
      log.warn({ err: error, kind, ref }, 'job not returned to the queue; it becomes available when its lease expires');
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
      // No other gateway can claim the job while the store is unavailable. The next renewal decides.
      log.warn({ err: error, kind, ref }, 'lease not renewed');
    }
  }

  function handleLostLease(): void {
    const hadBegun = phase !== 'waiting';
    phase = 'lost';
    controller.abort(new Error(`the lease of job ${id} is lost`));
    if (!hadBegun) finish();
  }

  async function stop(): Promise<void> {
    if (phase !== 'waiting') return;
    cancelTimer();
    phase = 'stopped';
    await returnJob(job.dueAt, 0);
    finish();
  }

  function abort(): void {
    if (phase === 'running') phase = 'stopped';
    controller.abort(new Error('the gateway stops'));
  }

  const isExpired = () => (phase === 'waiting' || phase === 'running') && clock.now() >= leaseEndsAt;

  return { job, start: startWhenDue, renew, isExpired, stop, abort, ended };
}
