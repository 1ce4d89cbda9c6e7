/** Job queue interfaces: jobs, their handlers and the scheduler. */

import type { ClaimedJob, LaneRates } from '../store/operations/jobs.ts';

/** A job claimed by this gateway until its lease expires, as its handler sees it. */
export type Job = Omit<ClaimedJob, 'faults' | 'late'>;

/** Handler for one kind of job. */
export interface JobHandler {
  readonly kind: string;
  /** Concurrency limits for jobs of this kind: in total, per lane, per owner, and in total for jobs marked late. */
  readonly limits: { total: number; lane: number; owner?: number; late?: number };
  /** Rate limits of lanes. */
  readonly rates?: {
    /** Read before each claim. */
    limits(now: number): LaneRates;
    /** A job was claimed, of any lane. */
    onClaimed(job: Job, now: number): void;
  };
  /** Expected upper bound of one run. The lease lasts longer, and is renewed while `run` is running. */
  readonly maxRunMs: number;
  /**
   * Runs one job and finishes or reschedules it in its own transaction, guarded by the lease. If it throws, the job is
   * retried with exponential backoff and no attempt is counted. `signal` aborts when the gateway stops or the lease is lost.
   */
  run(job: Job, signal: AbortSignal): Promise<void>;
}

export interface Scheduler {
  /** Signals that a job of this kind is due now. */
  wake(kind: string): void;
  /** Stops claiming, aborts running jobs after the grace period, and resolves when every job has finished or was returned. */
  stop(graceMs: number): Promise<void>;
}
