import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import type { Fields } from '../../src/core/fields.ts';
import { readBytes } from '../../src/http/body.ts';
import { createBodyBudget } from '../../src/http/body-budget.ts';
import type { BodyReceiver } from '../../src/http1/server-request.ts';
import { startServer } from '../http1/start-server.ts';

test('a body with a malformed chunk ends with its error', {
  timeout: 5_000,
}, async (context) => {
  const read = Promise.withResolvers<Buffer>();
  const server = await startServer((request, response) => {
    const reservation = createBodyBudget(1000).open('key', 0);
    assert.ok(reservation);
    readBytes(request, { limit: 1000, reservation })
      .then(read.resolve, read.reject)
      .finally(() => response.destroy());
  });
  context.after(server.close);
  const socket = connect(server.port, '127.0.0.1');
  context.after(() => socket.destroy());
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n');
  await assert.rejects(read.promise, { code: 'invalid_request' });
});

/** Reads a body that comes in chunks, all of them lent in the same memory. */
async function readLent(sent: Buffer, headers: Fields, chunkBytes: number): Promise<Buffer> {
  const reservation = createBodyBudget(10_000_000).open('key', sent.length);
  assert.ok(reservation);
  const lent = Buffer.alloc(chunkBytes);
  const request: Parameters<typeof readBytes>[0] = {
    headers,
    receive({ data, end }) {
      for (let start = 0; start < sent.length; start += chunkBytes) {
        data(lent.subarray(0, sent.copy(lent, 0, start, start + chunkBytes)));
        lent.fill('-');
      }
      end();
    },
  };
  return readBytes(request, { limit: 10_000_000, reservation });
}

test('a body keeps nothing of the memory in which its chunks are lent', async () => {
  for (const size of [1, 20, 5000, 64 * 1024, 64 * 1024 + 1, 3_000_001]) {
    const sent = Buffer.alloc(size, 'a few bytes of a body ');
    for (const headers of [{ 'content-length': String(size) }, { 'transfer-encoding': 'chunked' }]) {
      for (const chunkBytes of [Math.min(size, 1000), 64 * 1024]) {
        const read = await readLent(sent, headers, chunkBytes);
        assert.ok(read.equals(sent), `${size} bytes by ${chunkBytes}`);
      }
    }
  }
});

test('a small body that comes at once has memory of its own size', async () => {
  const read = await readLent(Buffer.from('{"a":1}'), { 'content-length': '7' }, 1000);
  assert.equal(read.buffer.byteLength, 7);
});

test('a body that comes with its head needs no timer, and one that does not has one until it ends', async () => {
  const timers = { set: 0, cancelled: 0 };
  const clock: Clock = {
    ...systemClock,
    after() {
      timers.set++;
      return () => void timers.cancelled++;
    },
  };
  const reservation = createBodyBudget(1000).open('key', 7);
  assert.ok(reservation);
  const receivers: BodyReceiver[] = [];
  const read = (arrives: boolean) => {
    const receive = (receiver: BodyReceiver) => {
      receivers.push(receiver);
      if (!arrives) return;
      receiver.data(Buffer.from('{"a":1}'));
      receiver.end();
    };
    return readBytes({ headers: { 'content-length': '7' }, receive }, { limit: 1000, reservation, clock });
  };
  assert.equal((await read(true)).length, 7);
  assert.deepEqual(timers, { set: 0, cancelled: 0 });
  const late = read(false);
  await new Promise(setImmediate);
  assert.deepEqual(timers, { set: 1, cancelled: 0 });
  receivers[1]?.end();
  assert.equal((await late).length, 0);
  assert.deepEqual(timers, { set: 1, cancelled: 1 });
});

test('the chunks of a body are lent by its connection', async (context) => {
  const sent = Buffer.alloc(3_000_001, 'a few bytes of a body ');
  const memories: ArrayBufferLike[] = [];
  const read = Promise.withResolvers<Buffer>();
  const server = await startServer((request, response) => {
    const reservation = createBodyBudget(10_000_000).open('key', sent.length);
    assert.ok(reservation);
    const watched: Parameters<typeof readBytes>[0] = {
      headers: request.headers,
      receive(receiver) {
        request.receive({
          ...receiver,
          data(chunk) {
            memories.push(chunk.buffer);
            receiver.data(chunk);
          },
        });
      },
    };
    readBytes(watched, { limit: 10_000_000, reservation })
      .then(read.resolve, read.reject)
      .finally(() => {
        response.writeHead(200, {});
        response.end();
      });
  });
  context.after(server.close);
  await Promise.all([fetch(`http://127.0.0.1:${server.port}/`, { method: 'POST', body: sent }), read.promise]);
  assert.ok((await read.promise).equals(sent));
  assert.ok(memories.length > 10);
  // What came in one read with the head may have been kept.
  const [, ...others] = memories;
  assert.equal(new Set(others).size, 1);
});
