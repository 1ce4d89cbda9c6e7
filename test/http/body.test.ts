import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { readBytes } from '../../src/http/body.ts';
import { createBodyBudget } from '../../src/http/body-budget.ts';

test('nothing more of a body is waited for when a malformed chunk was answered', {
  timeout: 5_000,
}, async (context) => {
  const server = createServer().listen(0, '127.0.0.1');
  context.after(() => server.close());
  await once(server, 'listening');
  const read = new Promise<Buffer>((resolve, reject) => {
    server.on('request', (request, response) => {
      const reservation = createBodyBudget(1000).open('key', 0);
      assert.ok(reservation);
      server.on('clientError', () => response.writeHead(400, { connection: 'close' }).end());
      readBytes(request, { headers: request.headers, limit: 1000, reservation, response }).then(resolve, reject);
    });
  });
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  context.after(() => socket.destroy());
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n');
  await assert.rejects(read, { code: 'client_closed' });
});

test('the chunks of a large body take no memory once they are copied', async (context) => {
  const server = createServer().listen(0, '127.0.0.1');
  context.after(() => server.close());
  await once(server, 'listening');
  const sent = Buffer.alloc(3_000_001, 'a few bytes of a body ');
  const chunks: Buffer[] = [];
  const read = new Promise<Buffer>((resolve, reject) => {
    server.on('request', (request, response) => {
      const reservation = createBodyBudget(10_000_000).open('key', sent.length);
      assert.ok(reservation);
      const bytes = readBytes(request, { headers: request.headers, limit: 10_000_000, reservation, response });
      // After the reader, which copies them.
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      bytes.then(resolve, reject).finally(() => response.end());
    });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await Promise.all([fetch(url, { method: 'POST', body: sent }), read]);
  assert.ok((await read).equals(sent));
  assert.ok(chunks.length > 10);
  assert.equal(
    chunks.reduce((sum, { buffer }) => sum + buffer.byteLength, 0),
    0,
  );
});
