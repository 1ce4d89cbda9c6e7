/** The time that gateways on one database share: never ahead of the server, and behind it by a round trip at most. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createServerClock } from '../../src/store/postgres/clock.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';

const START = 1_800_000_000_000;

/** A server whose time is `server()`, and whose questions and answers take milliseconds each. */
function reader(clock: ManualClock, server: () => number, ways: [there: number, back: number][]) {
  return async () => {
    const [there, back] = ways.shift() ?? [0, 0];
    clock.advance(there);
    const read = server();
    clock.advance(back);
    return read;
  };
}

test('whatever questions and answers take, it is not ahead of the server, and behind by the shortest round trip at most', async () => {
  const way = fc.tuple(fc.nat(500), fc.nat(500));
  await fc.assert(
    fc.asyncProperty(fc.array(way, { minLength: 1, maxLength: 8 }), fc.integer(), async (ways, offset) => {
      const clock = createManualClock(START);
      const server = () => clock.now() + offset;
      const shared = createServerClock(reader(clock, server, [...ways]), clock);
      let shortest = Number.POSITIVE_INFINITY;
      for (const [there, back] of ways) {
        await shared.synchronise();
        shortest = Math.min(shortest, there + back);
        assert.ok(shared.now() <= server() && shared.now() >= server() - shortest);
      }
      shared.close();
    }),
  );
});

test('a moment that has come for one gateway has come for the server, so none is early', async () => {
  const clock = createManualClock(START);
  const slow = createServerClock(reader(clock, clock.now, [[400, 10]]), clock);
  const fast = createServerClock(reader(clock, clock.now, [[1, 1]]), clock);
  await slow.synchronise();
  await fast.synchronise();
  for (let time = 0; time < 1000; time += 7) {
    clock.advance(7);
    for (const each of [slow, fast]) assert.ok(each.now() <= clock.now());
  }
  slow.close();
  fast.close();
});

test('a reading that takes long does not set it back', async () => {
  const clock = createManualClock(START);
  const shared = createServerClock(
    reader(clock, clock.now, [
      [1, 1],
      [900, 900],
    ]),
    clock,
  );
  await shared.synchronise();
  const before = shared.now();
  await shared.synchronise();
  assert.ok(shared.now() >= before + 1800);
  shared.close();
});

test('it follows a server whose clock is set, and asks at once when this machine’s is', async () => {
  const clock = createManualClock(START);
  let offset = 0;
  let readings = 0;
  const shared = createServerClock(async () => {
    readings += 1;
    return clock.now() + offset;
  }, clock);
  await shared.synchronise();
  for (const set of [-3_600_000, 3_600_000]) {
    offset = set;
    await shared.synchronise();
    assert.equal(shared.now(), clock.now() + offset);
  }
  const before = readings;
  offset += 5000;
  clock.set(clock.now() - 5000);
  shared.now();
  await new Promise(setImmediate);
  assert.equal(readings, before + 1);
  shared.close();
});

test('it is read anew every 30 s', async () => {
  const clock = createManualClock(START);
  let readings = 0;
  const shared = createServerClock(async () => {
    readings += 1;
    return clock.now();
  }, clock);
  for (let time = 0; time < 4; time++) {
    clock.advance(30_000);
    await new Promise(setImmediate);
  }
  assert.equal(readings, 4);
  shared.close();
  clock.advance(60_000);
  await new Promise(setImmediate);
  assert.equal(readings, 4);
});
