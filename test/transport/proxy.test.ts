/** Connections to upstreams and other servers through an HTTP proxy: tunnels, refusals and hosts without it, over real sockets. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { GatewayError } from '../../src/core/errors.ts';
import { createHttpProxy } from '../../src/net/http-proxy.ts';
import { createTrustedClient } from '../../src/net/trusted-client.ts';
import { createUpstreamClient, type UpstreamClient } from '../../src/transport/upstream-client.ts';
import { portOf, startProxy, type TestProxy } from '../net/connect-proxy.ts';
import { startHttps, startPlain, startTls, testCa } from '../net/servers.ts';

setDefaultCACertificates([...getCACertificates('default'), testCa]);

const DEADLINES = { connect: 1000, firstByte: 3000, idle: 3000, total: 10_000 };
/** A name that only the proxy resolves, and that the certificate of the test servers has. */
const NAME = 'media.example.com';
const HEAD_END = '\r\n\r\n';

function clientThrough(
  context: TestContext,
  { server }: Pick<TestProxy, 'server'>,
  { scheme = 'http', user = '', host = '127.0.0.1', direct = [] as string[] } = {},
): UpstreamClient {
  const proxy = createHttpProxy({ reveal: () => `${scheme}://${user}${host}:${server.port}` }, direct);
  const client = createUpstreamClient(DEADLINES, { proxy });
  context.after(() => client.close());
  return client;
}

interface Answer {
  status: number;
  body: Buffer;
  sent: (boolean | undefined)[];
}

/** `slowly`: pauses after each chunk for a turn of the event loop. */
function ask(client: UpstreamClient, url: string, { body, slowly = false }: { body?: Buffer; slowly?: boolean } = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const chunks: Buffer[] = [];
  const sent: Answer['sent'] = [];
  let status = 0;
  const exchange = client.send(
    { method: body ? 'POST' : 'GET', url, headers: {}, ...(body && { body }) },
    {
      sent: (isReused) => void sent.push(isReused),
      head: (given) => {
        status = given;
      },
      data(chunk) {
        chunks.push(Buffer.from(chunk));
        if (!slowly) return;
        exchange.pause();
        setImmediate(() => exchange.resume());
      },
      end: () => void setImmediate(() => resolve({ status, body: Buffer.concat(chunks), sent })),
      fail: (error) => reject(Object.assign(error, { sent })),
    },
  );
  return Object.assign(promise, { exchange });
}

/** Answers each request of a connection with its head and the size of its body, which `content-length` says. */
function echo(socket: Socket): void {
  let bytes = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (let end = bytes.indexOf(HEAD_END); end >= 0; end = bytes.indexOf(HEAD_END)) {
      const head = bytes.toString('latin1', 0, end);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (bytes.length < end + HEAD_END.length + length) return;
      bytes = bytes.subarray(end + HEAD_END.length + length);
      const text = `${head}\n${length}`;
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
    }
  });
}

const heard = ({ body }: Answer) => body.toString('latin1');

describe('a request through a proxy', () => {
  for (const [scheme, start] of [
    ['http', startPlain],
    ['https', startTls],
  ] as const) {
    test(`reaches an upstream with ${scheme}, by a name that only the proxy knows, and keeps its connection`, async (context) => {
      const upstream = await start(echo);
      context.after(() => upstream.close());
      const proxy = await startProxy(context, portOf);
      const client = clientThrough(context, proxy, { user: 'us%40er:pass%3Aword%@' });
      const url = `${scheme}://${NAME}:${upstream.port}/path?a=b`;
      const first = await ask(client, url);
      const second = await ask(client, url, { body: Buffer.alloc(1_500_000, 'x') });
      const host = `${NAME}:${upstream.port}`;
      assert.equal(heard(first), `GET /path?a=b HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\n0`);
      assert.match(heard(second), /\n1500000$/);
      assert.deepEqual([first.sent, second.sent], [[false], [true]]);
      const credentials = Buffer.from('us@er:pass%3Aword%').toString('base64');
      assert.deepEqual(proxy.heads, [
        `CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\nproxy-authorization: Basic ${credentials}`,
      ]);
    });
  }

  test('reaches the proxy itself with https', async (context) => {
    const upstream = await startTls(echo);
    context.after(() => upstream.close());
    const proxy = await startProxy(context, portOf, true);
    const client = clientThrough(context, proxy, { scheme: 'https', host: 'localhost' });
    for (let round = 0; round < 3; round++)
      assert.match(heard(await ask(client, `https://${NAME}:${upstream.port}/`)), /^GET \/ HTTP/);
    assert.deepEqual([proxy.heads.length, upstream.connections()], [1, 1]);
  });

  test('gets an answer of any size at the pace of its reader', async (context) => {
    const size = 4_000_000;
    const text = Buffer.from('0123456789'.repeat(size / 10));
    const upstream = await startTls((socket) => {
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
        socket.write(text);
      });
    });
    context.after(() => upstream.close());
    const proxy = await startProxy(context, portOf);
    const client = clientThrough(context, proxy);
    const { body } = await ask(client, `https://${NAME}:${upstream.port}/`, { slowly: true });
    assert.ok(body.equals(text));
  });

  test('resumes the TLS session of the upstream over another tunnel', async (context) => {
    const resumed: boolean[] = [];
    const upstream = await startTls((socket) => {
      resumed.push((socket as TLSSocket).isSessionReused());
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok'));
    });
    context.after(() => upstream.close());
    const client = clientThrough(context, await startProxy(context, portOf));
    for (let round = 0; round < 2; round++) await ask(client, `https://${NAME}:${upstream.port}/`);
    assert.deepEqual(resumed, [false, true]);
  });

  test('fails for a certificate of another name, and says so in its cause', async (context) => {
    const upstream = await startTls(echo);
    context.after(() => upstream.close());
    const client = clientThrough(context, await startProxy(context, portOf));
    await assert.rejects(ask(client, `https://other.example.com:${upstream.port}/`), (error: GatewayError) => {
      assert.equal((error.cause as { code?: string }).code, 'ERR_TLS_CERT_ALTNAME_INVALID');
      return error.code === 'upstream_error';
    });
  });

  test('closes its connection to the proxy when it is aborted before there is a tunnel', async (context) => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const proxy = await startProxy(context, (_head, socket) => {
      socket.on('close', () => resolve());
      setImmediate(() => running.exchange.abort());
      return undefined;
    });
    const running = ask(clientThrough(context, proxy), `https://${NAME}:1234/`);
    running.catch(() => assert.fail('an aborted request has no outcome'));
    await closed;
  });

  test('is repeated over another tunnel where the upstream closes a kept connection that was idle for long', async (context) => {
    const answered: Socket[] = [];
    const upstream = await startTls((socket) => {
      socket.on('data', () => {
        if (answered.includes(socket)) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        answered.push(socket);
      });
    });
    context.after(() => upstream.close());
    const proxy = await startProxy(context, portOf);
    const client = clientThrough(context, proxy);
    const url = `https://${NAME}:${upstream.port}/`;
    await ask(client, url);
    await wait(1300);
    const repeated = await ask(client, url);
    assert.deepEqual([heard(repeated), repeated.sent, proxy.heads.length], ['ok', [true, false], 2]);
  });
});

describe('a proxy that makes no tunnel', () => {
  const answers: [name: string, answer: string, cause: RegExp][] = [
    [
      'asks for credentials',
      'HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 4\r\n\r\nno\r\n',
      /with status 407$/,
    ],
    ['forbids the host', 'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n', /with status 403$/],
    ['speaks another protocol', '220 mail.example ESMTP\r\n\r\n', /does not speak HTTP$/],
    ['says more than its answer', 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', /more than its answer$/],
    ['answers without an end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(17_000)}`, /larger than 16 KiB$/],
  ];
  for (const [name, answer, cause] of answers) {
    test(`fails the request before it is sent: one that ${name}`, async (context) => {
      const proxy = await startProxy(context, () => answer);
      await assert.rejects(ask(clientThrough(context, proxy), `https://${NAME}:443/`), (error: GatewayError) => {
        const text = `${error.message} ${(error.cause as Error | undefined)?.message ?? ''}`.trim();
        assert.match(text, cause);
        assert.deepEqual((error as GatewayError & Pick<Answer, 'sent'>).sent, []);
        return error.code === 'upstream_error';
      });
    });
  }

  test('fails the request where it closes, and where it says nothing until the connect timeout', async (context) => {
    const closing = await startProxy(context, (_head, socket) => void socket.end());
    await assert.rejects(ask(clientThrough(context, closing), `https://${NAME}/`), (error: GatewayError) => {
      assert.match(error.message, /could not be reached or closed/);
      assert.equal((error.cause as Error).message, 'the proxy closed the connection');
      return error.code === 'upstream_error';
    });
    const silent = await startProxy(context, () => undefined);
    await assert.rejects(ask(clientThrough(context, silent), `https://${NAME}/`), { code: 'timeout' });
    const gone = await startProxy(context, () => undefined);
    await gone.server.close();
    await assert.rejects(ask(clientThrough(context, gone), `https://${NAME}/`), { code: 'upstream_error' });
  });

  test('gets its name and its port asked for where the URL has an IPv6 address', async (context) => {
    const proxy = await startProxy(context, () => 'HTTP/1.1 502 Bad Gateway\r\n\r\n');
    await assert.rejects(ask(clientThrough(context, proxy), 'https://[2001:db8::1]/'), GatewayError);
    assert.match(proxy.heads[0] ?? '', /^CONNECT \[2001:db8::1\]:443 HTTP/);
  });
});

test('the client for other servers uses the proxy too, with http and https', async (context) => {
  const secure = await startHttps((request, response) => void response.end(`secure ${request.url}`));
  const plain = await startPlain(echo);
  context.after(() => Promise.all([secure.close(), plain.close()]));
  const proxy = await startProxy(context, portOf);
  const url = `http://user:word@127.0.0.1:${proxy.server.port}`;
  const client = createTrustedClient({ proxy: createHttpProxy({ reveal: () => url }, ['direct.example.com']) });
  context.after(() => client.close());
  const textOf = async (address: string) => {
    const { body } = await client.request(address, { method: 'GET', deadline: 5000 });
    return Buffer.concat(await Array.fromAsync(body)).toString();
  };
  assert.equal(await textOf(`https://${NAME}:${secure.port}/a`), 'secure /a');
  assert.match(await textOf(`http://${NAME}:${plain.port}/b`), /^GET \/b HTTP\/1\.1\r\n/);
  assert.equal(await textOf(`https://localhost:${secure.port}/c`), 'secure /c');
  assert.equal(proxy.heads.length, 2);
  for (const head of proxy.heads)
    assert.match(head, new RegExp(`^CONNECT ${NAME}:\\d+ HTTP[^]*\\r\\nproxy-authorization: Basic dXNlcjp3b3Jk`, 'i'));
});

test('hosts that are reached without it: this machine, its link, and those that are named', async (context) => {
  const cases: [direct: string, host: string, port: number, isServed: boolean][] = [
    ['', 'api.example.com', 443, true],
    ['', 'localhost', 443, false],
    ['', '127.0.0.1', 443, false],
    ['', '::1', 443, false],
    ['', '169.254.169.254', 80, false],
    ['example.com', 'example.com', 443, false],
    ['example.com', 'API.Example.com', 443, false],
    ['.example.com', 'api.example.com', 443, false],
    ['*.example.com', 'api.example.com', 443, false],
    ['example.com', 'notexample.com', 443, true],
    ['example.com', 'example.com.evil.net', 443, true],
    ['example.com:8443', 'example.com', 443, true],
    ['example.com:8443', 'example.com', 8443, false],
    ['10.1.2.3', '10.1.2.3', 80, false],
    ['10.1.2.3:80', '10.1.2.3', 81, true],
    ['fd00::1', 'fd00::1', 443, false],
    ['[fd00::1]:443', 'fd00::1', 443, false],
    ['[fd00::1]:443', 'fd00::1', 80, true],
    ['*', 'api.example.com', 443, false],
    ['.', 'api.example.com', 443, true],
    ['a b:c:d:', 'api.example.com', 443, true],
    ['2001:db8::1', '2001:db8::1', 443, false],
    ['2001:DB8:0:0::1', '2001:db8::1', 443, false],
    ['10.0.0.0/8', '10.1.2.3', 443, false],
    ['10.0.0.0/8', '11.1.2.3', 443, true],
    ['10.0.0.0/8', 'ten.example.com', 443, true],
    ['fd00::/8', 'fd12::3', 443, false],
    ['', 'metadata.google.internal', 80, false],
    ['', 'fe80::1', 80, false],
    ['', '::ffff:a9fe:a9fe', 80, false],
  ];
  for (const [direct, host, port, isServed] of cases)
    assert.equal(
      createHttpProxy({ reveal: () => 'http://p' }, [direct]).serves(host, port),
      isServed,
      `${direct} ${host}`,
    );
  const upstream = await startPlain(echo);
  context.after(() => upstream.close());
  const proxy = await startProxy(context, () => assert.fail('it was used'));
  assert.match(heard(await ask(clientThrough(context, proxy), `http://127.0.0.1:${upstream.port}/`)), /^GET/);
});
