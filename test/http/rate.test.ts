/** Rate at which a key may look at its tasks, and what it may read at once. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRate, createReadLimit } from '../../src/http/rate.ts';

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

test('all keys together read 32 at once, and one that fails leaves its place', async () => {
  const limitReads = createReadLimit();
  const fails = Promise.withResolvers<never>();
  const ends = Promise.withResolvers<string>();
  const failing = limitReads('key-0', () => fails.promise);
  const running = Array.from({ length: 31 }, (_, index) => limitReads(`key-${(index + 1) % 4}`, () => ends.promise));
  const read = async () => 'read';
  const refused = { code: 'rate_limit_exceeded', retryAfter: 1000 };
  await assert.rejects(limitReads('key-9', read), { ...refused, message: /^Too many reports and lists of all keys/ });
  fails.reject(new Error('no store'));
  await assert.rejects(failing, { message: 'no store' });
  assert.equal(await limitReads('key-9', read), 'read');
  assert.equal(await limitReads('key-9', read), 'read');
  ends.resolve('read');
  await Promise.all(running);
  assert.equal(await limitReads('key-0', read), 'read');
});
