/**
 * Job worker: claims the jobs of one kind shortly before they are due and runs each at its due time. It keeps no state of
 * its own: jobs held by a gateway that died are claimed again when their leases expire.
 */

import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { JobTimes } from '../store/operations/job-candidates.ts';
import type { ClaimedJob, QueueCursors } from '../store/operations/jobs.ts';
import type { Store } from '../store/store.ts';
import { StoreUnavailable, storeRetryDelay } from '../store/unavailable.ts';
import type { JobHandler } from './job.ts';
import { createJobRun, type JobRun } from './job-run.ts';

export interface JobWorkerOptions {
  store: Store;
  handler: JobHandler;
  /** Times of the jobs, by kind. */
  jobTimes(): Promise<ReadonlyMap<string, JobTimes>>;
  log: Pick<Logger, 'warn' | 'error'>;
  clock: Clock;
}

export interface JobWorker {
  wake(): void;
  /** Stops claiming and waits for running jobs, which are aborted after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** Time from a claim to the next look. */
const CLAIM_INTERVAL_MS = 500;
/** Interval of the looks while no job is due soon, for jobs that another gateway added, and clocks that are set. */
const LOOK_INTERVAL_MS = 1_000;
const MIN_LOOK_INTERVAL_MS = 100;
/** Each claim includes jobs that become due within this time. */
export const LOOKAHEAD_MS = 1_000;
/** Time by which a lease outlasts the longest run. */
const LEASE_MARGIN_MS = 20_000;
/** Time after an outage of the store in which gateways renew the leases that expired during it. */
const RECOVERY_MS = 15_000;
/** Difference between clock and timers above which the clock is taken to have been set. */
const CLOCK_JUMP_MS = 1_000;
/** No job is due, and no lease ends, later than this from now: what is later was written by a clock that was set back since. */
const MAX_AHEAD_MS = 2 * 3_600_000;

export function createJobWorker(options: JobWorkerOptions): JobWorker {
  const { store, handler, log, clock } = options;
  const { kind, limits } = handler;
  const leaseMs = handler.maxRunMs + LEASE_MARGIN_MS;
  const runs = new Set<JobRun>();
  let cursors: QueueCursors = {};
  let state: 'idle' | 'claiming' | 'claiming-again' | 'failed' | 'stopped' = 'idle';
  let failures = 0;
  /** Time of the last claim before an outage of the store, and where the monotonic clock stands when its leases may be taken. */
  const outage = { since: clock.now(), overAt: Number.NEGATIVE_INFINITY };
  /** What the clock showed at the origin of the monotonic one, as of the last look. */
  let origin = clock.now() - clock.monotonic();
  /** When the next look was scheduled, by the monotonic clock, and the time until it. */
  let scheduled = { since: clock.monotonic(), interval: 0 };
  let cancelTimer = () => {};
  let claiming: Promise<void> = Promise.resolve();

  function scheduleLook(interval: number): void {
    cancelTimer();
    scheduled = { since: clock.monotonic(), interval };
    cancelTimer = clock.after(interval, () => {
      if (state === 'failed') state = 'idle';
      // A kind that was never claimed is not among those that a look reads.
      begin(failures > 0 ? claimAvailable : look);
    });
  }

  function wake(): void {
    begin(claimAvailable);
  }

  /** Begins a look or a claim, which return the time until the next look. */
  function begin(work: () => Promise<number>): void {
    if (state === 'claiming') state = 'claiming-again';
    if (state !== 'idle') return;
    state = 'claiming';
    claiming = run(work);
  }

  async function run(work: () => Promise<number>): Promise<void> {
    let interval = CLAIM_INTERVAL_MS;
    try {
      await handleClockJump();
      await renewExpired();
      interval = await work();
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures === 1 || !(error instanceof StoreUnavailable))
        log.error({ err: error, kind }, 'jobs could not be claimed');
    }
    const again = state === 'claiming-again';
    if (state === 'stopped') return;
    state = failures > 0 ? 'failed' : 'idle';
    scheduleLook(failures > 0 ? storeRetryDelay(failures) : interval);
    if (again && failures === 0) wake();
  }

  /** Leases that had expired by this time may be taken. Their holders could not renew those that expired during an outage. */
  function expiredBy(now: number): number {
    const isRecovering = failures > 0 || clock.monotonic() < outage.overAt;
    return isRecovering ? Math.min(now, outage.since) : now;
  }

  function noteContact(now: number): void {
    if (failures > 0) outage.overAt = clock.monotonic() + RECOVERY_MS;
    else if (clock.monotonic() >= outage.overAt) outage.since = now;
  }

  /** Claims only where a job is due soon: a claim writes to the store, and an idle gateway would do so for each kind of job. */
  async function look(): Promise<number> {
    const { dueAt = Number.POSITIVE_INFINITY, latest = 0 } = (await options.jobTimes()).get(kind) ?? {};
    const now = clock.now();
    // Set back amid this look: the next one shifts times and leases, and would shift corrected ones too.
    if (jumpUntil(now, clock.monotonic()) < -CLOCK_JUMP_MS) return MIN_LOOK_INTERVAL_MS;
    const isAhead = latest > now + MAX_AHEAD_MS;
    if (isAhead) await store.call('correctJobs', { kind, now, latest: now + MAX_AHEAD_MS, leaseUntil: now + leaseMs });
    const remaining = dueAt - LOOKAHEAD_MS - now;
    if (isAhead || remaining <= 0) return claimAvailable();
    noteContact(now);
    return Math.min(remaining, untilCommonLook(clock.monotonic()));
  }

  async function claimAvailable(): Promise<number> {
    const slots = limits.total - runs.size;
    if (slots <= 0) return CLAIM_INTERVAL_MS;
    const lateHeld = [...runs].filter(({ job }) => job.late).length;
    const now = clock.now();
    const claimed = await store.call('claimJobs', {
      kind,
      now,
      expiredBy: expiredBy(now),
      until: now + LOOKAHEAD_MS,
      lease: randomUUID(),
      leaseUntil: now + leaseMs,
      slots,
      lateSlots: (limits.late ?? limits.total) - lateHeld,
      maxPerLane: limits.lane,
      maxPerOwner: limits.owner ?? limits.total,
      cursors,
      rates: handler.rates?.limits(now),
    });
    noteContact(now);
    cursors = claimed.cursors;
    for (const job of claimed.jobs) {
      handler.rates?.onClaimed(job, now);
      startRun(job, now + leaseMs);
    }
    return CLAIM_INTERVAL_MS;
  }

  function startRun(job: ClaimedJob, leaseUntil: number): void {
    const run = createJobRun({ store, handler, log, clock, job, leaseUntil, leaseMs });
    runs.add(run);
    // Jobs claimed while the gateway was already stopping are returned without being run.
    if (state === 'stopped') void run.stop();
    else run.start();
    run.ended.then(() => {
      runs.delete(run);
      wake();
    });
  }

  /** Time by which the clock was set since the last look. */
  function jumpUntil(now: number, monotonic: number): number {
    // A wake-up comes before the look.
    const elapsed = Math.min(scheduled.interval, monotonic - scheduled.since);
    return now - origin - scheduled.since - elapsed;
  }

  /** Detects that the clock was set or the process suspended, by comparing the clock with the time that has passed, up to that of the timer. */
  async function handleClockJump(): Promise<void> {
    const now = clock.now();
    const monotonic = clock.monotonic();
    const jump = jumpUntil(now, monotonic);
    if (jump < -CLOCK_JUMP_MS) {
      // Those that wait here do so for the moment before.
      await Promise.all([...runs].map((run) => run.stop()));
      // On PostgreSQL several gateways would shift them; there, what lies too far ahead is corrected by a look.
      if (store.engine === 'sqlite') {
        log.warn({ kind, by: -jump }, 'the clock was set back; due times of jobs are shifted with it');
        await store.call('shiftJobs', { kind, now, by: -jump });
      }
    }
    if (jump > CLOCK_JUMP_MS) await Promise.all([...runs].map((run) => run.renew()));
    // Where the store failed, the next look sees the same.
    origin = now - monotonic;
    scheduled = { since: monotonic, interval: 0 };
  }

  /** While the store was unavailable, leases may have expired. A claim would take the jobs of this gateway's own runs. */
  async function renewExpired(): Promise<void> {
    const expired = [...runs].filter((run) => run.isExpired());
    await Promise.all(expired.map((run) => run.renew()));
    if (expired.some((run) => run.isExpired())) throw new StoreUnavailable('expired leases could not be renewed');
  }

  async function stop(grace: number): Promise<void> {
    cancelTimer();
    state = 'stopped';
    await claiming;
    for (const run of runs) void run.stop();
    const cancel = clock.after(grace, () => {
      for (const run of runs) run.abort();
    });
    await Promise.all([...runs].map((run) => run.ended));
    cancel();
  }

  wake();
  return { wake, stop };
}

/** Time until the next full second, or the one after if that is near: job workers without jobs look at the same time, and share a read. */
function untilCommonLook(now: number): number {
  return Math.ceil((now + MIN_LOOK_INTERVAL_MS) / LOOK_INTERVAL_MS) * LOOK_INTERVAL_MS - now;
}
