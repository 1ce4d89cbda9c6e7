/** How an answer is written to a socket. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createReply } from '../../src/http/reply.ts';
import { ResponseHeaders } from '../../src/http/response-headers.ts';

test('an answer has one listener for its drain, however many attempts it takes, and the last one hears it', async () => {
  const server = createServer();
  const asked = once(server, 'request');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  const answered = once(client, 'response');
  const [, response] = (await asked) as [unknown, ServerResponse];
  const before = response.listenerCount('drain');
  const reply = createReply(response, new ResponseHeaders('req_1', 'x-request-id'));
  const heard: number[] = [];
  const drained = Promise.withResolvers<void>();
  for (let attempt = 0; attempt < 20; attempt++) {
    reply.onDrain(() => {
      heard.push(attempt);
      drained.resolve();
    });
  }
  assert.equal(response.listenerCount('drain'), before + 1);
  reply.head(200, {});
  while (!reply.full) reply.write(Buffer.alloc(1 << 20));
  const [incoming] = await answered;
  incoming.resume();
  await drained.promise;
  assert.deepEqual(heard, [19]);
  reply.end();
  await once(incoming, 'end');
  server.close();
});
