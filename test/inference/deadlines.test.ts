import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { watch } from '../../src/transport/deadlines.ts';

/** Keeps the process busy, as a large body or a slow machine does. */
function stall(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test('a deadline fires once when it passes, not before it is set, and not after it is cancelled', async () => {
  const fired: string[] = [];
  const one = watch(() => fired.push('one'));
  const other = watch(() => fired.push('other'));
  await wait(120);
  assert.deepEqual(fired, []);
  one.in(60);
  other.in(60);
  other.cancel();
  await wait(300);
  assert.deepEqual(fired, ['one']);
  one.cancel();
});

test('time in which the process stood still does not count', async () => {
  let fired = false;
  const deadline = watch(() => {
    fired = true;
  });
  deadline.in(400);
  await wait(60);
  stall(600);
  await wait(60);
  assert.equal(fired, false);
  await wait(600);
  assert.equal(fired, true);
  deadline.cancel();
});
