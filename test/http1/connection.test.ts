/** Connections of clients: requests one after the other, timeouts, bodies that nobody reads, clients that leave, upgrades. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import type { BodyReceiver, ServerRequest } from '../../src/http1/server-request.ts';
import type { ServerResponse } from '../../src/http1/server-response.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { refuse, type StartOptions, startServer } from './start-server.ts';
import { openWire, type WireClient } from './wire-client.ts';

type Handler = (request: ServerRequest, response: ServerResponse) => void;

const get = (path: string, ...fields: string[]) => [`GET ${path} HTTP/1.1`, 'Host: x', ...fields, '', ''].join('\r\n');
const post = (...fields: string[]) => ['POST / HTTP/1.1', 'Host: x', ...fields, '', ''].join('\r\n');

function respond(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-length': String(text.length) });
  response.end([text], text.length);
}

/** Responds with the path, and with the body if there is one. */
const echo: Handler = (request, response) => {
  if (!request.hasBody) return respond(response, `<${request.url}>`);
  let body = '';
  request.receive({
    data: (chunk) => {
      body += chunk.toString('latin1');
    },
    end: () => respond(response, `<${body}>`),
    broken() {},
  });
};

/** Refuses a request whose body is broken, with `none` where nobody says why. */
function refusing(response: ServerResponse): BodyReceiver {
  return {
    data() {},
    end: () => assert.fail(),
    broken: (error) => refuse(error ?? { code: 'none' as never }, response),
  };
}

async function start(context: TestContext, handler: Handler, options?: StartOptions) {
  const server = await startServer(handler, options);
  const clients: WireClient[] = [];
  context.after(async () => {
    for (const { socket } of clients) socket.destroy();
    await server.close();
  });
  function open(): WireClient {
    const client = openWire(server.port);
    clients.push(client);
    return client;
  }
  return { server, open };
}

/** The requests that a handler got, which it leaves to the test. */
function collected() {
  const seen: { request: ServerRequest; response: ServerResponse }[] = [];
  let notify: () => void = () => {};
  return {
    seen,
    handler: (request: ServerRequest, response: ServerResponse) => {
      seen.push({ request, response });
      notify();
    },
    /** Resolves with a request once it has come. */
    async at(index: number) {
      while (seen.length <= index)
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
      return seen[index] as (typeof seen)[number];
    },
  };
}

async function eventually(isTrue: () => boolean): Promise<void> {
  for (let round = 0; !isTrue(); round++) {
    assert.ok(round < 5000);
    await pause(2);
  }
}

describe('a connection', { timeout: 120_000 }, () => {
  test('serves requests one after the other', async (context) => {
    const { open } = await start(context, echo);
    const client = open();
    client.send(get('/1'));
    const first = await client.until('</1>');
    assert.match(
      first,
      /^HTTP\/1\.1 200 OK\r\ncontent-length: 4\r\nDate: \w{3}, .* GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=72\r\n\r\n<\/1>$/,
    );
    client.send(`${post('Content-Length: 3')}`);
    client.send('abc');
    await client.until('<abc>');
    client.send(`${post('Transfer-Encoding: chunked')}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`);
    await client.until('<abcde>');
    assert.equal(client.received, '');
  });

  for (const [about, text, ends] of [
    ['HTTP/1.1', get('/'), false],
    ['HTTP/1.1 and close', get('/', 'Connection: close'), true],
    ['close among others', get('/', 'Connection: te, Close'), true],
    ['HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', true],
    ['HTTP/1.0 and keep-alive', 'GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n', false],
    ['HTTP/1.0, keep-alive and close', 'GET / HTTP/1.0\r\nConnection: Keep-Alive, close\r\n\r\n', true],
  ] as const) {
    test(`${ends ? 'ends' : 'is kept'} after a request with ${about}`, async (context) => {
      const { open } = await start(context, echo);
      const client = open();
      client.send(text);
      const response = await client.until('</>');
      assert.match(response, ends ? /\r\nConnection: close\r\n/ : /\r\nConnection: keep-alive\r\n/);
      if (ends) assert.equal(await client.closed(), '');
      else {
        client.send(get('/again'));
        await client.until('</again>');
      }
    });
  }

  test('takes the next request only after the response', async (context) => {
    const { seen, handler, at } = collected();
    const { open } = await start(context, handler);
    const client = open();
    client.send(`${get('/1')}${post('Content-Length: 4')}body${get('/3')}`);
    const first = await at(0);
    await turn();
    assert.equal(seen.length, 1);
    respond(first.response, '<1>');
    const second = await at(1);
    await client.until('<1>');
    const bytes: Buffer[] = [];
    second.request.receive({ data: (chunk) => bytes.push(chunk), end() {}, broken() {} });
    assert.equal(Buffer.concat(bytes).toString(), 'body');
    assert.equal(seen.length, 2);
    respond(second.response, '<2>');
    const third = await at(2);
    assert.equal(third.request.url, '/3');
    respond(third.response, '<3>');
    await client.until('<3>');
  });

  test('answers thousands of requests that come at once, in their order', async (context) => {
    const { open } = await start(context, echo);
    const client = open();
    const count = 5000;
    client.send(Array.from({ length: count }, (_, index) => get(`/${index}`)).join(''));
    await client.until(`</${count - 1}>`);
  });

  test('lets others have their turns between requests that come at once', async (context) => {
    const { open } = await start(context, echo);
    const [eager, other] = [open(), open()];
    other.send(get('/0'));
    await other.until('</0>');
    const count = 1500;
    eager.send(Array.from({ length: count }, () => get('/')).join(''));
    await eager.until('</>');
    other.send(get('/1'));
    await other.until('</1>');
    const answered = eager.received.split('</>').length;
    assert.ok(answered < count / 2, `${answered}`);
  });

  test('reads no further than a few pages while a response is not over', async (context) => {
    const first = Promise.withResolvers<{ request: ServerRequest; response: ServerResponse }>();
    const { open } = await start(context, (request, response) => {
      if (request.url === '/1') first.resolve({ request, response });
      else echo(request, response);
    });
    const client = open();
    client.send(get('/1'));
    const { request, response } = await first.promise;
    client.socket.write(get('/2').repeat(400_000));
    while (request.socket.bytesRead <= 1000) await pause(5);
    await pause(300);
    const read = request.socket.bytesRead;
    assert.ok(read > 1000 && read < 512 * 1024, `${read}`);
    respond(response, '<1>');
    await client.until('<1>');
    await client.until('</2>');
  });

  test('hands nothing of a body over before it is asked for, and reads no further', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    const client = open();
    const body = 'x'.repeat(8_000_000);
    client.send(post(`Content-Length: ${body.length}`));
    client.socket.write(body);
    const { request, response } = await at(0);
    await pause(200);
    assert.ok(request.socket.bytesRead < 512 * 1024, `${request.socket.bytesRead}`);
    let length = 0;
    await new Promise<void>((resolve) =>
      request.receive({
        data(chunk) {
          length += chunk.length;
        },
        end: resolve,
        broken: () => assert.fail(),
      }),
    );
    assert.equal(length, body.length);
    respond(response, '<done>');
    await client.until('<done>');
  });

  test('ends after a response behind which something else than a request came', async (context) => {
    const { open } = await start(context, echo);
    for (const [text, answer] of [
      [`${post('Content-Length: 3')}abcdef`, '<abc>'],
      [`${get('/')}def`, '</>'],
    ] as const) {
      const client = open();
      client.send(text);
      assert.match(await client.until(answer), /Connection: close/);
      assert.equal(await client.closed(), '');
    }
  });

  test('has the date of each second', async (context) => {
    const clock = createManualClock(Date.parse('2026-01-01T00:00:00.500Z'));
    const { open } = await start(context, echo, { clock });
    const client = open();
    for (const [wait, date] of [
      [0, 'Thu, 01 Jan 2026 00:00:00 GMT'],
      [400, 'Thu, 01 Jan 2026 00:00:00 GMT'],
      [200, 'Thu, 01 Jan 2026 00:00:01 GMT'],
    ] as const) {
      clock.advance(wait);
      client.send(get('/'));
      assert.match(await client.until('</>'), new RegExp(`\r\nDate: ${date}\r\n`));
    }
  });
});

describe('a request that is no HTTP', { timeout: 120_000 }, () => {
  test('is refused without the handler, and ends the connection', async (context) => {
    const { open } = await start(context, () => assert.fail());
    for (const [text, answer] of [
      ['hello\r\n\r\n', 'invalid_request'],
      [get('/', 'A: \0'), 'invalid_request'],
      [`GET / HTTP/1.1\r\nA: ${'a'.repeat(20_000)}`, 'headers_too_large'],
    ] as const) {
      const client = open();
      client.send(text);
      assert.match(await client.until(answer), /^HTTP\/1\.1 4\d\d .*\r\nConnection: close\r\n/s);
      assert.equal(await client.closed(), '');
    }
  });

  test('behind one that is fine is refused after its response', async (context) => {
    const { open } = await start(context, echo);
    const client = open();
    client.send(`${get('/1')}POST / HTTP/9.9\r\nHost: x\r\n\r\n`);
    await client.until('</1>');
    await client.until('invalid_request');
    await client.closed();
  });

  test('in its body is refused, and the reader of the body is told', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    const client = open();
    client.send(`${post('Transfer-Encoding: chunked')}3\r\nabc\r\n`);
    const { request, response } = await at(0);
    request.receive(refusing(response));
    client.send('zz\r\n');
    await client.until('invalid_request');
    await client.closed();
  });

  test('in a body that is not read any more leaves the response as it is', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    const client = open();
    client.send(`${post('Transfer-Encoding: chunked')}3\r\nabc\r\n`);
    const { request, response } = await at(0);
    let isBroken = false;
    request.receive({
      data() {},
      end: () => assert.fail(),
      broken(error) {
        assert.equal(error, undefined);
        isBroken = true;
      },
    });
    response.writeHead(200, {});
    assert.equal(isBroken, true);
    response.write(['begun'], 5);
    client.send('zz\r\n');
    await client.until('begun');
    response.end(['ended'], 5);
    await client.until('ended\r\n0\r\n\r\n');
    await client.closed();
  });

  test('whose handler throws ends the connection alone', async (context) => {
    const { open } = await start(context, (request, response) => {
      if (request.url === '/bad') throw new Error('thrown by the handler');
      echo(request, response);
    });
    const client = open();
    client.send(get('/bad'));
    assert.equal(await client.closed(), '');
    const other = open();
    other.send(get('/good'));
    await other.until('</good>');
  });
});

describe('time', { timeout: 120_000 }, () => {
  const REQUEST_TIMEOUT_MS = 30_000;

  async function startTimed(context: TestContext) {
    const clock = createManualClock(Date.parse('2026-01-01'));
    const { seen, handler, at } = collected();
    const { open } = await start(context, handler, { clock, requestTimeoutMs: REQUEST_TIMEOUT_MS });
    return { clock, seen, at, open };
  }

  test('is 15 seconds for the first byte of a connection', async (context) => {
    const { clock, open } = await startTimed(context);
    const client = open();
    await once(client.socket, 'connect');
    await pause(50);
    clock.advance(14_900);
    assert.equal(client.received, '');
    clock.advance(5_100);
    assert.match(await client.until('request_timeout'), /^HTTP\/1\.1 408 /);
    await client.closed();
  });

  test('is not waited for by a client that begins with another protocol', async (context) => {
    const { open } = await startTimed(context);
    const client = open();
    client.send('\x16\x03\x01\x02\x00\x01');
    assert.match(await client.until('invalid_request'), /^HTTP\/1\.1 400 /);
    await client.closed();
  });

  test('is 15 seconds for a head, however often bytes come', async (context) => {
    const { clock, at, open } = await startTimed(context);
    const client = open();
    client.send(get('/1'));
    respond((await at(0)).response, '<1>');
    await client.until('<1>');
    client.send('GET / HTTP/1.1\r\n');
    await pause(20);
    for (let seconds = 0; seconds < 14; seconds++) {
      client.send('A');
      clock.advance(1000);
      await turn();
    }
    assert.equal(client.received, '');
    clock.advance(6_000);
    await client.until('request_timeout');
    await client.closed();
  });

  test('is that of the options for all of a request', async (context) => {
    const { clock, at, open } = await startTimed(context);
    const client = open();
    client.send(post('Content-Length: 100'));
    const { request, response } = await at(0);
    request.receive(refusing(response));
    for (let seconds = 0; seconds < 29; seconds++) {
      client.send('x');
      clock.advance(1000);
      await turn();
    }
    assert.equal(client.received, '');
    clock.advance(6_000);
    assert.match(await client.until('request_timeout'), /^HTTP\/1\.1 408 /);
    await client.closed();
  });

  test('ends the connection if nobody has asked for the body by then', async (context) => {
    const { clock, at, open } = await startTimed(context);
    const client = open();
    client.send(post('Content-Length: 100'));
    const { response } = await at(0);
    clock.advance(REQUEST_TIMEOUT_MS + 5_000);
    assert.equal(await client.closed(), '');
    assert.equal(response.destroyed, true);
  });

  test('is 72 seconds between requests, after which the connection ends silently', async (context) => {
    const { clock, at, open } = await startTimed(context);
    const client = open();
    client.send(get('/1'));
    respond((await at(0)).response, '<1>');
    await client.until('<1>');
    await pause(20);
    clock.advance(71_000);
    client.send(get('/2'));
    respond((await at(1)).response, '<2>');
    await client.until('<2>');
    await pause(20);
    clock.advance(77_000);
    assert.equal(await client.closed(), '');
  });

  test('is not counted while a response is made', async (context) => {
    const { clock, at, open } = await startTimed(context);
    const client = open();
    client.send(post('Content-Length: 1'));
    client.send('x');
    const { request, response } = await at(0);
    await new Promise<void>((resolve) => request.receive({ data() {}, end: resolve, broken() {} }));
    clock.advance(3_600_000);
    await pause(20);
    respond(response, '<late>');
    await client.until('<late>');
  });

  test('is that of an idle connection where an empty line came, as old clients send it', async (context) => {
    const { clock, at, open } = await startTimed(context);
    const client = open();
    client.send(get('/1'));
    const { request, response } = await at(0);
    respond(response, '<1>');
    await client.until('<1>');
    client.send('\r\n');
    await eventually(() => request.socket.bytesRead === get('/1').length + 2);
    clock.advance(20_000);
    assert.equal(await client.closed(), '');
  });

  test('is 2 seconds for a client that sends little more when it was answered', async (context) => {
    const { clock, at, open } = await startTimed(context);
    const client = open();
    client.send(post('Content-Length: 50000000'));
    const { request, response: refusal } = await at(0);
    client.socket.write('x'.repeat(20_000_000));
    await eventually(() => request.socket.isPaused());
    respond(refusal, '<refused>');
    const response = await client.until('<refused>');
    assert.match(response, /Connection: close/);
    // What it sends is read, so that the response is not lost by a reset.
    const sent = post('Content-Length: 50000000').length + 20_000_000;
    await eventually(() => request.socket.bytesRead === sent);
    clock.advance(2_000);
    client.send('x'.repeat(8_000));
    await eventually(() => request.socket.bytesRead === sent + 8_000);
    clock.advance(1_900);
    assert.equal(request.socket.destroyed, false);
    clock.advance(100);
    assert.equal(request.socket.destroyed, true);
  });

  test('goes on for a client that was answered amid its body and sends nothing for five seconds', async (context) => {
    const { clock, at, open } = await startTimed(context);
    const client = open();
    client.send(post('Content-Length: 50000000'));
    const { request, response } = await at(0);
    client.socket.pause();
    respond(response, '<refused>');
    await eventually(() => response.closed);
    for (let seconds = 0; seconds < 20; seconds += 5) {
      const sent = request.socket.bytesRead + 10_000;
      client.send('x'.repeat(10_000));
      await eventually(() => request.socket.bytesRead === sent);
      clock.advance(5_000);
      assert.equal(request.socket.destroyed, false);
    }
    client.socket.resume();
    await client.until('<refused>');
    clock.advance(6_000);
    assert.equal(request.socket.destroyed, true);
  });

  test('is 30 seconds for a client that goes on to send when it was answered', async (context) => {
    const { clock, at, open } = await startTimed(context);
    const client = open();
    client.send(post('Content-Length: 50000000'));
    const { request, response } = await at(0);
    respond(response, '<refused>');
    await client.until('<refused>');
    for (let seconds = 0; seconds < 30; seconds += 2) {
      assert.equal(request.socket.destroyed, false);
      const sent = request.socket.bytesRead + 10_000;
      client.send('x'.repeat(10_000));
      await eventually(() => request.socket.bytesRead === sent);
      clock.advance(2_000);
    }
    assert.equal(request.socket.destroyed, true);
  });
});

describe('a client that does not read', { timeout: 120_000 }, () => {
  async function startUnread(context: TestContext) {
    const clock = createManualClock(0);
    const body = 'x'.repeat(20_000_000);
    const { seen, handler, at } = collected();
    const { server, open } = await start(context, handler, { clock });
    const client = open();
    client.socket.pause();
    client.send(get('/'));
    const { request, response } = await at(0);
    respond(response, body);
    await pause(50);
    assert.ok(request.socket.writableLength > 0);
    return { clock, server, client, request, response, body, seen };
  }

  test('has five minutes between two reads', async (context) => {
    const { clock, client, request, response, body } = await startUnread(context);
    for (let round = 0; round < 2; round++) {
      clock.advance(290_000);
      assert.equal(request.socket.destroyed, false);
      const before = client.received.length;
      client.socket.resume();
      while (client.received.length < before + 5_000_000) await turn();
      client.socket.pause();
      await pause(50);
      clock.advance(5_000);
    }
    assert.ok(client.received.length < body.length);
    assert.equal(response.closed, false);
    clock.advance(300_000);
    assert.equal(request.socket.destroyed, true);
    assert.equal(response.writableFinished, false);
  });

  test('and sends no more has five seconds', async (context) => {
    const { clock, client, request, response } = await startUnread(context);
    client.socket.end();
    await eventually(() => request.socket.readableEnded);
    clock.advance(5_000);
    assert.equal(request.socket.destroyed, false);
    clock.advance(5_000);
    await eventually(() => response.closed);
    assert.equal(response.writableFinished, false);
  });

  test('has five seconds when the server closes', async (context) => {
    const { clock, server, response } = await startUnread(context);
    const closed = server.close();
    clock.advance(10_000);
    await closed;
    assert.equal(response.writableFinished, false);
  });

  test('before it has sent all gets a response that is made at once', async (context) => {
    const body = 'x'.repeat(8_000_000);
    const { open } = await start(context, (_request, response) => respond(response, body));
    const client = open();
    client.socket.pause();
    client.socket.write(post('Content-Length: 20000000') + 'y'.repeat(20_000_000));
    await once(client.socket, 'drain');
    client.socket.resume();
    while (!client.received.endsWith('x'.repeat(100)) || client.received.length < body.length) await pause(5);
  });

  test('and sends another request behind one that is the last gets the whole response', async (context) => {
    const body = 'x'.repeat(2_000_000);
    const { seen, handler, at } = collected();
    const { open } = await start(context, handler);
    const client = open();
    client.socket.pause();
    client.send(get('/1'));
    const { request, response } = await at(0);
    response.closeAfterwards();
    respond(response, body);
    await pause(50);
    client.send(get('/2'));
    await eventually(() => request.socket.bytesRead === 2 * get('/1').length);
    const rest = client.closed();
    client.socket.resume();
    assert.ok((await rest).endsWith(body));
    assert.equal(seen.length, 1);
  });
});

describe('a body', { timeout: 120_000 }, () => {
  test('that has come and that nobody reads leaves the connection usable', async (context) => {
    const { open } = await start(context, async (request, response) => {
      // The read goes on up to the end of what came.
      await Promise.resolve();
      respond(response, `<${request.url}>`);
    });
    const client = open();
    client.send(`${post('Content-Length: 4')}body${get('/next')}`);
    assert.match(await client.until('</>'), /Connection: keep-alive/);
    await client.until('</next>');
  });

  test('is asked for with 100 Continue, when its reader wants it', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    const client = open();
    client.send(post('Content-Length: 4', 'Expect: 100-continue'));
    const { request, response } = await at(0);
    await pause(50);
    assert.equal(client.received, '');
    const ended = new Promise<void>((resolve) => request.receive({ data() {}, end: resolve, broken() {} }));
    assert.equal(await client.until('\r\n\r\n'), 'HTTP/1.1 100 Continue\r\n\r\n');
    client.send('body');
    await ended;
    respond(response, '<read>');
    assert.match(await client.until('<read>'), /^HTTP\/1\.1 200 OK\r\n/);
  });

  test('that is refused is not asked for', async (context) => {
    const { open } = await start(context, (_request, response) => respond(response, '<no>'));
    const client = open();
    client.send(post('Content-Length: 4', 'Expect: 100-continue'));
    assert.match(await client.until('<no>'), /^HTTP\/1\.1 200 OK\r\n.*Connection: close\r\n/s);
    await client.closed();
  });

  test('that came with its head is not asked for', async (context) => {
    const { open } = await start(context, echo);
    const client = open();
    client.send(`${post('Content-Length: 4', 'Expect: 100-continue')}body`);
    assert.match(await client.until('<body>'), /^HTTP\/1\.1 200 OK\r\n/);
  });

  test('whose client leaves is broken, also when it is asked for later', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    for (const [index, isLate] of [false, true].entries()) {
      const client = open();
      client.send(`${post('Content-Length: 10')}body`);
      const { request, response } = await at(index);
      const broken = Promise.withResolvers<void>();
      const receiver = { data() {}, end: () => assert.fail(), broken: () => broken.resolve() };
      if (!isLate) request.receive(receiver);
      client.socket.resetAndDestroy();
      if (isLate) {
        await eventually(() => response.closed);
        request.receive(receiver);
      }
      await broken.promise;
    }
  });
});

describe('a body that is asked for', { timeout: 120_000 }, () => {
  test('late is not that of the next request', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    const client = open();
    client.send(`${post('Content-Length: 1')}a${post('Content-Length: 1')}b`);
    const first = await at(0);
    respond(first.response, '<1>');
    const second = await at(1);
    const seen: string[] = [];
    const receiver = (name: string): BodyReceiver => ({
      data: (chunk) => seen.push(`${name} ${chunk}`),
      end: () => seen.push(`${name} end`),
      broken: () => seen.push(`${name} broken`),
    });
    first.request.receive(receiver('first'));
    second.request.receive(receiver('second'));
    second.request.receive(receiver('again'));
    assert.deepEqual(seen, ['first broken', 'second b', 'second end', 'again broken']);
    respond(second.response, '<2>');
    await client.until('<2>');
  });

  test('twice before it has come is that of the first', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    const client = open();
    client.send(post('Content-Length: 1'));
    const { request, response } = await at(0);
    const seen: string[] = [];
    request.receive({ data: () => seen.push('data'), end: () => respond(response, '<1>'), broken() {} });
    request.receive({ data: () => assert.fail(), end: () => assert.fail(), broken: () => seen.push('broken') });
    client.send('x');
    await client.until('<1>');
    assert.deepEqual(seen, ['broken', 'data']);
  });

  test('after the response has begun is broken, and writes nothing into it', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    const client = open();
    client.send(post('Content-Length: 1', 'Expect: 100-continue'));
    const { request, response } = await at(0);
    response.writeHead(200, {});
    response.write(['a'], 1);
    let isBroken = false;
    request.receive({
      data() {},
      end() {},
      broken() {
        isBroken = true;
      },
    });
    assert.equal(isBroken, true);
    response.end(['b'], 1);
    assert.match(await client.closed(), /\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n$/);
  });
});

describe('a client that sends no more', { timeout: 120_000 }, () => {
  test('is told that its request is not complete', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    const inBody = open();
    inBody.send(`${post('Content-Length: 10')}abc`);
    const { request, response } = await at(0);
    request.receive(refusing(response));
    const inHead = open();
    inHead.send('GET / HTTP/1.1\r\nHost');
    for (const { socket } of [inBody, inHead]) socket.end();
    for (const client of [inBody, inHead]) {
      await client.until('client_closed');
      assert.equal(await client.closed(), '');
    }
  });

  test('is told so where its body is asked for later', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    const client = open();
    client.send(`${post('Content-Length: 3')}ab`);
    client.socket.end();
    const { request, response } = await at(0);
    await pause(50);
    request.receive(refusing(response));
    await client.until('client_closed');
    await client.closed();
  });

  test('and has sent all of its request counts as gone', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    const client = open();
    client.send(`${post('Content-Length: 3')}abc`);
    client.socket.end();
    const { request, response } = await at(0);
    await pause(50);
    assert.equal(response.closed, false);
    await new Promise<void>((resolve) => request.receive({ data() {}, end: resolve, broken: () => assert.fail() }));
    await eventually(() => response.closed);
    assert.equal(response.destroyed, true);
    assert.equal(await client.closed(), '');
  });

  test('and has sent nothing is not answered', async (context) => {
    const { open } = await start(context, echo);
    const silent = open();
    silent.socket.end();
    assert.equal(await silent.closed(), '');
    const idle = open();
    idle.send(get('/'));
    await idle.until('</>');
    idle.socket.end();
    assert.equal(await idle.closed(), '');
  });
});

describe('a client that leaves', { timeout: 120_000 }, () => {
  test('ends its response', async (context) => {
    const { handler, at } = collected();
    const { open } = await start(context, handler);
    for (const [index, leave] of [
      (client: WireClient) => client.socket.destroy(),
      (client: WireClient) => client.socket.resetAndDestroy(),
      (client: WireClient) => client.socket.end(),
    ].entries()) {
      const client = open();
      client.send(get('/'));
      const { response } = await at(index);
      response.writeHead(200, {});
      response.write(['first'], 5);
      await client.until('first');
      const closed = new Promise<void>((resolve) => response.on('close', resolve));
      leave(client);
      await closed;
      assert.equal(response.destroyed, true);
      assert.equal(response.writableFinished, false);
      // What is written afterwards is dropped.
      response.write(['more'], 4);
      response.end();
    }
  });
});

describe('an upgrade', { timeout: 120_000 }, () => {
  const upgrade = get('/socket', 'Connection: Upgrade', 'Upgrade: letters');

  test('hands over the connection with what came behind its head', async (context) => {
    const { server, open } = await start(
      context,
      (request, response) => {
        assert.ok(request.upgrade);
        const { socket, head } = request.upgrade.take();
        assert.equal(response.statusCode, 101);
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n\r\n${head}`);
        socket.on('data', (chunk) => socket.write(chunk.toString().toUpperCase()));
        socket.on('end', () => socket.end());
      },
      { mayUpgrade: () => true },
    );
    const client = open();
    client.send(`${upgrade}early `);
    await client.until('early ');
    client.send('later');
    await client.until('LATER');
    let isClosed = false;
    const closing = server.close().then(() => {
      isClosed = true;
    });
    client.send('still');
    await client.until('STILL');
    assert.equal(isClosed, false);
    client.socket.end();
    await closing;
  });

  test('may be taken later, with all that came by then', async (context) => {
    const taken = Promise.withResolvers<ServerRequest>();
    const { open } = await start(context, (request) => taken.resolve(request), { mayUpgrade: () => true });
    const client = open();
    client.send(`${upgrade}GET `);
    const request = await taken.promise;
    client.send('/ and more');
    await eventually(() => request.socket.bytesRead === upgrade.length + 'GET / and more'.length);
    const { socket, head } = request.upgrade?.take() ?? assert.fail();
    assert.equal(head.toString(), 'GET / and more');
    socket.destroy();
  });

  test('that is taken when its client has left ends', async (context) => {
    const taken = Promise.withResolvers<ServerRequest>();
    const { server, open } = await start(context, (request) => taken.resolve(request), { mayUpgrade: () => true });
    const client = open();
    client.send(get('/', 'Connection: Upgrade', 'Upgrade: letters', 'Content-Length: 5'));
    client.socket.end();
    const request = await taken.promise;
    await eventually(() => request.socket.readableEnded);
    request.upgrade?.take();
    await client.closed();
    await server.close();
  });

  for (const [about, text, mayUpgrade] of [
    ['is not allowed', upgrade, false],
    ['is of HTTP/1.0', `GET /socket HTTP/1.0\r\n${upgrade.slice(upgrade.indexOf('Host'))}`, true],
    ['names no protocol', get('/socket', 'Connection: Upgrade, keep-alive'), true],
    ['is not one of the connection', get('/socket', 'Upgrade: letters'), true],
  ] as const) {
    test(`that ${about} is a request like others`, async (context) => {
      const upgrades: boolean[] = [];
      const { open } = await start(
        context,
        (request, response) => {
          upgrades.push(request.upgrade !== undefined);
          echo(request, response);
        },
        { mayUpgrade: () => mayUpgrade },
      );
      const client = open();
      client.send(text);
      await client.until('</socket>');
      assert.deepEqual(upgrades, [false]);
    });
  }

  test('that is answered in another way ends the connection', async (context) => {
    const { open } = await start(context, echo, { mayUpgrade: () => true });
    const client = open();
    client.send(`${upgrade}${get('/2')}`);
    assert.match(await client.until('</socket>'), /Connection: close/);
    assert.equal(await client.closed(), '');
  });
});

describe('a server that closes', { timeout: 120_000 }, () => {
  test('ends idle connections at once, and others after their responses', async (context) => {
    const { handler, at } = collected();
    const { server, open } = await start(context, handler);
    const [silent, idle, begun, running, streaming] = [open(), open(), open(), open(), open()];
    await Promise.all([silent, begun].map(({ socket }) => once(socket, 'connect')));
    idle.send(get('/idle'));
    respond((await at(0)).response, '<idle>');
    await idle.until('<idle>');
    begun.send('GET /beg');
    running.send(get('/running'));
    const { response } = await at(1);
    streaming.send(get('/streaming'));
    const stream = (await at(2)).response;
    stream.writeHead(200, {});
    stream.write(['first'], 5);
    await streaming.until('first');
    await pause(20);
    const closed = server.close();
    for (const client of [silent, idle, begun]) assert.equal(await client.closed(), '');
    respond(response, '<running>');
    assert.match(await running.until('<running>'), /Connection: close/);
    assert.equal(await running.closed(), '');
    stream.end(['last'], 4);
    await streaming.until('last\r\n0\r\n\r\n');
    await streaming.closed();
    await closed;
  });

  test('waits 2 seconds for those who still send to one that was answered', async (context) => {
    const clock = createManualClock(0);
    const { handler, at } = collected();
    const { server, open } = await start(context, handler, { clock });
    const client = open();
    client.send(post('Content-Length: 50000000'));
    const { request, response } = await at(0);
    respond(response, '<refused>');
    await client.until('<refused>');
    const closed = server.close();
    client.socket.write('x'.repeat(100_000));
    await eventually(() => request.socket.bytesRead > 100_000);
    clock.advance(2_000);
    await closed;
  });

  test('refuses nothing that is there, and waits for nothing that is not', async (context) => {
    const { seen, handler, at } = collected();
    const { server, open } = await start(context, handler);
    const [whole, begun] = [open(), open()];
    whole.send(get('/1') + get('/2'));
    await at(0);
    begun.send(`${get('/3')}GET `);
    await at(1);
    const closed = server.close();
    for (const { request, response } of seen) respond(response, `<${request.url}>`);
    await Promise.all([whole.until('</1>'), begun.until('</3>')]);
    const { request, response } = await at(2);
    assert.equal(request.url, '/2');
    respond(response, '</2>');
    assert.match(await whole.until('</2>'), /Connection: close/);
    for (const client of [whole, begun]) assert.equal(await client.closed(), '');
    await closed;
  });

  test('ends no connection between two requests that came together', async (context) => {
    const { handler, at } = collected();
    const { server, open } = await start(context, handler);
    const client = open();
    client.send(get('/1') + get('/2'));
    const first = await at(0);
    const ended = new Promise<void>((resolve) => first.response.on('close', resolve));
    respond(first.response, '<1>');
    await ended;
    const closed = server.close();
    respond((await at(1)).response, '<2>');
    await client.until('<2>');
    await client.closed();
    await closed;
  });

  test('is closed at once if it never listened', async () => {
    const server = await startServer(() => {});
    await server.close();
    await server.close();
  });
});
