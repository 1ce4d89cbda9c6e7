/** Request ids: their form, their order by time, and the time they carry. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { requestIdOf } from '../../src/core/answer-id.ts';
import { newRequestId, timeOfRequestId } from '../../src/core/request-id.ts';

const moment = fc.integer({ min: 0, max: 2 ** 48 - 1 });

test('an id has the form of all ids, and answers derive theirs from it', () => {
  const id = newRequestId();
  assert.match(id, /^req_[0-9a-f]{32}$/);
  assert.equal(requestIdOf(`chatcmpl-${id.slice(4)}`), id);
});

test('ids sort by their time, and carry it', () => {
  fc.assert(
    fc.property(moment, moment, (one, other) => {
      const [first, second] = [newRequestId(one), newRequestId(other)];
      assert.equal(timeOfRequestId(first), one);
      if (one !== other) assert.equal(first < second, one < other);
    }),
  );
});

test('the first id of a millisecond divides earlier ids from later ones', () => {
  fc.assert(
    fc.property(moment, (ms) => {
      const first = `req_${ms.toString(16).padStart(12, '0')}${'0'.repeat(20)}`;
      assert.ok(first <= newRequestId(ms));
      if (ms > 0) assert.ok(newRequestId(ms - 1) < first);
    }),
  );
});

test('no two ids of one millisecond are the same', () => {
  const ids = new Set(Array.from({ length: 100_000 }, () => newRequestId(1)));
  assert.equal(ids.size, 100_000);
});

test('a time beyond the digits is bounded, and other ids have none', () => {
  assert.equal(timeOfRequestId(newRequestId(-5)), 0);
  assert.equal(timeOfRequestId(newRequestId(2 ** 50)), 2 ** 48 - 1);
  for (const id of ['req_1', 'a', `req_${'g'.repeat(32)}`, `req_${'0'.repeat(33)}`]) {
    assert.equal(timeOfRequestId(id), undefined);
  }
});
