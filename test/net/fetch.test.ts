/** Guarded client against real servers: pinned addresses, refusals, and enforced limits. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createAddressPolicy } from '../../src/net/address-policy.ts';
import { createGuardedClient, type GuardedClientOptions } from '../../src/net/guarded-client.ts';
import type { Lookup } from '../../src/net/resolver.ts';
import { startHttps, startTls, type TestServer, testCa } from './servers.ts';

const loopback = createAddressPolicy({ allowCidrs: ['127.0.0.0/8'] });
const toLoopback: Lookup = async () => ['127.0.0.1'];

function clientWith(options: GuardedClientOptions = {}) {
  return createGuardedClient({ policy: loopback, lookup: toLoopback, extraCa: testCa, ...options });
}

const limits = { maxBytes: 1_000_000, deadline: 5_000 };
const get = { method: 'GET', ...limits } as const;

describe('a well-behaved server', () => {
  let server: TestServer;
  before(async () => {
    server = await startHttps((request, response) => {
      if (request.url === '/redirect') response.writeHead(302, { location: `https://127.0.0.1:${server.port}/` }).end();
      else if (request.url === '/missing') response.writeHead(404).end('no');
      else if (request.url === '/gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
      else if (request.url === '/headers') response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end();
      else if (request.url === '/echo') {
        response.writeHead(202, { 'x-seen': JSON.stringify([request.method, request.headers]) });
        request.pipe(response);
      } else response.writeHead(200, { 'content-type': 'Image/PNG; q=1' }).end('bytes');
    });
  });
  after(() => server.close());
  const at = (path: string, host = 'media.example.com') => `https://${host}:${server.port}${path}`;

  test('returns bytes and media type, and its certificate is verified for the name of the pinned address', async () => {
    const fetched = await clientWith().fetchBytes(at('/'), limits);
    assert.deepEqual(fetched, { bytes: Buffer.from('bytes'), type: 'image/png' });
  });

  test('is reached by an IP address without a DNS lookup', async () => {
    const lookup = () => assert.fail('no look-up');
    assert.ok(await clientWith({ lookup }).fetchBytes(at('/', '127.0.0.1'), limits));
  });

  test('is reached by an allowed name through the hosts file', async () => {
    const policy = createAddressPolicy({ allowHosts: ['localhost'] });
    assert.ok(await createGuardedClient({ policy, extraCa: testCa }).fetchBytes(at('/', 'localhost'), limits));
  });

  test('gets a POST with its bytes and headers, and no others', async () => {
    const body = Buffer.from('{"ü":1}');
    const response = await clientWith().request(at('/echo'), { ...get, method: 'POST', headers: { 'x-a': 'b' }, body });
    assert.equal(response.status, 202);
    assert.equal(response.address, '127.0.0.1');
    const [method, headers] = JSON.parse(String(response.headers['x-seen']));
    assert.equal(method, 'POST');
    const host = `media.example.com:${server.port}`;
    assert.deepEqual(headers, {
      host,
      connection: headers.connection,
      'user-agent': 'polygate',
      'x-a': 'b',
      'content-length': '8',
    });
    assert.deepEqual(Buffer.concat(await Array.fromAsync(response.body)), body);
  });

  test('cannot redirect', async () => {
    const connections = server.connections();
    const response = await clientWith().request(at('/redirect'), get);
    response.close();
    assert.equal(response.status, 302);
    await assert.rejects(clientWith().fetchBytes(at('/redirect'), limits), { outcome: 'status', message: /redirect/ });
    assert.equal(server.connections(), connections + 2);
  });

  test('must respond with 200, uncompressed, with headers below the size limit', async () => {
    await assert.rejects(clientWith().fetchBytes(at('/missing'), limits), { outcome: 'status', message: /404/ });
    await assert.rejects(clientWith().fetchBytes(at('/gzip'), limits), { outcome: 'protocol' });
    await assert.rejects(clientWith().request(at('/headers'), get), { outcome: 'protocol' });
  });

  test('may use plain http only if the policy allows it', async () => {
    const plain = createServer((_request, response) => response.end('plain'));
    await new Promise<void>((ready) => plain.listen(0, '127.0.0.1', ready));
    const url = `http://media.example.com:${(plain.address() as AddressInfo).port}/`;
    const policy = createAddressPolicy({ allowCidrs: ['127.0.0.0/8'], allowHttp: true });
    assert.equal((await clientWith({ policy }).fetchBytes(url, limits)).bytes.toString(), 'plain');
    await assert.rejects(clientWith().fetchBytes(url, limits), { code: 'invalid_request' });
    await new Promise((done) => plain.close(done));
  });

  test('needs a trusted certificate for the name', async () => {
    await assert.rejects(clientWith({ extraCa: undefined }).fetchBytes(at('/'), limits), { outcome: 'tls' });
    await assert.rejects(clientWith().fetchBytes(at('/', 'other.example.com'), limits), { outcome: 'tls' });
  });

  test('needs one even if the environment disables verification', async (context) => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    context.after(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
    await assert.rejects(clientWith({ extraCa: undefined }).fetchBytes(at('/'), limits), { outcome: 'tls' });
  });

  test('is refused without a connection when its address is not public', async () => {
    const connections = server.connections();
    const closed = clientWith({ policy: createAddressPolicy() });
    await assert.rejects(closed.fetchBytes(at('/', '127.0.0.1'), limits), { code: 'invalid_request' });
    const resolved = [
      ['127.0.0.1'],
      ['8.8.8.8', '127.0.0.1'],
      ['8.8.8.8', '::1'],
      ['::ffff:127.0.0.1'],
      ['64:ff9b::7f00:1'],
      ['junk'],
    ];
    for (const addresses of resolved) {
      const client = clientWith({ policy: createAddressPolicy(), lookup: async () => addresses });
      await assert.rejects(client.fetchBytes(at('/'), limits), (error: Error) => {
        assert.equal((error as { outcome?: string }).outcome, 'blocked');
        for (const address of addresses) assert.ok(!error.message.includes(address), 'the address is not told');
        return true;
      });
    }
    assert.equal(server.connections(), connections);
  });
});

describe('a name with changing addresses', () => {
  test('keeps the checked address during a request and is checked again for the next', async () => {
    const inner = await startHttps((_request, response) => response.end('inner'), '127.0.0.1');
    const outer = await startHttps((_request, response) => response.end('outer'), '127.0.0.2', inner.port);
    const resolved = [['127.0.0.2'], ['127.0.0.1']];
    let asked = 0;
    const client = clientWith({
      policy: createAddressPolicy({ allowCidrs: ['127.0.0.2/32'] }),
      lookup: async () => resolved[Math.min(asked++, 1)] ?? [],
    });
    const url = `https://media.example.com:${inner.port}/`;
    assert.equal((await client.fetchBytes(url, limits)).bytes.toString(), 'outer');
    assert.equal(asked, 1);
    await assert.rejects(client.fetchBytes(url, limits), { outcome: 'blocked' });
    assert.equal(inner.connections(), 0);
    await Promise.all([inner.close(), outer.close()]);
  });

  test('is tried at its other addresses if one refuses the connection', async () => {
    const server = await startHttps((_request, response) => response.end('here'), '127.0.0.1');
    const client = clientWith({ lookup: async () => ['127.0.0.3', '127.0.0.1'] });
    const { bytes } = await client.fetchBytes(`https://media.example.com:${server.port}/`, limits);
    assert.equal(bytes.toString(), 'here');
    await server.close();
  });
});

describe('limits', () => {
  const url = (server: TestServer) => `https://media.example.com:${server.port}/`;
  const short = { maxBytes: 1_000, deadline: 200 };

  test('a body over the limit is refused, with and without Content-Length', async () => {
    const announced = await startHttps((_request, response) =>
      response.writeHead(200, { 'content-length': '5000' }).end('x'.repeat(5000)),
    );
    await assert.rejects(clientWith().fetchBytes(url(announced), { ...limits, maxBytes: 1_000 }), {
      outcome: 'too-large',
    });
    const endless = await startHttps((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      };
      response.on('drain', more);
      more();
    });
    const failed = clientWith().fetchBytes(url(endless), { ...limits, maxBytes: 50_000 });
    await assert.rejects(failed, { outcome: 'too-large', message: /50000 bytes/ });
    await Promise.all([announced.close(), endless.close()]);
  });

  test('silence, endless early hints and a slow body end at the deadline', async () => {
    const timers = new Set<NodeJS.Timeout>();
    const often = (work: () => void) => timers.add(setInterval(work, 10));
    const servers = await Promise.all([
      startTls(() => {}),
      startTls((socket) => often(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'))),
      startHttps((_request, response) => {
        response.writeHead(200);
        often(() => response.write('x'));
      }),
    ]);
    for (const server of servers) {
      const started = performance.now();
      await assert.rejects(clientWith().fetchBytes(url(server), short), { outcome: 'timeout' });
      assert.ok(performance.now() - started < 5_000);
    }
    for (const timer of timers) clearInterval(timer);
    await Promise.all(servers.map((server) => server.close()));
  });

  test('a DNS lookup without a result ends at the deadline', async () => {
    const lookup: Lookup = () => new Promise(() => {});
    await assert.rejects(clientWith({ lookup }).fetchBytes('https://media.example.com/', short), {
      outcome: 'timeout',
    });
  });

  test('an abort is not reported as a failure of the address', async () => {
    const server = await startTls(() => {});
    const controller = new AbortController();
    const response = clientWith().fetchBytes(url(server), { ...limits, signal: controller.signal });
    setImmediate(() => controller.abort());
    await assert.rejects(response, { code: 'client_closed' });
    await assert.rejects(clientWith().fetchBytes(url(server), { ...limits, signal: AbortSignal.abort() }), {
      code: 'client_closed',
    });
    await server.close();
  });

  test('an unread response is closed with its connection', async () => {
    const closed = Promise.withResolvers<void>();
    const server = await startHttps((request, response) => {
      request.socket.on('close', () => closed.resolve());
      response.writeHead(200).write('x');
    });
    const response = await clientWith().request(url(server), get);
    response.close();
    await closed.promise;
    await server.close();
  });
});

describe('servers that do not speak HTTP', () => {
  const responses: Record<string, string> = {
    'an SSH banner': 'SSH-2.0-OpenSSH_9.6\r\n',
    'HTTP/0.9': '<html></html>',
    'both lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  };
  for (const [name, bytes] of Object.entries(responses)) {
    test(name, async () => {
      const server = await startTls((socket) => socket.end(bytes));
      await assert.rejects(clientWith().fetchBytes(`https://media.example.com:${server.port}/`, limits), {
        outcome: 'protocol',
      });
      await server.close();
    });
  }

  test('an interrupted or refused connection fails', async () => {
    const server = await startTls((socket) => socket.destroy());
    const url = `https://media.example.com:${server.port}/`;
    await assert.rejects(clientWith().fetchBytes(url, limits), { outcome: 'connect' });
    await server.close();
    await assert.rejects(clientWith().fetchBytes(url, limits), { outcome: 'connect' });
  });

  test('an unknown name and a failing name server fail', async () => {
    const failing: Lookup = async () => Promise.reject(new Error('SERVFAIL'));
    for (const lookup of [async () => [], failing]) {
      await assert.rejects(clientWith({ lookup }).fetchBytes('https://media.example.com/', limits), { outcome: 'dns' });
    }
  });
});
