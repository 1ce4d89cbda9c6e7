/** A job as its handler sees it. */

/** Claimed by this gateway until its lease ends; `id` and `lease` guard every write on its behalf. */
export interface Job {
  id: string;
  kind: string;
  ref: string;
  lane: string;
  owner: string;
  /** Unix milliseconds. */
  dueAt: number;
  /** Attempts that had an outcome before this one. */
  attempt: number;
  /** Times it was claimed, this one included. */
  claims: number;
  lease: string;
}

/** Does the jobs of one kind. */
export interface JobHandler {
  readonly kind: string;
  /** Jobs of the kind at once: in all, of one lane, of one owner; and in all of those that are marked late. */
  readonly limits: { total: number; lane: number; owner?: number; late?: number };
  /** Milliseconds that a job of the kind may take; its lease lasts longer and is renewed for as long as `run` runs. */
  readonly maxRunMs: number;
  /**
   * Does one job and finishes or reschedules it in a transaction of its own, guarded by the lease. When it throws, the
   * job comes back after a pause that grows; no attempt is counted. `signal` aborts when the gateway stops or the lease is lost.
   */
  run(job: Job, signal: AbortSignal): Promise<void>;
}

export interface Scheduler {
  /** Says that a job of the kind became due now. */
  wake(kind: string): void;
  /** Claims nothing more, aborts what runs after `grace` milliseconds, and resolves when all is given back. */
  stop(graceMs: number): Promise<void>;
}
