import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { readBytes } from '../../src/http/body.ts';
import { createBodyBudget } from '../../src/http/body-budget.ts';
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

test('the chunks of a large body take no memory once they are copied', async (context) => {
  const sent = Buffer.alloc(3_000_001, 'a few bytes of a body ');
  const chunks: Buffer[] = [];
  const read = Promise.withResolvers<Buffer>();
  const server = await startServer((request, response) => {
    const reservation = createBodyBudget(10_000_000).open('key', sent.length);
    assert.ok(reservation);
    const watched = {
      headers: request.headers,
      receive(receiver: Parameters<typeof request.receive>[0]) {
        request.receive({
          data(chunk) {
            receiver.data(chunk);
            // After the reader, which copies them.
            chunks.push(chunk);
          },
          end: () => receiver.end(),
          broken: () => receiver.broken(),
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
  assert.ok(chunks.length > 10);
  // The first may have come in one read with the head.
  const [first, ...others] = chunks.map(({ buffer }) => buffer.byteLength);
  assert.ok(first !== undefined && first <= 64 * 1024, `${first}`);
  assert.equal(
    others.reduce((sum, bytes) => sum + bytes, 0),
    0,
  );
});
