/** The clock by which stored data expire, beside clocks that are set. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openExpiryClock } from '../../src/store/expiry-clock.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { openTestSqlite } from './stores.ts';

const HOUR = 3_600_000;

test('what is stored expires by a clock that follows one which is set ahead, a day in an hour, also over restarts', async (context) => {
  const store = await openTestSqlite(context);
  const start = Date.UTC(2027, 5, 1);
  const clock = createManualClock(start);
  const warned: unknown[] = [];
  const open = () => openExpiryClock(store, clock, { warn: (line: unknown) => void warned.push(line) });
  const isWritten = async (at: number) => {
    while ((await store.call('readMoment', { name: 'expiry' })) !== at) await pause(5);
  };
  let expiry = await open();
  assert.equal(expiry.now(), start, 'the first start takes the clock as it is');
  await isWritten(start);
  clock.advance(2 * HOUR);
  assert.equal(expiry.now(), clock.now());
  await isWritten(start + 2 * HOUR);

  clock.set(Date.UTC(2040, 0));
  assert.equal(expiry.now(), start + 2 * HOUR);
  assert.equal(warned.length, 1);
  clock.advance(HOUR);
  assert.equal(expiry.now(), start + 26 * HOUR);
  await isWritten(start + 26 * HOUR);
  expiry = await open();
  assert.equal(expiry.now(), start + 26 * HOUR);

  clock.set(start + 4 * HOUR);
  assert.equal(expiry.now(), start + 4 * HOUR);
  clock.set(0);
  assert.equal(expiry.now(), 0);
  clock.set(start + 6 * HOUR);
  assert.equal(expiry.now(), clock.now(), 'no lag is left of a clock that was set back for a while');

  clock.set(start + 98 * HOUR);
  assert.equal(expiry.now(), start + 26 * HOUR);
  for (let hour = 0; hour < 4; hour++) {
    clock.advance(HOUR);
    expiry.now();
  }
  assert.equal(expiry.now(), clock.now(), 'three days are caught up in some hours');
});

test('it shows and keeps whole milliseconds between two of the monotonic clock', async (context) => {
  const store = await openTestSqlite(context);
  const manual = createManualClock(Date.UTC(2027, 5, 1));
  const clock = { now: manual.now, monotonic: () => manual.monotonic() / 7 };
  const log = { warn() {} };
  const first = await openExpiryClock(store, clock, log);
  const start = first.now();
  while ((await store.call('readMoment', { name: 'expiry' })) !== start) await pause(5);
  manual.advance(10 * HOUR);
  const expiry = await openExpiryClock(store, clock, log);
  manual.advance(HOUR / 6);
  const reached = expiry.now();
  assert.ok(Number.isInteger(reached) && reached < manual.now(), `${reached}`);
  while ((await store.call('readMoment', { name: 'expiry' })) !== reached) await pause(5);
});

test('a gateway that runs for two minutes at a time catches up, too', async (context) => {
  const store = await openTestSqlite(context);
  const start = Date.UTC(2027, 5, 1);
  const clock = createManualClock(start);
  const log = { warn() {} };
  const written = () => store.call('readMoment', { name: 'expiry' });
  assert.equal((await openExpiryClock(store, clock, log)).now(), start);
  while ((await written()) !== start) await pause(5);
  for (const run of [1, 2, 3]) {
    clock.set(clock.now() + 240 * HOUR);
    const expiry = await openExpiryClock(store, clock, log);
    const before = await written();
    for (const _minute of [1, 2]) {
      clock.advance(60_000);
      expiry.now();
    }
    assert.ok(expiry.now() > start + run * HOUR * 0.3);
    const isLater = async () => (await written()) !== before;
    for (let time = 0; time < 100 && !(await isLater()); time++) await pause(5);
  }
  assert.ok(((await written()) ?? 0) > start + HOUR);
});

test('a clock that was not set yet at the first start is taken as it is once it is set', async (context) => {
  const store = await openTestSqlite(context);
  const clock = createManualClock(60_000);
  const warned: unknown[] = [];
  const expiry = await openExpiryClock(store, clock, { warn: (line: unknown) => void warned.push(line) });
  assert.deepEqual(warned, [{ at: '1970-01-01T00:01:00.000Z' }]);
  assert.equal(expiry.now(), 60_000);
  clock.set(Date.UTC(2027, 5, 1));
  assert.equal(expiry.now(), clock.now());
});

test('after a first start with a clock that is ahead, what expires is protected again a day after it was set right', async (context) => {
  const store = await openTestSqlite(context);
  const start = Date.UTC(2027, 5, 1);
  const clock = createManualClock(Date.UTC(2040, 0));
  const open = () => openExpiryClock(store, clock, { warn() {} });
  const isWritten = async (at: number) => {
    while ((await store.call('readMoment', { name: 'expiry' })) !== at) await pause(5);
  };
  let expiry = await open();
  expiry.now();
  await isWritten(Date.UTC(2040, 0));
  clock.set(start);
  for (let hour = 0; hour <= 24; hour++) {
    assert.equal(expiry.now(), clock.now());
    clock.advance(HOUR);
  }
  expiry.now();
  clock.set(Date.UTC(2040, 0));
  assert.ok(expiry.now() <= start + 25 * HOUR);
  await isWritten(start + 24 * HOUR);
  expiry = await open();
  assert.ok(expiry.now() <= start + 25 * HOUR, 'also after a restart');
});

test('a clock that is not set for days does not count as right', async (context) => {
  const store = await openTestSqlite(context);
  const start = Date.UTC(2027, 5, 1);
  const clock = createManualClock(start);
  const expiry = await openExpiryClock(store, clock, { warn() {} });
  expiry.now();
  clock.set(0);
  for (let hour = 0; hour < 50; hour++) {
    expiry.now();
    clock.advance(HOUR);
  }
  clock.set(Date.UTC(2040, 0));
  assert.ok(expiry.now() <= start + 24 * HOUR);
});
