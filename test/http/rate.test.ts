/** Rate at which a key may look at its tasks. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRate } from '../../src/http/rate.ts';

test('a burst, then the steady rate, and each visitor for itself', () => {
  let moment = 0;
  const rate = createRate({ rate: 2, burst: 3, now: () => moment });
  assert.deepEqual([rate('a'), rate('a'), rate('a')], [0, 0, 0]);
  assert.equal(rate('a'), 500);
  assert.equal(rate('b'), 0);
  moment = 499;
  assert.equal(rate('a'), 1);
  moment = 500;
  assert.equal(rate('a'), 0);
  assert.equal(rate('a'), 500);
  moment = 60_000;
  assert.deepEqual([rate('a'), rate('a'), rate('a'), rate('a')], [0, 0, 0, 500]);
});

test('who looks every half second is never refused', () => {
  let moment = 0;
  const rate = createRate({ rate: 2, burst: 20, now: () => moment });
  for (; moment < 600_000; moment += 500) assert.equal(rate('poller'), 0);
});
