/** Ages that pass by the monotonic clock, whatever the other is set to. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAges } from '../../src/core/clock.ts';
import { createManualClock } from '../jobs/manual-clock.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2027, 0);

test('an age passes by the monotonic clock from the first question on', () => {
  const clock = createManualClock(START);
  const ages = createAges(clock);
  assert.equal(ages.of('old', START - 5), 5);
  assert.equal(ages.of('ahead', START + HOUR), 0);
  clock.advance(10);
  clock.set(START + 9 * HOUR);
  assert.equal(ages.of('old', START - 5), 15);
  clock.set(0);
  assert.equal(ages.of('old', START - 5), 15);
  assert.equal(ages.of('ahead', START + HOUR), 10);
});

test('an age is forgotten when told, and when nobody asks for it in an hour', () => {
  const clock = createManualClock(START);
  const ages = createAges(clock);
  for (const name of ['told', 'unasked', 'asked']) assert.equal(ages.of(name, START + HOUR), 0);
  clock.advance(HOUR / 2);
  ages.forget('told');
  assert.equal(ages.of('told', START + HOUR), 0);
  assert.equal(ages.of('asked', START + HOUR), HOUR / 2);
  clock.advance(HOUR / 2 + 1);
  assert.equal(ages.of('asked', START + HOUR), HOUR + 1);
  clock.set(START);
  assert.equal(ages.of('unasked', START + HOUR), 0);
});
