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
