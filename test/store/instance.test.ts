/** Instance registry: gateways on one database count each other. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { countGateways, joinStore } from '../../src/store/instance.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { intent } from '../usage/records.ts';
import { openTestPostgres, openTestSqlite } from './stores.ts';

const log = { warn() {} };

test('on PostgreSQL they are counted as they come and go', async (context) => {
  const store = await openTestPostgres(context);
  const joined = [await joinStore(store, log), await joinStore(store, log), await joinStore(store, log)];
  const count = async (expected: number) => {
    const gateways = countGateways(store, log);
    while (gateways.count() !== expected) await pause(5);
    gateways.close();
  };
  await count(3);
  await joined[0]?.close();
  await count(2);
  await Promise.all(joined.map((instance) => instance.close()));
});

test('on SQLite there is one', async (context) => {
  const store = await openTestSqlite(context);
  const instance = await joinStore(store, log);
  assert.equal(countGateways(store, log).count(), 1);
  await instance.close();
});

test('an instance is counted as long as its heart beats', async (context) => {
  const store = await openTestPostgres(context);
  const clock = createManualClock(0);
  let now = store.now();
  let running = 0;
  const call = ((name: 'heartbeat', parameters: never) => {
    running += 1;
    return store.call(name, parameters).finally(() => (running -= 1));
  }) as typeof store.call;
  const seen = { ...store, call, now: () => now };
  const dead = { ...clock, after: () => () => {} };
  const joined = [];
  for (const heart of [clock, clock, dead]) joined.push(await joinStore(seen, log, { clock: heart }));
  const gateways = countGateways(seen, log, clock);
  const count = async (expected: number) => {
    while (gateways.count() !== expected) await pause(5);
  };
  await count(3);
  for (let passed = 0; passed < 35_000; passed += 5_000) {
    now += 5_000;
    clock.advance(5_000);
    while (running > 0) await pause(1);
  }
  await count(2);
  gateways.close();
  await Promise.all(joined.map((instance) => instance.close()));
});

test('after an outage of the store, the first instance that is back does not take the others for dead', async (context) => {
  for (const store of [await openTestPostgres(context), await openTestSqlite(context)]) {
    const clock = createManualClock(0);
    const start = store.now();
    let now = start;
    let isAway = false;
    let running = 0;
    const call = ((name: 'heartbeat', parameters: never) => {
      if (isAway) return Promise.reject(new Error('away'));
      running += 1;
      return store.call(name, parameters).finally(() => (running -= 1));
    }) as typeof store.call;
    const seen = { ...store, call, now: () => now };
    const dead = { ...clock, after: () => () => {} };
    const join = (heart: Pick<ManualClock, 'after'>) => joinStore(seen, log, { clock: heart, role: 'worker' });
    const back = await join(clock);
    const gone = await join(dead);
    const pass = async (milliseconds: number) => {
      for (let passed = 0; passed < milliseconds; passed += 5_000) {
        now += 5_000;
        clock.advance(5_000);
        await pause(1);
        while (running > 0) await pause(1);
      }
    };
    const live = () => store.call('countInstances', { now });
    const holds = { name: 's', limit: 100n, want: 7n };
    await store.call('setHold', { ...holds, instance: gone.id });
    isAway = true;
    await pass(60_000);
    assert.deepEqual([back.isAlive(), await live()], [false, 0]);
    isAway = false;
    await pass(5_000);
    assert.deepEqual([back.isAlive(), await live()], [true, 2], store.engine);
    const { others } = await store.call('setHold', { ...holds, instance: back.id });
    assert.equal(others, 7n, 'its hold is there');
    await pass(40_000);
    assert.equal(await live(), 1, 'one that does not come back is dead after another lifetime');
    assert.equal((await store.call('setHold', { ...holds, instance: back.id })).others, 0n);
    await Promise.all([back.close(), gone.close()]);
  }
});

test('nothing stays of the holds of an instance that is gone', async (context) => {
  for (const store of [await openTestPostgres(context), await openTestSqlite(context)]) {
    const now = store.now();
    const beat = (id: string) => store.call('heartbeat', { id, now, until: now + 30_000, exclusive: false });
    const hold = { limit: 100n, want: 7n };
    for (const id of ['gone', 'here']) await beat(id);
    await store.call('setHold', { ...hold, name: 'a', instance: 'gone' });
    await store.call('setHold', { ...hold, name: 'b', instance: 'gone', want: 0n });
    await store.call('removeInstance', { id: 'gone' });
    // A call that was under way while it stopped.
    await store.call('setHold', { ...hold, name: 'a', instance: 'gone' });
    await beat('here');
    assert.equal((await store.call('setHold', { ...hold, name: 'a', instance: 'here' })).others, 0n);
    const forget = () => store.call('forgetHolds', { limit: 2 });
    assert.equal(await forget(), 1, 'the lock of b');
    await store.call('setHold', { ...hold, name: 'a', instance: 'here', want: 0n });
    assert.equal(await forget(), 2, 'the hold and the lock of a');
    assert.equal(await forget(), 0);
    for (const name of ['c', 'd', 'e']) await store.call('setHold', { ...hold, name, instance: 'here', want: 0n });
    assert.deepEqual([await forget(), await forget(), await forget()], [4, 2, 0]);
  }
});

test('an instance that died before the clock was set back by years is dead after a lifetime', async (context) => {
  for (const store of [await openTestPostgres(context), await openTestSqlite(context)]) {
    const now = store.now();
    const beat = (id: string, at: number) =>
      store.call('heartbeat', { id, now: at, until: at + 30_000, exclusive: false });
    for (const id of ['gone', 'here']) await beat(id, now);
    await store.call('setHold', { name: 'a', instance: 'gone', limit: 100n, want: 7n });
    const back = now - 10 * 365 * 24 * 3_600_000;
    for (let passed = 0; passed <= 35_000; passed += 5_000) {
      assert.equal(await beat('here', back + passed), false, 'it is known');
      assert.equal(await store.call('countInstances', { now: back + passed }), passed < 30_000 ? 2 : 1);
    }
    assert.equal((await store.call('setHold', { name: 'a', instance: 'here', limit: 100n, want: 7n })).others, 0n);
  }
});

test('holds of a dead instance stay until its requests are recorded', async (context) => {
  for (const store of [await openTestPostgres(context), await openTestSqlite(context)]) {
    const now = store.now();
    const beat = (id: string, at: number) =>
      store.call('heartbeat', { id, now: at, until: at + 30_000, exclusive: false });
    const hold = { name: 'a', limit: 100n, want: 7n };
    const others = async () => (await store.call('setHold', { ...hold, instance: 'here' })).others;
    for (const [id, leave] of [
      ['killed', (at: number) => beat('here', at)],
      ['left', () => store.call('removeInstance', { id: 'left' })],
    ] as const) {
      await beat('here', now);
      await beat(id, now);
      await store.call('setHold', { ...hold, instance: id });
      const recorder = createRecorder({ store, instance: id, durability: 'strict', log: pino({ level: 'silent' }) });
      await recorder.begin(intent(id));
      await recorder.flushed();
      await beat('here', now + 20_000);
      await leave(now + 40_000);
      assert.equal(await others(), 7n, id);
      assert.equal((await store.call('recoverUsage', { now: now + 40_000 })).recovered, 1);
      await beat('here', now + 40_000);
      assert.equal(await others(), 0n, id);
    }
  }
});

test('windows that are over are forgotten in parts', async (context) => {
  for (const store of [await openTestPostgres(context), await openTestSqlite(context)]) {
    const take = (name: string, windowAt: number, want: number) =>
      store.call('takeAllowance', { name, windowAt, limit: 9, want, alreadyUsed: 0 });
    for (const name of ['a', 'b', 'c', 'd', 'e']) await take(name, 60_000, 7);
    await take('a', 120_000, 7);
    const forget = () => store.call('forgetAllowances', { before: 120_000, limit: 2 });
    assert.deepEqual([await forget(), await forget(), await forget(), await forget()], [2, 2, 1, 0], store.engine);
    assert.deepEqual(await take('a', 120_000, 7), { granted: 2, taken: 9 }, 'this one is not over');
  }
});

test('after an outage of the store, a new instance does not take the others for dead', async (context) => {
  const store = await openTestPostgres(context);
  const start = store.now();
  const [lifetime, hour] = [30_000, 3_600_000];
  const beat = (id: string, now: number) =>
    store.call('heartbeat', { id, now, until: now + lifetime, exclusive: false });
  const held = async () => (await store.call('setHold', { ...hold, instance: 'new' })).others;
  const hold = { name: 's', limit: 100n, want: 7n };
  await beat('other', start);
  await store.call('setHold', { ...hold, instance: 'other' });
  await beat('new', start + hour);
  assert.deepEqual([await store.call('countInstances', { now: start + hour }), await held()], [2, 7n]);
  await beat('new', start + hour + 20_000);
  await beat('new', start + hour + lifetime + 1);
  assert.equal(await held(), 0n, 'one that does not come back is dead after another lifetime');
});

test('gateways that end one after the other soon after their start leave the holds of the last one', async (context) => {
  const store = await openTestPostgres(context);
  const start = store.now();
  const [lifetime, pause, hold] = [30_000, 300_000, { name: 's', limit: 100n, want: 7n }];
  const beat = (id: string, now: number) =>
    store.call('heartbeat', { id, now, until: now + lifetime, exclusive: false });
  for (let round = 0; round < 6; round++) {
    await beat(`short ${round}`, start + round * pause);
    const { others } = await store.call('setHold', { ...hold, instance: `short ${round}` });
    assert.equal(others, round === 0 ? 0n : 7n);
  }
  // One that lives on is taken for alive after each outage.
  await beat('long', start + 6 * pause);
  for (const outage of [7, 8, 9]) {
    await beat('short', start + outage * pause);
    assert.equal(await beat('long', start + outage * pause + lifetime), false, 'it is known');
  }
});

test('an instance that others took for dead is told so with its next heartbeat', async (context) => {
  for (const store of [await openTestPostgres(context), await openTestSqlite(context)]) {
    const clock = createManualClock(0);
    let passed = 0;
    let removals = 0;
    const seen = { ...store, now: () => store.now() + passed };
    const instance = await joinStore(seen, log, { clock, role: 'worker' });
    instance.onRemoved(() => (removals += 1));
    const beat = (id: string) =>
      store.call('heartbeat', { id, now: seen.now(), until: seen.now() + 30_000, exclusive: false });
    await beat('other');
    await instance.ensureAlive();
    assert.equal(removals, 0);
    passed += 20_000;
    await beat('other');
    passed += 20_000;
    await beat('other');
    assert.deepEqual([instance.isAlive(), await store.call('countInstances', { now: seen.now() })], [false, 1]);
    await Promise.all([instance.ensureAlive(), instance.ensureAlive()]);
    assert.deepEqual(
      [instance.isAlive(), removals, await store.call('countInstances', { now: seen.now() })],
      [true, 1, 2],
    );
    // One that was away as long without being missed is not.
    passed += 60_000;
    await instance.ensureAlive();
    assert.equal(removals, 1);
    await instance.close();
  }
});

for (const [words, end] of [
  ['killed', undefined],
  ['stopped', 'close'],
] as const) {
  test(`jobs keep their delays where the clock is set back after a gateway is ${words}`, async (context) => {
    const clock = createManualClock(Date.now());
    const store = await openTestSqlite(context, { clock });
    const instance = await joinStore(store, log, { clock });
    const job = { kind: 'webhook', lane: 'a', owner: 'b' };
    await store.call('ensureJob', { ...job, ref: 'overdue', dueAt: store.now() - 1000 });
    await store.call('ensureJob', { ...job, ref: 'soon', dueAt: store.now() + 3000 });
    if (end) await instance.close();
    clock.advance(50);
    clock.set(clock.now() - 3_600_000);
    const next = await joinStore(store, log, { clock });
    const at = store.now();
    const { jobs } = await store.call('claimJobs', {
      ...{ kind: 'webhook', now: at, until: at + 10_000, lease: 'ours', leaseUntil: at + 30_000 },
      ...{ slots: 10, lateSlots: 10, maxPerLane: 10, maxPerOwner: 10 },
    });
    assert.deepEqual(jobs.map(({ ref }) => ref).sort(), ['overdue', 'soon']);
    await Promise.all([instance.close(), next.close()]);
  });
}

test('a heart that cannot beat says why to the operator', async (context) => {
  const store = await openTestSqlite(context, { timeoutMs: 1 });
  const clock = createManualClock(0);
  const { promise, resolve } = Promise.withResolvers<object>();
  await joinStore(store, { warn: resolve as () => void }, { clock });
  await store.close();
  clock.advance(5000);
  assert.deepEqual(await promise, { problem: 'the store is closed' });
});
