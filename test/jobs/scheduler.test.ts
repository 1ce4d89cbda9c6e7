/** The scheduler: jobs run at their moment, keep their lease, come back after faults, and survive set clocks and lost stores. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, createStoreClock } from '../../src/core/clock.ts';
import type { Job, JobHandler, Scheduler } from '../../src/jobs/job.ts';
import { createScheduler } from '../../src/jobs/scheduler.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { forEachStore, openTestSqlite } from '../store/stores.ts';
import { passing } from './activity.ts';
import { createManualClock } from './manual-clock.ts';
import { type JobStore, jobs, openJobStore, silent, until } from './rig.ts';

const START = 1_800_000_000_000;
const limits = { total: 256, lane: 8 };

interface RecordingHandler {
  runs: { job: Job; at: number }[];
  handler: JobHandler;
}

/** Finishes each job after noting it. */
function recordingHandler(store: JobStore, clock: Clock, over: Partial<JobHandler> = {}): RecordingHandler {
  const runs: RecordingHandler['runs'] = [];
  const run = async (job: Job) => {
    runs.push({ job, at: clock.now() });
    await store.do('finish', job);
  };
  return { runs, handler: { kind: 'test', limits, maxRunMs: 10_000, run, ...over } };
}

forEachStore((name, open) => {
  test(`each job runs once and never early, in whichever gateway claimed it (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const clock = createStoreClock(store);
    const started = clock.now();
    const planned = Array.from({ length: 60 }, (_, index) => started + 200 + index * 17);
    await store.do('addJobs', { jobs: planned.flatMap((dueAt, index) => jobs(1, { dueAt, lane: `${index}` })) });
    const stores: Store[] = name === 'postgres' ? [store, await store.beside()] : [store];
    // By the clock of the gateway that runs it: another one may be a round trip behind.
    const recordings = stores.map((each) => recordingHandler(store, createStoreClock(each)));
    const schedulers = stores.map((each, index) =>
      createScheduler({
        store: each,
        handlers: recordings.slice(index, index + 1).map(({ handler }) => handler),
        log: silent,
      }),
    );
    const finished = () => recordings.flatMap(({ runs }) => runs);
    await until(() => finished().length >= planned.length);
    await Promise.all(schedulers.map((scheduler) => scheduler.stop(1000)));
    const runs = finished();
    assert.equal(new Set(runs.map(({ job }) => job.id)).size, planned.length);
    assert.equal(runs.length, planned.length);
    const lateness = runs.map(({ job, at }) => at - job.dueAt).sort((one, other) => one - other);
    context.diagnostic(`lateness: p50 ${lateness[30]} ms, max ${lateness.at(-1)} ms`);
    assert.ok((lateness[0] ?? -1) >= 0, 'never early');
    // A busy machine makes some late.
    assert.ok((lateness[6] ?? 0) < 150, `p10 ${lateness[6]} ms`);
    assert.ok((lateness[30] ?? 0) < 1_500, `p50 ${lateness[30]} ms`);
  });

  test(`another gateway runs the jobs of a dead one, and its late results are discarded (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const clock = createManualClock(START);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: clock.now() }) });
    const frozen = Promise.withResolvers<void>();
    const results: boolean[] = [];
    const stuck = recordingHandler(store, clock, {
      run: async (job) => {
        await frozen.promise;
        results.push(await store.do('finish', job));
      },
    });
    const first = createScheduler({
      store,
      handlers: [stuck.handler],
      log: silent,
      clock: still(clock),
    });
    await until(async () => (await store.do('countJobs', { kind: 'test', now: clock.now() })).held === 1);
    const second = recordingHandler(store, clock);
    const other = createScheduler({ store, handlers: [second.handler], log: silent, clock });
    await passing({ clock, activity: store.activity, most: 40_000 }, () => second.runs.length === 1);
    assert.equal(second.runs[0]?.job.claims, 2);
    frozen.resolve();
    await until(() => results.length === 1);
    assert.deepEqual(results, [false]);
    await stopping(clock, other);
    await first.stop(0);
  });
});

/** The clock of a gateway that stands still: none of its timers fires. */
function still(clock: Clock): Clock {
  return { ...clock, after: () => () => {} };
}

async function stopping(clock: ReturnType<typeof createManualClock>, scheduler: Scheduler): Promise<void> {
  let isStopped = false;
  const stopped = scheduler.stop(0).then(() => {
    isStopped = true;
  });
  while (!isStopped) {
    clock.advance(1);
    await delay(1);
  }
  await stopped;
}

describe('a scheduler with a manual clock', () => {
  async function rig(context: Parameters<typeof openTestSqlite>[0]) {
    const store = await openJobStore(context, openTestSqlite);
    const clock = createManualClock(START);
    const { calls, faulty, fail } = faultyStore(store);
    const begin = (handler: JobHandler) => {
      const scheduler = createScheduler({ store: faulty, handlers: [handler], log: silent, clock });
      context.after(() => stopping(clock, scheduler));
      return scheduler;
    };
    const pass = (most: number, condition: () => boolean) =>
      passing({ clock, activity: store.activity, most }, condition);
    return { store, clock, calls, fail, begin, pass };
  }

  test('retries a failed job with exponential backoff up to 15 minutes', async (context) => {
    const { store, clock, begin, pass } = await rig(context);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START }) });
    const at: number[] = [];
    const run = () => {
      at.push(clock.now());
      return Promise.reject(new Error('a fault of ours'));
    };
    begin(recordingHandler(store, clock, { run }).handler);
    const pauses: number[] = [];
    while (pauses.length < 10) {
      await pass(5000, () => at.length > pauses.length);
      const settled = async () => (await store.do('listJobs', { kind: 'test' })).find(({ lease }) => lease === '');
      await until(async () => (await settled())?.faults === at.length);
      const row = await settled();
      assert.equal(row?.attempt, 0, 'no attempt is counted');
      pauses.push(Math.round((Number(row?.due_at) - (at.at(-1) ?? 0)) / 1000));
      clock.advance((pauses.at(-1) ?? 0) * 1000);
    }
    assert.deepEqual(pauses, [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]);
  });

  test('renews the lease of a long run, and aborts a run whose lease is lost', async (context) => {
    const { store, clock, begin, pass } = await rig(context);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START }) });
    const runs: AbortSignal[] = [];
    const run = (_job: Job, signal: AbortSignal) =>
      new Promise<void>((_resolve, reject) => {
        runs.push(signal);
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    begin(recordingHandler(store, clock, { run }).handler);
    await pass(1000, () => runs.length === 1);
    for (let seconds = 0; seconds < 120; seconds++) {
      clock.advance(1000);
      await store.activity.quiet();
    }
    assert.equal(runs.length, 1);
    assert.equal(runs[0]?.aborted, false);
    const [row] = await store.do('listJobs', { kind: 'test' });
    await store.do('finish', { id: String(row?.id), lease: String(row?.lease) });
    await pass(20_000, () => runs[0]?.aborted === true);
  });

  test('backs off while the store fails, and resumes soon after its recovery', async (context) => {
    const { store, clock, begin, calls, fail, pass } = await rig(context);
    fail('claimJobs', 60);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START }) });
    const { runs, handler } = recordingHandler(store, clock);
    begin(handler);
    await pass(300_000, () => calls('claimJobs').length > 60);
    const moments = calls('claimJobs').slice(0, 61);
    const gaps = moments.slice(1).map((moment, index) => moment - (moments[index] ?? 0));
    assert.deepEqual(gaps.slice(0, 7), [100, 200, 400, 800, 1600, 3200, 4000]);
    assert.ok(gaps.every((gap) => gap >= 100 && gap <= 4000));
    await pass(5000, () => runs.length === 1);
  });

  test('a result that the store could not save is neither lost nor counted as a fault', async (context) => {
    const { store, clock, begin, fail, pass } = await rig(context);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START }) });
    let runs = 0;
    const run = async (job: Job) => {
      runs += 1;
      if (runs === 1) throw new StoreUnavailable('full disk');
      await store.do('finish', job);
    };
    fail('returnJob', 3);
    begin(recordingHandler(store, clock, { run }).handler);
    await pass(5000, () => runs === 2);
  });

  test('a run keeps its job while the store is away for longer than its lease', async (context) => {
    const { store, clock, begin, calls, fail, pass } = await rig(context);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START }) });
    const runs: AbortSignal[] = [];
    const ended = Promise.withResolvers<void>();
    const results: boolean[] = [];
    const run = async (job: Job, signal: AbortSignal) => {
      runs.push(signal);
      await ended.promise;
      results.push(await store.do('finish', job));
    };
    begin(recordingHandler(store, clock, { run }).handler);
    await pass(1000, () => runs.length === 1);
    const away = (times: number) => ['nextDueJobs', 'claimJobs', 'renewJob'].map((name) => fail(name, times));
    away(Number.POSITIVE_INFINITY);
    const lost = clock.now();
    await pass(60_000, () => clock.now() - lost > 41_000);
    away(0);
    const looks = calls('nextDueJobs').length;
    await pass(10_000, () => calls('nextDueJobs').length > looks + 1);
    ended.resolve();
    await until(() => results.length === runs.length);
    assert.equal(runs.length, 1, 'another run of the same job began');
    assert.deepEqual(results, [true]);
  });

  test('after an outage, the jobs of a gateway stay with it, unless it does not come back', async (context) => {
    const store = await openJobStore(context, openTestSqlite);
    const clock = createManualClock(START);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START }) });
    const ended = Promise.withResolvers<void>();
    const gateways = [1, 2].map((number) => {
      const { faulty, fail } = faultyStore(store);
      const runs: boolean[] = [];
      const run = async (job: Job) => {
        runs.push(false);
        if (number === 1) await ended.promise;
        runs[0] = await store.do('finish', job);
      };
      const { handler } = recordingHandler(store, clock, { run });
      const away = (times: number) => ['nextDueJobs', 'claimJobs', 'renewJob'].map((name) => fail(name, times));
      return { runs, away, begin: () => createScheduler({ store: faulty, handlers: [handler], log: silent, clock }) };
    });
    const [first, second] = gateways as [(typeof gateways)[0], (typeof gateways)[0]];
    const pass = (milliseconds: number) => {
      const until = clock.now() + milliseconds;
      return passing({ clock, activity: store.activity, most: 100_000 }, () => clock.now() >= until);
    };
    const schedulers = [first.begin()];
    await pass(1000);
    schedulers.push(second.begin());
    await pass(1000);
    for (const { away } of gateways) away(Number.POSITIVE_INFINITY);
    await pass(45_000);
    second.away(0);
    await pass(6_000);
    first.away(0);
    await pass(30_000);
    assert.deepEqual([first.runs.length, second.runs.length], [1, 0]);
    first.away(Number.POSITIVE_INFINITY);
    second.away(10);
    await pass(60_000);
    assert.deepEqual([first.runs.length, second.runs], [1, [true]]);
    ended.resolve();
    await Promise.all(schedulers.map((scheduler) => stopping(clock, scheduler)));
    assert.deepEqual(first.runs, [false]);
  });

  test('a clock set forward starts due jobs once, and keeps leases', async (context) => {
    const { store, clock, begin, pass } = await rig(context);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START }) });
    await store.do('addJobs', { jobs: jobs(3, { lane: 'later', dueAt: START + 600_000 }) });
    const started: string[] = [];
    const running = Promise.withResolvers<void>();
    const run = async (job: Job) => {
      started.push(job.ref);
      await running.promise;
      await store.do('finish', job);
    };
    begin(recordingHandler(store, clock, { run }).handler);
    await pass(1000, () => started.length === 1);
    clock.set(clock.now() + 3_600_000);
    await pass(2000, () => started.length === 4);
    for (let round = 0; round < 20; round++) {
      clock.advance(500);
      await store.activity.quiet();
    }
    assert.equal(new Set(started).size, started.length);
    running.resolve();
  });

  test('a clock set back delays no job by more than two seconds', async (context) => {
    const { store, clock, begin, pass } = await rig(context);
    const { runs, handler } = recordingHandler(store, clock);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START + 10_000 }) });
    begin(handler);
    for (let round = 0; round < 10; round++) {
      clock.advance(300);
      await store.activity.quiet();
    }
    clock.set(clock.now() - 3_600_000);
    const waited = await pass(20_000, () => runs.length === 1);
    assert.ok(waited >= 7_000 - 100 && waited <= 9_000, `${waited} ms after 3,000`);
  });

  test('a clock set back between the claim of a job and its run does not delay it', async (context) => {
    const { store, clock, begin, calls, pass } = await rig(context);
    const { runs, handler } = recordingHandler(store, clock);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START + 3_900 }) });
    begin({ ...handler, limits: { total: 1, lane: 1 } });
    await pass(5_000, () => clock.now() >= START + 3_100);
    assert.equal((await store.do('countJobs', { kind: 'test', now: clock.now() })).held, 1);
    clock.set(clock.now() - 3_600_000);
    await pass(5_000, () => runs.length === 1);
    const looks = calls('nextDueJobs').length;
    await pass(5_000, () => calls('nextDueJobs').length > looks);
  });

  test('a clock set back during a claim delays no job', async (context) => {
    const { store, clock, begin, pass } = await rig(context);
    let isSet = false;
    const rates: JobHandler['rates'] = {
      limits(now) {
        if (!isSet && now > START + 3_000) {
          isSet = true;
          clock.set(now - 3_600_000);
        }
        return { prefix: 'none', lanes: {}, unlisted: 1 };
      },
      onClaimed() {},
    };
    const { runs, handler } = recordingHandler(store, clock, { rates });
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START + 4_200 }) });
    begin(handler);
    await pass(10_000, () => runs.length === 1);
    assert.ok(isSet);
    assert.ok(clock.monotonic() < 7_000, `${clock.monotonic()} ms`);
  });

  test('what the clock from before it was set back by years writes later delays no job', async (context) => {
    const { store, clock, begin, pass } = await rig(context);
    const { runs, handler } = recordingHandler(store, clock);
    begin(handler);
    await pass(1_000, () => clock.now() >= START + 600);
    clock.set(3_600_000);
    await pass(2_000, () => clock.now() >= 3_602_000);
    await store.do('addJobs', { jobs: jobs(1, { lane: 'late', dueAt: START + 5_000 }), late: true });
    await store.do('addJobs', { jobs: jobs(1, { lane: 'early', dueAt: START + 5_000 }) });
    await store.do('leaseJobs', { lane: 'early', lease: 'of a gateway that is gone', until: START + 30_000 });
    await pass(60_000, () => runs.length === 2);
    assert.deepEqual(new Set(runs.map(({ job }) => job.lane)), new Set(['early', 'late']));
  });

  test('a run that waits as the clock of a database is set back by years keeps its place from no other job', async (context) => {
    const store = await openJobStore(context, openTestSqlite);
    const clock = createManualClock(START);
    const { runs, handler } = recordingHandler(store, clock);
    await store.do('addJobs', { jobs: jobs(1, { lane: 'before', dueAt: START + 3_900 }) });
    const narrow = { ...handler, limits: { total: 1, lane: 1 } };
    const scheduler = createScheduler({
      store: { ...store, engine: 'postgres' },
      handlers: [narrow],
      log: silent,
      clock,
    });
    context.after(() => stopping(clock, scheduler));
    await passing({ clock, activity: store.activity, most: 5_000 }, () => clock.now() >= START + 3_100);
    clock.set(clock.now() - 365 * 86_400_000);
    await store.do('addJobs', { jobs: jobs(1, { lane: 'after', dueAt: clock.now() }) });
    await passing({ clock, activity: store.activity, most: 60_000 }, () => runs.length === 2);
    assert.deepEqual(new Set(runs.map(({ job }) => job.lane)), new Set(['before', 'after']));
  });

  test('a clock set back delays no job where the store was away then', async (context) => {
    const { store, clock, begin, fail, pass } = await rig(context);
    const { runs, handler } = recordingHandler(store, clock);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START + 10_000 }) });
    begin(handler);
    await pass(3_000, () => clock.now() >= START + 2_000);
    fail('shiftJobs', 1);
    clock.set(clock.now() - 3_600_000);
    await pass(12_000, () => runs.length === 1);
  });

  test('a scheduler without due jobs reads once a second for all kinds, and writes nothing', async (context) => {
    const store = await openJobStore(context, openTestSqlite);
    const clock = createManualClock(START);
    const { calls, faulty } = faultyStore(store);
    const { runs, handler } = recordingHandler(store, clock);
    const kinds = ['other', 'another', 'test'];
    const handlers = kinds.map((kind) => ({ ...handler, kind }));
    await store.do('addJobs', { jobs: jobs(1, { dueAt: START + 20_400 }) });
    const scheduler = createScheduler({ store: faulty, handlers, log: silent, clock });
    context.after(() => stopping(clock, scheduler));
    const pass = (most: number, condition: () => boolean) =>
      passing({ clock, activity: store.activity, most }, condition);
    await pass(2_000, () => clock.now() >= START + 1_500);
    const before = { claims: calls('claimJobs').length, looks: calls('nextDueJobs').length };
    await pass(12_000, () => clock.now() >= START + 11_500);
    assert.equal(calls('claimJobs').length, before.claims);
    const looks = calls('nextDueJobs').length - before.looks;
    assert.ok(looks >= 8 && looks <= 11, `${looks} reads in 10 s`);
    await pass(12_000, () => runs.length === 1);
    assert.ok(clock.now() - START - 20_400 <= 100, 'the job ran when it was due');
    assert.ok(
      calls('claimJobs').some((at) => at >= START + 19_400 && at < START + 20_400),
      'and was claimed before',
    );
  });

  test('a wake-up before the next look is no clock that was set back', async (context) => {
    const { store, clock, begin, calls } = await rig(context);
    const { handler } = recordingHandler(store, clock);
    const scheduler = begin(handler);
    const pass = async (milliseconds: number) => {
      clock.advance(milliseconds);
      await store.activity.quiet();
    };
    await pass(450);
    scheduler.wake('test');
    await pass(0);
    // The next look is the one behind the full second, in 1,050 ms.
    await pass(500);
    await pass(10);
    scheduler.wake('test');
    await pass(0);
    assert.equal(calls('nextDueJobs').length, 1);
    assert.equal(calls('claimJobs').length, 3);
    assert.deepEqual(calls('shiftJobs'), []);
  });

  test('stop returns waiting jobs, lets running jobs finish, and aborts them after the grace period', async (context) => {
    const { store, clock, begin } = await rig(context);
    await store.do('addJobs', {
      jobs: [...jobs(2, { lane: 'now', dueAt: START }), ...jobs(1, { dueAt: START + 900 })],
    });
    let aborted = 0;
    let finished = 0;
    const run = (job: Job, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        if (job.ref.endsWith('0'))
          clock.after(2000, () => store.do('finish', job).then(() => resolve(void finished++)));
        signal.addEventListener('abort', () => {
          aborted++;
          reject(signal.reason);
        });
      });
    const scheduler = begin(recordingHandler(store, clock, { run }).handler);
    const held = async () => (await store.do('countJobs', { kind: 'test', now: clock.now() })).held;
    await until(async () => (await held()) === 3);
    const stopped = scheduler.stop(5000);
    await until(async () => (await held()) === 2);
    clock.advance(2500);
    await until(() => finished === 1);
    clock.advance(3000);
    await stopped;
    assert.equal(aborted, 1);
    const rows = await store.do('listJobs', { kind: 'test' });
    assert.deepEqual(rows.map(({ lease, due_at, faults }) => [lease, due_at, faults]).sort(), [
      ['', START, 0],
      ['', START + 900, 0],
    ]);
  });

  test('a failing lane with many due jobs does not delay other lanes', async (context) => {
    const store = await openJobStore(context, openTestSqlite);
    const clock = createStoreClock(store);
    await store.do('addJobs', { jobs: jobs(10_000, { lane: 'dead', owner: 'a', dueAt: clock.now() - 1000 }) });
    const latencies: number[] = [];
    let slow = 0;
    const run = async (job: Job, signal: AbortSignal) => {
      if (job.lane === 'dead') {
        slow++;
        await delay(10_000, undefined, { signal });
      }
      latencies.push(clock.now() - job.dueAt);
      await store.do('finish', job);
    };
    const handler = { kind: 'test', limits: { total: 32, lane: 8, late: 16 }, maxRunMs: 10_000, run };
    const scheduler = createScheduler({ store, handlers: [handler], log: silent });
    for (let index = 0; index < 40; index++) {
      await store.do('addJobs', { jobs: jobs(1, { lane: 'healthy', owner: `${index}`, dueAt: clock.now() }) });
      scheduler.wake('test');
      await delay(25);
    }
    await until(() => latencies.length === 40);
    await scheduler.stop(0);
    latencies.sort((one, other) => one - other);
    context.diagnostic(`healthy: p50 ${latencies[20]} ms, max ${latencies.at(-1)} ms; slow lane: ${slow} at once`);
    assert.equal(slow, 8);
    // Behind the slow ones it would be ten seconds and more.
    assert.ok((latencies[20] ?? 0) <= 2_000 && (latencies.at(-1) ?? 0) < 8_000);
  });
});

/** The store, failing as often as asked, and when it was asked. */
function faultyStore(store: Store) {
  const failing = new Map<string, number>();
  const asked: { name: string; at: number }[] = [];
  const faulty: Store = {
    ...store,
    async call(name, parameters) {
      asked.push({ name, at: (parameters as { now?: number }).now ?? 0 });
      const left = failing.get(name) ?? 0;
      failing.set(name, left - 1);
      if (left > 0) throw new StoreUnavailable('away');
      return store.call(name, parameters);
    },
  };
  return {
    faulty,
    calls: (name: string) => asked.filter((call) => call.name === name).map((call) => call.at),
    fail: (name: string, times: number) => failing.set(name, times),
  };
}
