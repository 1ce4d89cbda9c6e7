/**
 * Claims the jobs of one kind a little before they are due, holds each to its millisecond, and runs it. Nothing here is
 * remembered: what a dead gateway held is due again when its lease ends.
 */

import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { ClaimedJob, QueueEnds } from '../store/operations/jobs.ts';
import type { Store } from '../store/store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import type { Handler } from './job.ts';
import { createRun, type Run } from './job-run.ts';
import { backOff } from './persistence.ts';

export interface CrewOptions {
  store: Store;
  handler: Handler;
  log: Pick<Logger, 'warn' | 'error'>;
  clock: Clock;
}

export interface Worker {
  wake(): void;
  stop(grace: number): Promise<void>;
}

/** Milliseconds between two looks at the table, and how far each looks ahead. */
const POLL = 500;
const LOOK = 1_000;
/** By how much a lease outlasts the longest run. */
const MARGIN = 20_000;
/** A clock that is off by more, compared with our timers, has been set. */
const JUMP = 1_000;

export function createWorker(options: CrewOptions): Worker {
  const { store, handler, log, clock } = options;
  const { kind, limits } = handler;
  const lifetime = handler.patience + MARGIN;
  const runs = new Set<Run>();
  let places: QueueEnds = {};
  let state: 'idle' | 'claiming' | 'claiming-again' | 'failed' | 'stopped' = 'idle';
  let failures = 0;
  let armed = { at: clock.now(), interval: 0 };
  let disarm = () => {};
  let claiming: Promise<void> = Promise.resolve();

  function arm(interval: number): void {
    disarm();
    armed = { at: clock.now(), interval };
    disarm = clock.after(interval, () => {
      if (state === 'failed') state = 'idle';
      wake();
    });
  }

  function wake(): void {
    if (state === 'claiming') state = 'claiming-again';
    if (state !== 'idle') return;
    state = 'claiming';
    claiming = claim();
  }

  async function claim(): Promise<void> {
    try {
      await heedJump();
      await fill();
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures === 1 || !(error instanceof StoreUnavailable)) log.error({ err: error, kind }, 'no jobs claimed');
    }
    const again = state === 'claiming-again';
    if (state === 'stopped') return;
    state = failures > 0 ? 'failed' : 'idle';
    arm(failures > 0 ? backOff(failures) : POLL);
    if (again && failures === 0) wake();
  }

  async function fill(): Promise<void> {
    const slots = limits.total - runs.size;
    if (slots <= 0) return;
    const lateHeld = [...runs].filter(({ job }) => job.late).length;
    const now = clock.now();
    const claimed = await store.call('claimJobs', {
      ...{ kind, now, until: now + LOOK, lease: randomUUID(), leaseUntil: now + lifetime },
      ...{ slots, lateSlots: (limits.late ?? limits.total) - lateHeld },
      ...{ lane: limits.lane, owner: limits.owner ?? limits.total, places },
    });
    places = claimed.places;
    for (const job of claimed.jobs) begin(job, now + lifetime);
  }

  function begin(job: ClaimedJob, leaseUntil: number): void {
    const run = createRun({ ...options, job, leaseUntil, lifetime });
    runs.add(run);
    // What was claimed while the gateway began to stop goes back undone.
    if (state === 'stopped') run.stop();
    else run.start();
    run.ended.then(() => {
      runs.delete(run);
      wake();
    });
  }

  /** Timers measure how long it was, the clock says what time it is: where they differ, the clock was set or we stood still. */
  async function heedJump(): Promise<void> {
    const now = clock.now();
    const jump = now - armed.at - armed.interval;
    if (jump < -JUMP && store.engine === 'sqlite') {
      log.warn({ kind, by: -jump }, 'the clock was set back; jobs keep their delays');
      await store.call('shiftJobs', { kind, now, by: -jump });
      armed = { at: now, interval: 0 };
    }
    if (jump > JUMP) await Promise.all([...runs].map((run) => run.renew()));
  }

  async function stop(grace: number): Promise<void> {
    disarm();
    state = 'stopped';
    await claiming;
    for (const run of runs) run.stop();
    const cancel = clock.after(grace, () => {
      for (const run of runs) run.abort();
    });
    await Promise.all([...runs].map((run) => run.ended));
    cancel();
  }

  wake();
  return { wake, stop };
}
