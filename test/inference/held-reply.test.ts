/** What is written before a reply is opened waits, in its order, and asks the upstream to wait when it becomes much. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reply } from '../../src/inference/call.ts';
import { createHeldReply } from '../../src/inference/held-reply.ts';

function createReply(full = false) {
  const written: string[] = [];
  const reply: Reply = {
    full,
    head: (status) => void written.push(String(status)),
    write: (chunk) => void written.push(String(chunk)),
    end: (chunk, trailers) => void written.push(`${chunk}${JSON.stringify(trailers)}`),
    onDrain() {},
    onClose() {},
  };
  return { written, reply };
}

test('everything comes when it is opened, and then at once', () => {
  const { written, reply } = createReply();
  const held = createHeldReply(reply);
  held.head(200, {});
  held.write('a');
  assert.deepEqual(written, []);
  held.open();
  assert.deepEqual(written, ['200', 'a']);
  held.end('b', { cost: '1' });
  assert.deepEqual(written, ['200', 'a', 'b{"cost":"1"}']);
});

test('it is full when much waits, and tells when it goes on', () => {
  for (const full of [false, true]) {
    const held = createHeldReply(createReply(full).reply);
    let drained = 0;
    held.onDrain(() => drained++);
    held.write(Buffer.alloc(60_000));
    assert.equal(held.full, false);
    held.write(Buffer.alloc(60_000));
    assert.equal(held.full, true);
    held.open();
    assert.equal(held.full, full);
    assert.equal(drained, full ? 0 : 1);
  }
});

test('however many attempts there are, the client is listened to once, and only the last attempt hears of it', () => {
  const listeners: (() => void)[] = [];
  const { reply } = createReply();
  const held = createHeldReply({ ...reply, onDrain: (listener) => void listeners.push(listener) });
  const heard: number[] = [];
  for (const attempt of [1, 2, 3]) held.onDrain(() => heard.push(attempt));
  held.open();
  for (const listener of listeners) listener();
  assert.equal(listeners.length, 1);
  assert.deepEqual(heard, [3, 3]);
});
