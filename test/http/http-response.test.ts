/** Streams that the gateway writes itself: heads that cannot be sent, and clients that have left. */

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { GatewayError } from '../../src/core/errors.ts';
import { writeResponse } from '../../src/http/http-response.ts';
import type { ServerResponse } from '../../src/http1/server-response.ts';
import { startServer } from '../http1/start-server.ts';
import { openWire } from '../http1/wire-client.ts';

for (const [about, body] of [
  ['with content', () => Readable.from([Buffer.from('content')])],
  ['without content', () => Readable.from([])],
] as const) {
  test(`a stream ${about} whose head cannot be sent fails before its first byte`, async (context) => {
    const failed = Promise.withResolvers<GatewayError>();
    const stream = body();
    const server = await startServer((_request, response) => {
      writeResponse(response, { status: 200, headers: { 'content-length': '9'.repeat(20) }, body: stream }, (error) => {
        failed.resolve(error);
        writeResponse(response, { status: 500, headers: {}, body: 'refused' }, () => {});
      });
    });
    const client = openWire(server.port);
    context.after(async () => {
      client.socket.destroy();
      await server.close();
    });
    client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match(await client.until('refused'), /^HTTP\/1\.1 500 /);
    assert.equal((await failed.promise).code, 'internal_error');
    assert.equal(stream.destroyed, true);
  });
}

test('a stream for a client that has left is not read', async (context) => {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = await startServer((_request, response) => asked.resolve(response));
  context.after(() => server.close());
  const client = openWire(server.port);
  client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const response = await asked.promise;
  const gone = new Promise<void>((resolve) => response.on('close', resolve));
  client.socket.destroy();
  await gone;
  let read = 0;
  const endless = new Readable({
    read() {
      read++;
      this.push(Buffer.alloc(1000));
    },
  });
  writeResponse(response, { status: 200, headers: {}, body: endless }, () => assert.fail());
  assert.equal(endless.destroyed, true);
  await new Promise(setImmediate);
  assert.ok(read < 20, `${read}`);
});
