/** Connections to upstreams: reuse, ends at any moment, refused requests, deadlines and TLS, over real sockets. */

import assert from 'node:assert/strict';
import dns from 'node:dns';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { GatewayError } from '../../src/core/errors.ts';
import { createDeadlineTimer } from '../../src/transport/deadlines.ts';
import {
  createUpstreamClient,
  type Deadlines,
  type UpstreamClient,
  type UpstreamExchange,
  type UpstreamRequest,
} from '../../src/transport/upstream-client.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { startPlain, startTls, type TestServer, testCa } from '../net/servers.ts';

const DEADLINES: Deadlines = { connect: 2000, firstByte: 3000, idle: 3000, total: 10_000 };
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

setDefaultCACertificates([...getCACertificates('default'), testCa]);

interface Answer {
  status: number;
  body: string;
  isReused: boolean | undefined;
}

function clientOf(context: TestContext, deadlines: Partial<Deadlines> = {}): UpstreamClient {
  const client = createUpstreamClient({ ...DEADLINES, ...deadlines });
  context.after(() => client.close());
  return client;
}

/** Answers each request with the text that `respond` gives for its number; null answers nothing. */
async function serve(context: TestContext, respond: (number: number, socket: Socket) => string | null) {
  const requests: string[] = [];
  const server = await startPlain((socket) => {
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      for (let request = firstRequest(text); request !== undefined; request = firstRequest(text)) {
        text = text.slice(request.length);
        requests.push(request);
        const answer = respond(requests.length, socket);
        if (answer !== null) socket.write(answer, 'latin1');
      }
    });
  });
  context.after(() => server.close());
  return { server, requests };
}

function firstRequest(text: string): string | undefined {
  const end = text.indexOf('\r\n\r\n') + 4;
  const length = Number(/content-length: (\d+)/i.exec(text.slice(0, Math.max(0, end)))?.[1] ?? 0);
  return end >= 4 && text.length >= end + length ? text.slice(0, end + length) : undefined;
}

function ask(
  client: UpstreamClient,
  server: Pick<TestServer, 'port'>,
  {
    scheme = 'http',
    host = '127.0.0.1',
    ...request
  }: Partial<UpstreamRequest> & { scheme?: string; host?: string } = {},
): Promise<Answer> & { exchange: UpstreamExchange; heard: string[] } {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const chunks: Buffer[] = [];
  const heard: string[] = [];
  const answer: Answer = { status: 0, body: '', isReused: undefined };
  const exchange = client.send(
    { method: 'GET', url: `${scheme}://${host}:${server.port}/path?a=b`, headers: {}, ...request },
    {
      sent: (isReused) => {
        heard.push('sent');
        answer.isReused = isReused;
      },
      unsent: () => void heard.push('unsent'),
      head: (status) => {
        answer.status = status;
      },
      data: (chunk) => void chunks.push(Buffer.from(chunk)),
      // In the next turn, from which on the connection may be used again.
      end: () => void setImmediate(() => resolve({ ...answer, body: Buffer.concat(chunks).toString('latin1') })),
      fail: reject,
    },
  );
  return Object.assign(promise, { exchange, heard });
}

const failed = () => assert.fail('an aborted request has no outcome');

const fails = (code: string, text: RegExp) => (error: unknown) =>
  error instanceof GatewayError && error.code === code && text.test(error.message);
const isBroken = fails('upstream_error', /could not be reached or closed|broke off|cut off before/);

describe('a request', () => {
  test('is written with its headers, its host and its length', async (context) => {
    const { server, requests } = await serve(context, () => OK);
    const client = clientOf(context);
    const headers = { 'x-a': 'b', 'Content-Length': '999', 'x-latin': 'é', TE: 'trailers' };
    await ask(client, server, { method: 'POST', headers, body: Buffer.from('body') });
    await ask(client, server, { headers: { host: 'other.example' } });
    await ask(client, server, { method: 'POST' });
    await ask(client, server, { method: 'POST', body: [Buffer.from('a'), Buffer.from('b')] });
    const host = `127.0.0.1:${server.port}`;
    assert.deepEqual(requests, [
      `POST /path?a=b HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\nx-a: b\r\nx-latin: é\r\nTE: trailers\r\ncontent-length: 4\r\n\r\nbody`,
      'GET /path?a=b HTTP/1.1\r\nconnection: keep-alive\r\nhost: other.example\r\n\r\n',
      `POST /path?a=b HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n`,
      `POST /path?a=b HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nab`,
    ]);
  });

  test('of any size arrives whole, in one piece or in slices', async (context) => {
    const { server, requests } = await serve(context, () => OK);
    const client = clientOf(context);
    for (const size of [1, 16_000, 16_384, 70_000, 3_000_000]) {
      const body = 'abcdefg'.repeat(Math.ceil(size / 7)).slice(0, size);
      const bytes = Buffer.from(body);
      const middle = Math.floor(size / 2);
      for (const given of [bytes, [bytes.subarray(0, middle), bytes.subarray(middle)]]) {
        await ask(client, server, { method: 'POST', body: given });
        assert.ok(requests.at(-1)?.endsWith(`\r\n\r\n${body}`));
      }
    }
    assert.equal(server.connections(), 1);
  });

  for (const [name, value] of [
    ['x-a', 'b\r\nx-c: d'],
    ['x-a', 'b\nc'],
    ['x-a', 'b\0'],
    ['x-a', '\u0100'],
    ['x a', 'b'],
    ['x-a: b\r\nx-c', 'd'],
    ['', 'b'],
    ['Transfer-Encoding', 'chunked'],
    ['connection', 'upgrade'],
    ['expect', '100-continue'],
  ] as const) {
    test(`with the header ${JSON.stringify({ [name]: value })} is not sent`, async (context) => {
      const { server, requests } = await serve(context, () => OK);
      await assert.rejects(ask(clientOf(context), server, { headers: { [name]: value } }), isBroken);
      assert.deepEqual(requests, []);
    });
  }
});

describe('a connection', () => {
  test('serves one request after another, and more at a time than there are connections open others', async (context) => {
    const { server } = await serve(context, () => OK);
    const client = clientOf(context);
    const both = await Promise.all([ask(client, server), ask(client, server)]);
    assert.deepEqual(both, Array(2).fill({ status: 200, body: 'ok', isReused: false }));
    for (let time = 0; time < 3; time++) {
      assert.deepEqual(await ask(client, server), { status: 200, body: 'ok', isReused: true });
    }
    assert.equal(server.connections(), 2);
  });

  test('serves no request that is sent before the turn in which its response ended is over', async (context) => {
    const { server } = await serve(context, () => OK);
    const client = clientOf(context);
    const url = `http://127.0.0.1:${server.port}/`;
    const request = { method: 'GET', url, headers: {} } as const;
    const receive = (left: number, done: (left: number) => void): void => {
      const ignore = () => undefined;
      const end = () => (left > 1 ? receive(left - 1, done) : done(0));
      client.send(request, { head: ignore, data: ignore, end, fail: () => done(left) });
    };
    assert.equal(await new Promise<number>((done) => receive(6, done)), 0);
    // Each takes the one that the last but one has left.
    assert.equal(server.connections(), 2);
  });

  for (const scheme of ['http', 'https'] as const) {
    for (const [about, behind] of [
      ['another response', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL'],
      ['an empty line', '\r\n'],
      ['its end', undefined],
    ] as const) {
      // A response that fills a read, or a record of TLS, so that what follows is a read of its own.
      for (const size of [2, 16_384, 65_536]) {
        test(`gives a request nothing of ${about} behind the last response (${scheme}, ${size} bytes)`, async (context) => {
          const length = size - 'HTTP/1.1 200 OK\r\nContent-Length: 00000\r\n\r\n'.length;
          const padded = String(Math.max(2, length)).padStart(5, '0');
          const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${padded}\r\n\r\n${'o'.repeat(Number(padded))}`;
          const listener = (socket: Socket) =>
            void socket.on('data', () => {
              socket.write(answer + (behind ?? ''), 'latin1');
              if (behind === undefined) socket.end();
            });
          const server = await (scheme === 'https' ? startTls(listener) : startPlain(listener));
          context.after(() => server.close());
          const client = clientOf(context);
          const url = `${scheme}://${scheme === 'https' ? 'localhost' : '127.0.0.1'}:${server.port}/`;
          const bodies: string[] = [];
          const receive = (left: number, done: (error?: Error) => void): void => {
            let body = '';
            client.send(
              { method: 'GET', url, headers: {} },
              {
                head: () => undefined,
                data: (chunk) => {
                  body += chunk.toString('latin1');
                },
                end() {
                  bodies.push(body);
                  if (left > 1) receive(left - 1, done);
                  else done();
                },
                fail: done,
              },
            );
          };
          assert.equal(await new Promise<Error | undefined>((done) => receive(4, done)), undefined);
          assert.deepEqual([...new Set(bodies)], ['o'.repeat(Number(padded))]);
        });
      }
    }
  }

  for (const [about, text] of [
    ['that the server closes', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok'],
    ['of an old version', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'],
    ['that is kept for a second', 'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok'],
    ['with more than the response', `${OK}HTTP/1.1 200 OK\r\n`],
  ] as const) {
    test(`${about} serves no second request`, async (context) => {
      const { server } = await serve(context, () => text);
      const client = clientOf(context);
      for (let time = 0; time < 3; time++) {
        assert.deepEqual(await ask(client, server), { status: 200, body: 'ok', isReused: false });
      }
      assert.equal(server.connections(), 3);
    });
  }

  test('of a request that wants a fresh one is new, and closed after it', async (context) => {
    const { server, requests } = await serve(context, () => OK);
    const client = clientOf(context);
    await ask(client, server);
    const { isReused } = await ask(client, server, { freshConnection: true });
    assert.equal(isReused, false);
    assert.match(requests[1] ?? '', /connection: close/);
    assert.equal((await ask(client, server)).isReused, true);
    assert.equal(server.connections(), 2);
  });

  test('that the server closes while it is idle is not used', async (context) => {
    const sockets: Socket[] = [];
    const { server } = await serve(context, (_, socket) => {
      sockets.push(socket);
      return OK;
    });
    const client = clientOf(context);
    await ask(client, server);
    sockets[0]?.end();
    await wait(50);
    assert.deepEqual(await ask(client, server), { status: 200, body: 'ok', isReused: false });
  });

  test('that is sent something without a request is closed', async (context) => {
    const sockets: Socket[] = [];
    const { server } = await serve(context, (_, socket) => {
      sockets.push(socket);
      return OK;
    });
    const client = clientOf(context);
    await ask(client, server);
    const [socket] = sockets;
    assert.ok(socket);
    socket.write('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n');
    await once(socket, 'close');
    assert.equal((await ask(client, server)).isReused, false);
  });

  test('that is idle is closed before its server would do it', async (context) => {
    const closed = Promise.withResolvers<number>();
    const { server } = await serve(context, (_, socket) => {
      const began = performance.now();
      socket.once('close', () => closed.resolve(performance.now() - began));
      return 'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=3\r\nContent-Length: 2\r\n\r\nok';
    });
    await ask(clientOf(context), server);
    const milliseconds = await closed.promise;
    assert.ok(milliseconds >= 1000 && milliseconds < 2800, `${milliseconds} ms`);
  });

  test('whose server answers before it has read the request is closed', async (context) => {
    let closed: Promise<unknown> | undefined;
    const server = await startPlain((socket) => {
      closed ??= once(socket, 'close');
      socket.once('data', () => {
        socket.pause();
        socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n');
        setTimeout(() => socket.resume(), 300);
      });
    });
    context.after(() => server.close());
    const client = clientOf(context);
    const { status } = await ask(client, server, { method: 'POST', body: Buffer.alloc(30_000_000, 97) });
    assert.equal(status, 413);
    await closed;
    assert.equal((await ask(client, server)).isReused, false);
  });

  test('whose server answers a large request early, and reads on, is closed', async (context) => {
    const server = await startPlain((socket) => {
      socket.on('data', (bytes) => {
        if (/^(GET|POST) /.test(bytes.toString('latin1', 0, 5))) socket.write(OK);
      });
    });
    context.after(() => server.close());
    const client = clientOf(context);
    for (let count = 0; count < 5; count++) {
      const { status } = await ask(client, server, { method: 'POST', body: Buffer.alloc(30_000_000, 97) });
      assert.equal(status, 200);
      assert.equal((await ask(client, server, { method: 'GET' })).isReused, false);
      assert.equal((await ask(client, server, { method: 'GET' })).isReused, true);
    }
  });

  test('is closed when its request is aborted, at any time', async () => {
    for (const [answer, delay] of [
      [null, 0],
      [null, 30],
      ['HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nsome', 60],
    ] as const) {
      const sockets: Promise<unknown>[] = [];
      const server = await startPlain((socket) => {
        sockets.push(once(socket.resume(), 'close'));
        if (answer) socket.write(answer);
      });
      const client = createUpstreamClient(DEADLINES);
      const answered = ask(client, server);
      answered.then(failed, failed);
      await wait(delay);
      answered.exchange.abort();
      await client.close();
      await Promise.all(sockets);
      await server.close();
    }
  });
});

interface Ending {
  /** Sent before the end, long enough to be read before it. */
  before?: string;
  /** Milliseconds that pass on the clock of the client meanwhile. */
  pass?(): void;
}

/** Ends a connection at its second request. */
function endAtSecond(how: 'end' | 'resetAndDestroy', { before = '', pass }: Ending = {}) {
  const seen = new Set<Socket>();
  return (_: number, socket: Socket): string | null => {
    if (!seen.has(socket)) return seen.add(socket) && OK;
    if (before) socket.write(before);
    setTimeout(
      () => {
        pass?.();
        socket[how]();
      },
      before ? 50 : 0,
    );
    return null;
  };
}

/** Longer than the shortest idle timeout that a server is taken to have. */
const LONG_IDLE_MS = 1100;

/** A client in whose time a request meets the end of its connection at once, unless the test moves the clock. */
function stillClient(context: TestContext): { client: UpstreamClient; clock: ManualClock } {
  const clock = createManualClock(0);
  const client = createUpstreamClient(DEADLINES, { timer: createDeadlineTimer(clock) });
  context.after(() => client.close());
  return { client, clock };
}

describe('a kept connection that its server closes at a request', { concurrency: true }, () => {
  for (const how of ['end', 'resetAndDestroy'] as const) {
    test(`is replaced by a new one, which is kept, and what was sent is taken back (${how})`, async (context) => {
      const { server, requests } = await serve(context, endAtSecond(how));
      const { client } = stillClient(context);
      const post = { method: 'POST', body: Buffer.from('body') } as const;
      assert.equal((await ask(client, server, post)).isReused, false);
      await wait(LONG_IDLE_MS);
      const answered = ask(client, server, post);
      assert.deepEqual(await answered, { status: 200, body: 'ok', isReused: false });
      assert.deepEqual(answered.heard, ['sent', 'unsent', 'sent']);
      assert.match(requests[2] ?? '', /^POST .*connection: keep-alive.*\r\n\r\nbody$/s);
      assert.equal(server.connections(), 2);
      assert.equal(requests.length, 3);
      await assert.rejects(ask(client, server, post), isBroken);
      assert.equal(server.connections(), 2);
      assert.equal(requests[3], requests[2]);
    });
  }

  test('is replaced by no other kept one', async (context) => {
    const { server, requests } = await serve(context, endAtSecond('end'));
    const { client } = stillClient(context);
    await Promise.all([ask(client, server), ask(client, server)]);
    await wait(LONG_IDLE_MS);
    assert.deepEqual(await ask(client, server), { status: 200, body: 'ok', isReused: false });
    assert.equal(server.connections(), 3);
    assert.equal(requests.length, 4);
  });

  test('is replaced once', async (context) => {
    const { server, requests } = await serve(context, (number, socket) => {
      if (number === 1) return OK;
      socket.end();
      return null;
    });
    const { client } = stillClient(context);
    await ask(client, server);
    await wait(LONG_IDLE_MS);
    await assert.rejects(ask(client, server), isBroken);
    assert.equal(requests.length, 3);
  });

  for (const [about, options] of [
    ['with the first byte of a response', { before: 'H' }],
    ['behind an interim response', { before: 'HTTP/1.1 103 Early Hints\r\n\r\n' }],
    ['once the server can have handled it', { late: 150 }],
    ['that was idle for a moment only', { idle: 20 }],
  ] as const) {
    test(`is not replaced ${about}`, async (context) => {
      const { before, late = 0, idle = LONG_IDLE_MS }: { before?: string; late?: number; idle?: number } = options;
      const { client, clock } = stillClient(context);
      const { server, requests } = await serve(
        context,
        endAtSecond('end', { before, pass: () => clock.advance(late) }),
      );
      await ask(client, server);
      await wait(idle);
      await assert.rejects(ask(client, server), isBroken);
      assert.equal(requests.length, 2);
    });
  }

  for (const [connectMs, late, isReplaced] of [
    [0, 90, true],
    [0, 150, false],
    [120, 300, true],
    [120, 380, false],
    [400, 450, true],
    [400, 550, false],
  ] as const) {
    test(`is ${isReplaced ? '' : 'not '}replaced ${late} ms after a request where connecting takes ${connectMs} ms`, async (context) => {
      const { client, clock } = stillClient(context);
      let requests = 0;
      const server = await startTls(
        (socket) => {
          let isFirst = true;
          socket.on('data', () => {
            requests++;
            if (isFirst || requests > 2) socket.write(OK);
            else {
              clock.advance(late);
              socket.end();
            }
            isFirst = false;
          });
        },
        {
          SNICallback(_, done) {
            clock.advance(connectMs);
            done(null);
          },
        },
      );
      context.after(() => server.close());
      const secure = { scheme: 'https', host: 'localhost' };
      await ask(client, server, secure);
      await wait(LONG_IDLE_MS);
      const answered = ask(client, server, secure);
      if (isReplaced) assert.equal((await answered).body, 'ok');
      else await assert.rejects(answered, isBroken);
      assert.equal(requests, isReplaced ? 3 : 2);
    });
  }

  test('is replaced at any time while the request is not written, which is no idle timeout', async (context) => {
    let connections = 0;
    const server = await startPlain((socket) => {
      const isFirst = ++connections === 1;
      let isAnswered = false;
      socket.on('data', (bytes) => {
        if (isFirst && isAnswered)
          setTimeout(() => socket.pause() && setTimeout(() => socket.resetAndDestroy(), 1400), 0);
        else if (/[\nz]$/.test(bytes.toString('latin1', bytes.length - 1))) isAnswered = socket.write(OK);
      });
    });
    context.after(() => server.close());
    const client = clientOf(context);
    await ask(client, server);
    const body = Buffer.alloc(30_000_000, 97).fill('z', 29_999_999);
    assert.equal((await ask(client, server, { method: 'POST', body })).body, 'ok');
    assert.equal(server.connections(), 2);
    await wait(LONG_IDLE_MS);
    assert.equal((await ask(client, server)).isReused, true);
  });

  test('is not replaced for a request that was aborted, and its receiver hears nothing', async (context) => {
    const { server, requests } = await serve(context, (number, socket) => {
      if (number > 1) setTimeout(() => socket.end(), 50);
      return number > 1 ? null : OK;
    });
    const { client } = stillClient(context);
    await ask(client, server);
    await wait(LONG_IDLE_MS);
    const answered = ask(client, server);
    answered.then(failed, failed);
    await wait(20);
    answered.exchange.abort();
    await wait(100);
    assert.deepEqual(answered.heard, ['sent']);
    assert.equal(requests.length, 2);
  });
});

describe('a server that closes idle connections', { concurrency: true }, () => {
  /** Closes a connection that was idle for what `limit` says, in milliseconds. */
  async function closing(context: TestContext, limit: (socket: Socket) => number, fields = '') {
    const timers = new Map<Socket, NodeJS.Timeout>();
    const { server } = await serve(context, (_, socket) => {
      clearTimeout(timers.get(socket));
      const milliseconds = limit(socket);
      if (milliseconds < Number.POSITIVE_INFINITY)
        timers.set(
          socket,
          setTimeout(() => socket.end(), milliseconds),
        );
      return `HTTP/1.1 200 OK\r\n${fields}Content-Length: 2\r\n\r\nok`;
    });
    return server;
  }

  test('gets no request on one that is nearly as old as one that it has closed', async (context) => {
    const server = await closing(context, () => 1200);
    const client = clientOf(context);
    await ask(client, server);
    await wait(300);
    assert.equal((await ask(client, server)).isReused, true);
    await wait(1350);
    assert.equal((await ask(client, server)).isReused, false);
    await wait(1000);
    assert.equal((await ask(client, server)).isReused, false);
    await wait(300);
    assert.equal((await ask(client, server)).isReused, true);
  });

  // While it is still kept, and after that: old connections are closed every second.
  for (const delay of [1900, 4200]) {
    test(`is trusted again once it has kept one for longer (after ${delay} ms)`, async (context) => {
      let count = 0;
      const server = await closing(context, () => (++count === 1 ? 1100 : 60_000), 'Keep-Alive: timeout=5\r\n');
      const client = clientOf(context);
      await ask(client, server);
      await wait(1300);
      await ask(client, server);
      await wait(900);
      assert.equal((await ask(client, server)).isReused, false);
      await wait(delay);
      await ask(client, server);
      await wait(900);
      assert.equal((await ask(client, server)).isReused, true);
    });
  }

  test('is trusted in spite of an end that follows a response', async (context) => {
    let count = 0;
    const server = await closing(context, () => (++count % 3 === 1 ? 5 : 60_000));
    const client = clientOf(context);
    const isReused: unknown[] = [];
    for (let request = 0; request < 6; request++) {
      isReused.push((await ask(client, server)).isReused);
      await wait(50);
    }
    assert.deepEqual(isReused, [false, false, true, true, false, true]);
  });

  test('is trusted in spite of an end that follows a response on a connection that was idle for long', async (context) => {
    let count = 0;
    const server = await closing(context, () => (++count === 2 ? 5 : 60_000));
    const client = clientOf(context);
    await ask(client, server);
    await wait(LONG_IDLE_MS);
    assert.equal((await ask(client, server)).isReused, true);
    await wait(50);
    assert.equal((await ask(client, server)).isReused, false);
    await wait(LONG_IDLE_MS);
    assert.equal((await ask(client, server)).isReused, true);
  });

  test('is trusted while one that is idle for longer is open', async (context) => {
    let last: Socket | undefined;
    const server = await closing(context, (socket) => {
      last = socket;
      return Number.POSITIVE_INFINITY;
    });
    const client = clientOf(context);
    await Promise.all([ask(client, server), ask(client, server)]);
    await wait(50);
    await ask(client, server);
    await wait(LONG_IDLE_MS);
    last?.end();
    await wait(150);
    assert.equal((await ask(client, server)).isReused, true);
  });
});

/** The end of the connection is that of the response. */
function closeBehindResponse(_: number, socket: Socket): null {
  socket.end('HTTP/1.1 200 OK\r\n\r\nuntil the end');
  return null;
}

describe('a response that breaks off', () => {
  for (const [about, text] of [
    ['before it begins', ''],
    ['in its head', 'HTTP/1.1 200 OK\r\nContent-'],
    ['in its body', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab'],
    ['between chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n'],
  ] as const) {
    for (const how of ['end', 'resetAndDestroy'] as const) {
      test(`${about} fails (${how})`, async (context) => {
        const { server } = await serve(context, (_, socket) => {
          if (text) socket.write(text);
          setTimeout(() => socket[how](), 30);
          return null;
        });
        await assert.rejects(ask(clientOf(context), server), isBroken);
      });
    }
  }

  test('is complete if only the end of the connection can tell', async (context) => {
    const { server } = await serve(context, closeBehindResponse);
    assert.deepEqual(await ask(clientOf(context), server), { status: 200, body: 'until the end', isReused: false });
  });

  test('fails where it would be complete by the end of the connection, but that is reset', async (context) => {
    const { server } = await serve(context, (_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\nuntil');
      setTimeout(() => socket.resetAndDestroy(), 30);
      return null;
    });
    await assert.rejects(ask(clientOf(context), server), isBroken);
  });

  test('is heard to its end when its receiver pauses before the end of the connection', async (context) => {
    const { server } = await serve(context, closeBehindResponse);
    const answer = ask(clientOf(context), server);
    answer.exchange.pause();
    await wait(100);
    answer.exchange.resume();
    assert.equal((await answer).body, 'until the end');
  });
});

test('a response that is no HTTP fails, and its connection is closed', async (context) => {
  const { server } = await serve(context, () => 'SSH-2.0-OpenSSH_9.2\r\n\r\n');
  await assert.rejects(ask(clientOf(context), server), fails('upstream_error', /status line/));
});

test('a name whose addresses are not found in time is looked up once, and the cause says so', async (context) => {
  const { server, requests } = await serve(context, () => OK);
  const { lookup } = dns;
  const asked: string[] = [];
  let find = () => {};
  dns.lookup = ((name: string, _: object, found: (error: null, addresses: dns.LookupAddress[]) => void) => {
    asked.push(name);
    find = () => found(null, [{ address: '127.0.0.1', family: 4 }]);
  }) as typeof lookup;
  syncBuiltinESMExports();
  context.after(() => {
    dns.lookup = lookup;
    syncBuiltinESMExports();
  });
  const client = clientOf(context, { connect: 200 });
  const late = [1, 2, 3].map(() => ask(client, server, { host: 'slow.example' }));
  for (const answer of late) {
    await assert.rejects(answer, fails('timeout', /could not be reached in time/));
    assert.equal(await causeOf(answer), 'The addresses of slow.example were not found in time.');
  }
  const found = [1, 2].map(() => ask(client, server, { host: 'slow.example' }));
  find();
  for (const answer of found) assert.equal((await answer).body, 'ok');
  assert.deepEqual([asked, requests.length], [['slow.example'], 2]);
  const other = ask(client, server, { host: 'slow.example', method: 'POST' });
  assert.equal((await other).body, 'ok');
});

function causeOf(answer: Promise<unknown>): Promise<string> {
  return answer.then(
    () => '',
    ({ cause }) => cause.message,
  );
}

test('a server that cannot be reached in time, or refuses', async (context) => {
  // It takes the connection and never shakes hands.
  const { server } = await serve(context, () => null);
  const client = clientOf(context, { connect: 200 });
  const began = performance.now();
  const slow = ask(client, server, { scheme: 'https', host: 'localhost' });
  await assert.rejects(slow, fails('timeout', /could not be reached in time/));
  assert.match(await causeOf(slow), /TLS handshake did not end/);
  assert.ok(performance.now() - began < 1500);
  await server.close();
  await assert.rejects(ask(client, server), isBroken);
});

describe('over TLS', () => {
  for (const [about, text] of [
    ['a length', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello'],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'],
    ['no length', 'HTTP/1.1 200 OK\r\n\r\nhello'],
  ] as const) {
    test(`a response with ${about} is whole when its receiver pauses while the connection ends`, async (context) => {
      const server = await startTls((socket) => void socket.once('data', () => socket.end(text)));
      context.after(() => server.close());
      for (const moment of ['send', 'head', 'data'] as const) {
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        let body = '';
        const later = (event: string) => {
          if (event !== moment) return;
          exchange.pause();
          setTimeout(() => exchange.resume(), 100);
        };
        const exchange = clientOf(context).send(
          { method: 'GET', url: `https://localhost:${server.port}/`, headers: {} },
          {
            head: () => later('head'),
            data(chunk) {
              body += chunk.toString('latin1');
              later('data');
            },
            end: () => resolve(body),
            fail: reject,
          },
        );
        later('send');
        assert.equal(await promise, 'hello', moment);
      }
    });
  }

  test('a large request is written in parts, one for each turn, and arrives whole', async (context) => {
    const size = 20_000_000;
    const body = Buffer.alloc(size);
    for (let at = 0; at < size; at += 4) body.writeUInt32LE(at, at);
    const { promise: arrived, resolve } = Promise.withResolvers<Buffer>();
    const server = await startTls((socket) => {
      const chunks: Buffer[] = [];
      let received = 0;
      socket.on('data', (bytes) => {
        chunks.push(bytes);
        received += bytes.length;
        if (bytes.toString('latin1', 0, 3) === 'GET') socket.write(OK);
        if (received < size) return;
        resolve(Buffer.concat(chunks).subarray(-size));
        socket.write(OK);
      });
    });
    context.after(() => server.close());
    const client = clientOf(context);
    const secure = { scheme: 'https', host: 'localhost' };
    await ask(client, server, secure);
    const written: number[] = [];
    const write = context.mock.method(Duplex.prototype, 'write');
    const answer = ask(client, server, { ...secure, method: 'POST', body });
    for (const {
      arguments: [piece],
    } of write.mock.calls)
      written.push((piece as Buffer | string).length);
    write.mock.restore();
    assert.equal((await answer).body, 'ok');
    assert.ok((await arrived).equals(body));
    const inFirstTurn = written.reduce((sum, bytes) => sum + bytes, 0);
    assert.ok(inFirstTurn > 256 * 1024 && inFirstTurn <= 1024 * 1024, `${inFirstTurn} bytes in the first turn`);
  });

  test('connections are reused, sessions are resumed, and only HTTP/1.1 is offered', async (context) => {
    const sockets: TLSSocket[] = [];
    const server = await startTls(
      (socket) => {
        sockets.push(socket as TLSSocket);
        socket.on('data', () => socket.write(OK));
      },
      { ALPNProtocols: ['h2', 'http/1.1'] },
    );
    context.after(() => server.close());
    const client = clientOf(context);
    const secure = { scheme: 'https', host: 'localhost' };
    assert.equal((await ask(client, server, secure)).isReused, false);
    assert.equal((await ask(client, server, secure)).isReused, true);
    await ask(client, server, { ...secure, freshConnection: true });
    assert.deepEqual(
      sockets.map((socket) => [socket.alpnProtocol, socket.isSessionReused()]),
      [
        ['http/1.1', false],
        ['http/1.1', true],
      ],
    );
  });

  test('a certificate for another name is refused before anything is sent', async (context) => {
    let received = 0;
    const server = await startTls((socket) => void socket.on('data', () => received++));
    context.after(() => server.close());
    await assert.rejects(ask(clientOf(context), server, { scheme: 'https', host: '127.0.0.2' }), isBroken);
    assert.equal(received, 0);
  });
});

test('a receiver that paused before the connection was there holds its server back', async (context) => {
  let written = 0;
  const server = await startPlain((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const more = () => {
      while (socket.write(Buffer.alloc(65_536))) written += 65_536;
    };
    socket.on('drain', more);
    more();
  });
  context.after(() => server.close());
  const { exchange, ...answer } = ask(clientOf(context), server);
  void answer;
  exchange.pause();
  exchange.resume();
  exchange.pause();
  await wait(500);
  const early = written;
  await wait(500);
  assert.equal(written, early);
  exchange.abort();
});

test('a URL that is none of HTTP is refused', (context) => {
  const client = clientOf(context);
  const receiver = { head: failed, data: failed, end: failed, fail: failed };
  for (const url of ['ftp://127.0.0.1/', 'ws://127.0.0.1/', 'foo://a/', 'nothing']) {
    assert.throws(() => client.send({ method: 'GET', url, headers: {} }, receiver), url);
  }
});

test('a client that is closed waits for its requests, and keeps no connection', async (context) => {
  const sockets: Socket[] = [];
  const { server } = await serve(context, (number, socket) => {
    sockets.push(socket);
    if (number > 1) setTimeout(() => socket.write(OK), 100);
    return number > 1 ? null : OK;
  });
  const client = createUpstreamClient(DEADLINES);
  await ask(client, server);
  const last = ask(client, server);
  let isClosed = false;
  const closing = Promise.all([client.close(), client.close()]).then(() => {
    isClosed = true;
  });
  await wait(30);
  assert.equal(isClosed, false);
  assert.equal((await last).body, 'ok');
  await closing;
  assert.equal(sockets.at(-1)?.closed || (await once(sockets.at(-1) as Socket, 'close')) !== undefined, true);
});
