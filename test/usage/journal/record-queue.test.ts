/** Records that wait for the store are bytes, whatever their text and number. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecordQueue } from '../../../src/usage/journal/record-queue.ts';

const COUNT = 3000;

function payloadOf(index: number): string {
  return JSON.stringify([index, 'é€𝄞'.repeat(index % 50)]);
}

test('a queue gives back each record, and is empty after that', () => {
  const queue = new RecordQueue();
  for (let round = 0; round < 2; round++) {
    for (let index = 0; index < COUNT; index++) {
      queue.push({ payload: payloadOf(index), segment: 1 + (index >> 10), end: 100 * index });
    }
    assert.equal(queue.length, COUNT);
    const all = Array.from({ length: COUNT }, (_, index) => payloadOf(index));
    assert.equal(queue.payloads(0, COUNT), all.join());
    assert.equal(queue.payloads(1700, 1703), all.slice(1700, 1703).join());
    assert.equal(queue.payloads(COUNT - 1, COUNT), all.at(-1));
    assert.deepEqual(queue.placeOf(2048), { segment: 3, end: 204_800 });
    queue.clear();
    assert.equal(queue.length, 0);
  }
});
