/** Deadlines: when they pass, and that time in which the process stood still does not count. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDeadlineTimer } from '../../src/transport/deadlines.ts';
import { createManualClock } from '../jobs/manual-clock.ts';

test('a deadline fires once when it passes, not before it is set, and not after it is cancelled', () => {
  const clock = createManualClock(0);
  const timer = createDeadlineTimer(clock);
  const fired: string[] = [];
  const one = timer.watch(() => fired.push('one'));
  const other = timer.watch(() => fired.push('other'));
  clock.advance(120);
  assert.deepEqual(fired, []);
  one.in(60);
  other.in(60);
  other.cancel();
  clock.advance(59);
  assert.deepEqual(fired, []);
  clock.advance(51);
  assert.deepEqual(fired, ['one']);
  clock.advance(300);
  assert.deepEqual(fired, ['one']);
  one.in(60);
  clock.advance(110);
  assert.deepEqual(fired, ['one', 'one']);
  one.cancel();
});

test('time in which the process was suspended does not count', () => {
  const clock = createManualClock(0);
  let stalled = 0;
  const timer = createDeadlineTimer({ after: clock.after, monotonic: () => clock.monotonic() + stalled });
  let fired = false;
  const deadline = timer.watch(() => {
    fired = true;
  });
  deadline.in(400);
  clock.advance(60);
  stalled = 600;
  clock.advance(60);
  assert.equal(fired, false);
  clock.advance(400);
  assert.equal(fired, true);
  deadline.cancel();
});

test('a deadline that is reset when it fires, fires repeatedly', () => {
  const clock = createManualClock(0);
  const timer = createDeadlineTimer(clock);
  let passed = 0;
  const deadline = timer.watch(() => {
    passed += 1;
    deadline.in(250);
  });
  deadline.in(250);
  clock.advance(1000);
  assert.equal(passed, 4);
  deadline.cancel();
  clock.advance(1000);
  assert.equal(passed, 4);
});

test('a closed timer does not keep the process alive', () => {
  const clock = createManualClock(0);
  const timer = createDeadlineTimer(clock);
  let fired = 0;
  const deadline = timer.watch(() => fired++);
  deadline.in(100);
  timer.close();
  timer.watch(() => fired++).in(100);
  clock.advance(1000);
  assert.equal(fired, 0);
});

test('of many deadlines each fires in its tick, whichever order they are set, moved and cancelled in', () => {
  const clock = createManualClock(0);
  const timer = createDeadlineTimer(clock);
  const fired: [due: number, at: number][] = [];
  const open = Array.from({ length: 200 }, (_, index) => {
    const due = 100 + ((index * 7919) % 5000);
    const deadline = timer.watch(() => fired.push([due, clock.monotonic()]));
    // First far away, then near, as a keep-alive that moves with each frame.
    deadline.in(60_000);
    deadline.in(due);
    return deadline;
  });
  for (const deadline of open.slice(150)) deadline.cancel();
  clock.advance(6000);
  assert.equal(fired.length, 150);
  for (const [due, at] of fired) assert.ok(at >= due && at <= due + 50, `${due} fired at ${at}`);
  open[0]?.in(Number.POSITIVE_INFINITY);
  clock.advance(100_000);
  assert.equal(fired.length, 150);
  for (const deadline of open) deadline.cancel();
});

test('a tick over 30,000 deadlines that are not due reads none of them', () => {
  const clock = createManualClock(0);
  const timer = createDeadlineTimer(clock);
  const open = Array.from({ length: 30_000 }, () => timer.watch(() => assert.fail('not due')));
  for (const deadline of open) deadline.in(1_000_000);
  const began = process.cpuUsage();
  clock.advance(500_000);
  const { user, system } = process.cpuUsage(began);
  // 10,000 ticks, each some microseconds; a look at all would take 300.
  assert.ok(user + system < 1_000_000, `${user + system} us`);
  for (const deadline of open) deadline.cancel();
});
