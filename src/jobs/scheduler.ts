/** Job scheduler: one job worker for each kind of job. */

import type { Logger } from 'pino';
import { type Clock, createStoreClock } from '../core/clock.ts';
import type { JobTimes } from '../store/operations/job-candidates.ts';
import type { Store } from '../store/store.ts';
import type { JobHandler, Scheduler } from './job.ts';
import { createJobWorker } from './job-worker.ts';

export interface SchedulerOptions {
  store: Store;
  handlers: readonly JobHandler[];
  log: Pick<Logger, 'warn' | 'error'>;
  clock?: Clock;
}

/** Starts claiming jobs immediately. */
export function createScheduler({
  store,
  handlers,
  log,
  clock = createStoreClock(store),
}: SchedulerOptions): Scheduler {
  const jobTimes = createSharedLook(store, clock);
  const workers = new Map(
    handlers.map((handler) => [handler.kind, createJobWorker({ store, handler, jobTimes, log, clock })]),
  );
  return {
    wake: (kind) => workers.get(kind)?.wake(),
    async stop(grace) {
      await Promise.all([...workers.values()].map((worker) => worker.stop(grace)));
    },
  };
}

/** Reads the times of jobs. Job workers that ask while a read is under way share it. */
function createSharedLook(store: Store, clock: Clock): () => Promise<ReadonlyMap<string, JobTimes>> {
  let reading: Promise<ReadonlyMap<string, JobTimes>> | undefined;
  return () => {
    reading ??= store.call('nextDueJobs', { now: clock.now() }).finally(() => {
      reading = undefined;
    });
    return reading;
  };
}
