/** Connections that the guarded client keeps: when they serve another request, and when they must not. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { createAddressPolicy } from '../../src/net/address-policy.ts';
import { createConnectionPool } from '../../src/net/connection-pool.ts';
import { createGuardedClient, type GuardedClient, type GuardedRequest } from '../../src/net/guarded-client.ts';
import { openConnection } from '../../src/net/pinned-connection.ts';
import type { Lookup } from '../../src/net/resolver.ts';
import { createHandshakeSlots } from '../../src/net/semaphore.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { until } from '../jobs/rig.ts';
import { startHttps, startPlain, startTls, testCa } from './servers.ts';

const post: GuardedRequest = { method: 'POST', body: Buffer.from('{}'), maxBytes: 4096, deadline: 10_000 };

function clientOf(lookup: Lookup = async () => ['127.0.0.1'], clock: Clock = systemClock): GuardedClient {
  const policy = createAddressPolicy({ allowCidrs: ['127.0.0.0/24'], denyCidrs: ['127.0.0.9/32'] });
  return createGuardedClient({ policy, lookup, extraCa: testCa, reuseConnections: true, clock });
}

const urlOf = (port: number) => `https://media.example.com:${port}/`;

/** Reads the response to its end; the status and the address of the connection. */
async function send(client: GuardedClient, url: string, over: Partial<GuardedRequest> = {}): Promise<string> {
  const { status, address, body } = await client.request(url, { ...post, ...over });
  for await (const _chunk of body);
  return `${status} from ${address}`;
}

test('requests to one receiver share a connection, and each receiver has its own', async (context) => {
  const servers = await Promise.all([1, 2].map(() => startHttps((_request, response) => response.end('ok'))));
  const client = clientOf();
  context.after(() => Promise.all([client.close(), ...servers.map(({ close }) => close())]));
  for (let n = 0; n < 5; n++) {
    for (const { port } of servers) assert.equal(await send(client, urlOf(port)), '200 from 127.0.0.1');
  }
  assert.deepEqual(
    servers.map(({ connections }) => connections()),
    [1, 1],
  );
});

test('a connection whose response was not read to its end serves no other request', async (context) => {
  const server = await startHttps((_request, response) => response.end('x'.repeat(10_000)));
  const client = clientOf();
  context.after(() => Promise.all([client.close(), server.close()]));
  await assert.rejects(send(client, urlOf(server.port)), { outcome: 'too-large' });
  (await client.request(urlOf(server.port), post)).close();
  await send(client, urlOf(server.port), { maxBytes: 20_000 });
  assert.equal(server.connections(), 3);
});

test('the addresses of a name are checked again when the last answer is too old, or on request', async (context) => {
  const first = await startHttps((_request, response) => response.end('first'));
  const second = await startHttps((_request, response) => response.end('second'), '127.0.0.2', first.port);
  let now = 0;
  let addresses = ['127.0.0.1'];
  let asked = 0;
  const lookup = async () => {
    asked += 1;
    return addresses;
  };
  const client = clientOf(lookup, { ...systemClock, monotonic: () => now });
  context.after(() => Promise.all([client.close(), first.close(), second.close()]));
  const url = urlOf(first.port);
  await send(client, url);
  now += 29_000;
  await send(client, url);
  assert.equal(asked, 1);
  now += 2_000;
  await send(client, url);
  assert.deepEqual([asked, first.connections()], [2, 1], 'the same address keeps its connection');
  addresses = ['127.0.0.2'];
  now += 31_000;
  assert.equal(await send(client, url), '200 from 127.0.0.2');
  assert.deepEqual([first.connections(), second.connections()], [1, 1]);
  for (const forbidden of [['10.0.0.1'], ['127.0.0.9'], ['127.0.0.2', '169.254.169.254']]) {
    addresses = ['127.0.0.2'];
    await send(client, url, { checksAddresses: true });
    addresses = forbidden;
    assert.equal(await send(client, url), '200 from 127.0.0.2', 'it stays at the address that was checked');
    const open = second.connections();
    await assert.rejects(send(client, url, { checksAddresses: true }), { outcome: 'blocked' });
    await assert.rejects(send(client, url), { outcome: 'blocked' }, 'a new connection is checked');
    assert.equal(second.connections(), open);
  }
});

test('a request on a connection that the receiver has closed is sent on a new one', async (context) => {
  let requests = 0;
  const server = await startTls((socket) => {
    let answered = false;
    socket.on('data', (data) => {
      if (!data.includes('POST')) return;
      requests += 1;
      if (answered) return socket.destroy();
      answered = true;
      socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    });
  });
  const client = clientOf();
  context.after(() => Promise.all([client.close(), server.close()]));
  for (let n = 0; n < 3; n++) assert.equal(await send(client, urlOf(server.port)), '204 from 127.0.0.1');
  assert.deepEqual([server.connections(), requests], [3, 5]);
});

test('a receiver that never answers on a connection is not asked again', async (context) => {
  let requests = 0;
  const server = await startTls((socket) => {
    socket.on('data', () => {
      requests += 1;
      if (requests === 1) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    });
  });
  const client = clientOf();
  context.after(() => Promise.all([client.close(), server.close()]));
  await send(client, urlOf(server.port), { body: undefined });
  await assert.rejects(send(client, urlOf(server.port), { body: undefined, deadline: 300 }), { outcome: 'timeout' });
  assert.deepEqual([server.connections(), requests], [1, 2]);
});

test('bytes that nobody asked for close the connection', async (context) => {
  const answer = 'HTTP/1.1 204 No Content\r\n\r\n';
  const server = await startTls((socket) => {
    socket.on('data', () => socket.write(answer + answer.replace('204 No Content', '200 Injected')));
  });
  const client = clientOf();
  context.after(() => Promise.all([client.close(), server.close()]));
  for (let n = 0; n < 3; n++)
    assert.equal(await send(client, urlOf(server.port), { body: undefined }), '204 from 127.0.0.1');
  assert.equal(server.connections(), 3);
});

test('at most 32 handshakes are computed at once; one that its receiver leaves waiting makes room', async (context) => {
  const server = await startPlain(() => {});
  const clock = createManualClock(0);
  const client = clientOf(undefined, clock);
  const stopping = new AbortController();
  const all = Array.from({ length: 80 }, () => send(client, urlOf(server.port), { signal: stopping.signal }));
  const ended = Promise.allSettled(all);
  context.after(() => server.close());
  await until(() => server.connections() >= 32);
  for (let step = 0; step < 50; step++) await turn();
  assert.equal(server.connections(), 32);
  clock.advance(500);
  await until(() => server.connections() === 64);
  clock.advance(500);
  await until(() => server.connections() === 80);
  stopping.abort();
  for (const { status } of await ended) assert.equal(status, 'rejected');
});

test('idle connections are limited for each receiver', async (context) => {
  let open = 0;
  const server = await startTls((socket) => {
    open += 1;
    socket.on('close', () => {
      open -= 1;
    });
    socket.once('data', () => setTimeout(() => socket.write('HTTP/1.1 204 No Content\r\n\r\n'), 100));
  });
  const client = clientOf();
  context.after(() => Promise.all([client.close(), server.close()]));
  await Promise.all(Array.from({ length: 20 }, () => send(client, urlOf(server.port), { body: undefined })));
  await until(() => open === 8);
  client.close();
  await until(() => open === 0);
});

test('idle connections are limited in all: the longest idle one goes first', () => {
  const pool = createConnectionPool({ total: 3, perKey: 2 });
  const connection = (key: string) =>
    openConnection(new URL(`https://${key}.example.com`), {
      ...{ key, addresses: ['127.0.0.1'], secureContext: createSecureContext(), connectDeadline: 1000 },
      ...{
        signal: new AbortController().signal,
        handshakes: createHandshakeSlots(1, systemClock),
        clock: systemClock,
        maxHeaderBytes: 8192,
        checkedAt: 0,
      },
    });
  const [a1, a2, a3, b, c] = ['a', 'a', 'a', 'b', 'c'].map(connection);
  assert.ok(a1 && a2 && a3 && b && c);
  for (const one of [a1, a2, a3]) pool.keep(one);
  assert.deepEqual([pool.size(), a1.client.destroyed], [2, true]);
  pool.keep(b);
  pool.keep(c);
  assert.deepEqual([pool.size(), a2.client.destroyed], [3, true]);
  assert.equal(pool.take('a'), a3);
  assert.equal(pool.take('a'), undefined);
  pool.close();
  assert.deepEqual([pool.size(), b.client.destroyed, c.client.destroyed], [0, true, true]);
  a3.destroy();
});
