/** WebSockets of clients: who may open one, how many, for how long, and how they end. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as openRequest } from 'node:http';
import { connect as openTcp } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { WebSocket } from 'ws';
import type { Json } from '../../src/core/json/json.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { eventsOf, frame, streamOf } from '../protocols/responses-wire.ts';
import {
  answerEvents,
  createPermits,
  HEADERS,
  KEY,
  type Permits,
  question,
  sendRaw,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestGatewayOptions,
  type TestUpstream,
} from './harness.ts';
import { connect, refused } from './websocket-client.ts';

const KEYS = { guest: 'sk-guest-0123456789abcdef0123', chat: 'sk-chat-0123456789abcdef01234' };
const MODEL = 'one/m-2026';
const PING_MS = 30_000;
const HOUR_MS = 3_600_000;

const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
};

let upstream: TestUpstream;
let gateway: TestGateway;
const clock = createManualClock(Date.now());
/** The upstream takes one before the end of each answer to `wait`. */
let permits: Permits;

beforeEach(() => {
  permits = createPermits();
});

before(async () => {
  upstream = await startUpstream(async (call, response) => {
    if (call.body.input !== 'wait') return answerEvents(response, streamOf('Hello'));
    const events = eventsOf('Hello').map(frame);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(events.slice(0, 8).join(''));
    const own = permits;
    await own.take();
    // The call of a client that is gone, which may come later than the next test begins, leaves its permit to others.
    if (response.destroyed) own.give();
    response.end(events.slice(8).join(''));
  });
  gateway = await start({ clock });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const guest = `{ name: guest, key: ${KEYS.guest} }`;

function configOf(server = ''): string {
  return `
server: { websockets_per_key: 3, body_limit: 64KiB, deadlines: { idle: 3h, total: 3h }, ${server} }
providers:
  one: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m-2026 }] }
`;
}

function start({ server, ...options }: TestGatewayOptions & { server?: string } = {}): Promise<TestGateway> {
  return startTestGateway(configOf(server), {
    keys: [guest, `{ name: chat, key: ${KEYS.chat}, surfaces: [chat] }`],
    ...options,
  });
}

const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

/** Waits until a ping of the gateway was answered, and the answer was read. */
async function answersPing(ws: WebSocket): Promise<void> {
  await once(ws, 'ping');
  ws.ping();
  await once(ws, 'pong');
}

async function reaction(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

describe('the upgrade request', () => {
  const strangers: [name: string, headers: Record<string, string>, status: number, code: string][] = [
    ['without a key', {}, 401, 'invalid_api_key'],
    ['with a wrong key', { authorization: 'Bearer sk-wrong' }, 401, 'invalid_api_key'],
    [
      'with a key in the subprotocol, as browsers send it',
      { 'sec-websocket-protocol': `key.${KEY}` },
      401,
      'invalid_api_key',
    ],
    ['with a key of another surface', { authorization: `Bearer ${KEYS.chat}` }, 403, 'permission_denied'],
    ['of a page of another site', { ...HEADERS.chat, origin: 'https://evil.example' }, 403, 'permission_denied'],
    ['of a page without a site', { ...HEADERS.chat, origin: 'null' }, 403, 'permission_denied'],
  ];
  for (const [name, headers, status, code] of strangers) {
    test(`${name} gets ${status} as over HTTP`, async () => {
      const refusal = await refused(gateway.url, { headers });
      assert.deepEqual([refusal.status, refusal.body.error.code], [status, code]);
      assert.equal(refusal.headers.connection, 'close');
      assert.match(String(refusal.headers['x-request-id']), /^req_/);
    });
  }

  test('of a page of its own site is accepted, and no subprotocol or compression is agreed on', async () => {
    const headers = { ...HEADERS.chat, origin: gateway.url };
    const socket = await connect(gateway.url, { headers, protocol: 'any', perMessageDeflate: true } as object);
    assert.deepEqual([socket.ws.protocol, socket.ws.extensions], ['', '']);
    await socket.close();
  });

  const malformed: [param: string, headers: Record<string, string>][] = [
    ['sec-websocket-key', { 'sec-websocket-key': 'short' }],
    ['sec-websocket-version', { 'sec-websocket-version': '8' }],
    ['content-length', { 'content-length': '5' }],
  ];
  for (const [param, changes] of malformed) {
    test(`with a wrong ${param} gets 400 naming it`, async () => {
      const headers = { ...HANDSHAKE, ...HEADERS.chat, ...changes };
      const { status, text } = await sendRaw(gateway.url, { method: 'GET', path: '/v1/responses', headers });
      assert.deepEqual([status, JSON.parse(text).error.param], [400, param]);
    });
  }

  test('a request without it, and one where WebSockets are switched off, gets 426', async () => {
    const plain = await fetch(`${gateway.url}/v1/responses`, { headers: HEADERS.chat });
    assert.deepEqual([plain.status, plain.headers.get('upgrade')], [426, 'websocket']);
    gateway.reload(configOf('websockets: false'), guest);
    const { status, body } = await refused(gateway.url);
    assert.deepEqual([status, body.error.code], [426, 'upgrade_required']);
    assert.equal((await refused(gateway.url, { headers: {} })).status, 401);
    gateway.reload(configOf(), guest);
    await (await connect(gateway.url)).close();
  });

  test('another upgrade, another path and another method are handled as if nothing was asked', async () => {
    const json = { ...HEADERS.chat, 'content-type': 'application/json', connection: 'Upgrade, HTTP2-Settings' };
    const body = JSON.stringify(question('chat', 'sandbox/echo', 'Hi'));
    const h2c = { ...json, upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' };
    const asked = { method: 'POST', path: '/v1/chat/completions', headers: h2c, body };
    assert.equal((await sendRaw(gateway.url, asked)).status, 200);
    const socketHeaders = { ...json, ...HANDSHAKE };
    assert.equal((await sendRaw(gateway.url, { ...asked, headers: socketHeaders })).status, 200);
    for (const [path, status] of [
      ['/v1/models', 200],
      ['/v1/nothing', 404],
    ] as const)
      assert.equal(
        (await sendRaw(gateway.url, { method: 'GET', path, headers: { ...HEADERS.chat, ...HANDSHAKE } })).status,
        status,
      );
  });

  test('a client that is gone before it is accepted costs nothing', async () => {
    const { hostname, port } = new URL(gateway.url);
    const lines = Object.entries({ host: 'x', ...HANDSHAKE, ...HEADERS.chat }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    for (let count = 0; count < 30; count++) {
      const socket = openTcp(Number(port), hostname);
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(`GET /v1/responses HTTP/1.1\r\n${lines.join('')}\r\n`, () => socket.resetAndDestroy());
      await once(socket, 'close');
    }
    await reaction();
    const three = await Promise.all([1, 2, 3].map(() => connect(gateway.url)));
    await Promise.all(three.map((socket) => socket.close()));
  });
});

describe('limits', () => {
  test('the number of connections of one key', async () => {
    const sockets = await Promise.all([1, 2, 3].map(() => connect(gateway.url)));
    const { status, body, headers } = await refused(gateway.url);
    assert.deepEqual([status, body.error.code], [429, 'rate_limit_exceeded']);
    assert.match(body.error.message, /3 WebSockets/);
    assert.ok(headers['retry-after']);
    await (await connect(gateway.url, withKey(KEYS.guest))).close();
    await sockets[0]?.close();
    await reaction();
    sockets.push(await connect(gateway.url));
    for (const socket of sockets) await socket.close();
  });

  test('the size of a message, whole and in fragments', async () => {
    for (const fragments of [1, 8]) {
      const socket = await connect(gateway.url);
      for (let index = 0; index < fragments; index++) {
        const part = 'x'.repeat((128 * 1024) / fragments);
        socket.ws.send(part, { fin: index === fragments - 1 });
      }
      assert.equal((await socket.closed).code, 1009);
    }
    const socket = await connect(gateway.url);
    assert.equal((await socket.ask({ model: MODEL, input: 'x'.repeat(60_000) })).type, 'response.completed');
    await socket.close();
  });

  test('the size of a conversation that is continued', async () => {
    const socket = await connect(gateway.url);
    const ask = { model: MODEL, store: false, input: 'x'.repeat(40_000) };
    await socket.ask(ask);
    const refusal = await socket.ask({ ...ask, previous_response_id: 'resp_1' });
    assert.deepEqual([refusal.status, refusal.error.code], [413, 'payload_too_large']);
    await socket.close();
  });

  test('the number of requests that wait', async () => {
    const socket = await connect(gateway.url);
    for (let count = 0; count < 20; count++) socket.send({ type: 'response.create', model: MODEL, input: 'wait' });
    const { code, reason } = await socket.closed;
    assert.deepEqual([code, reason], [1008, 'More than 16 requests wait.']);
  });

  test('60 minutes, after the request at hand, in words that clients know', async () => {
    const socket = await connect(gateway.url);
    const idle = await connect(gateway.url);
    socket.send({ type: 'response.create', model: MODEL, input: 'wait' });
    for (let index = 0; index < 7; index++) await socket.next();
    for (let elapsed = PING_MS; elapsed < HOUR_MS; elapsed += PING_MS) {
      const heard = [socket, idle].map((one) => answersPing(one.ws));
      clock.advance(PING_MS);
      await Promise.all(heard);
    }
    clock.advance(PING_MS);
    const limit = (await idle.next()) as Json;
    assert.deepEqual(
      [limit.type, limit.status, limit.error.code],
      ['error', 400, 'websocket_connection_limit_reached'],
    );
    assert.equal((await idle.closed).code, 1001);
    assert.equal(socket.ws.readyState, socket.ws.OPEN);
    permits.give();
    assert.equal((await socket.response()).at(-1)?.type, 'response.completed');
    assert.equal((await socket.next())?.error.code, 'websocket_connection_limit_reached');
    assert.equal((await socket.closed).code, 1001);
  });

  test('a client that answers no ping is gone after two minutes', async () => {
    const socket = await connect(gateway.url, { autoPong: false, ...withKey(KEY) });
    for (let count = 0; count < 2; count++) {
      const pinged = once(socket.ws, 'ping');
      clock.advance(PING_MS);
      await pinged;
    }
    clock.advance(PING_MS);
    assert.equal((await socket.closed).code, 1006);
  });

  test('pings of a client', async () => {
    const socket = await connect(gateway.url);
    for (let count = 0; count < 310 && socket.ws.readyState === socket.ws.OPEN; count++) {
      const answered = Promise.race([once(socket.ws, 'pong'), socket.closed]);
      socket.ws.ping();
      await answered;
    }
    assert.deepEqual(await socket.closed, { code: 1008, reason: 'Too many pings.' });
  });
});

describe('the end of a connection', () => {
  test('a key that is removed ends it, at its next request and without one', async () => {
    const [asking, idle] = await Promise.all([1, 2].map(() => connect(gateway.url, withKey(KEYS.guest))));
    assert.ok(asking && idle);
    assert.equal((await asking.ask({ model: MODEL, input: 'Hi' })).type, 'response.completed');
    gateway.reload(configOf(), '');
    const refusal = await asking.ask({ model: MODEL, input: 'Hi' });
    assert.deepEqual([refusal.status, refusal.error.code], [401, 'invalid_api_key']);
    assert.deepEqual(await asking.closed, { code: 1008, reason: 'The key may not be used any more.' });
    clock.advance(PING_MS);
    assert.equal((await idle.next())?.error.code, 'invalid_api_key');
    assert.equal((await idle.closed).code, 1008);
    gateway.reload(configOf(), guest);
  });

  test('closing ends idle connections at once, and others after the request at hand', { timeout: 20_000 }, async () => {
    const own = await start();
    const [idle, busy] = await Promise.all([connect(own.url), connect(own.url)]);
    for (const input of ['wait', 'Hi']) busy.send({ type: 'response.create', model: MODEL, input });
    for (let index = 0; index < 7; index++) await busy.next();
    const closed = own.close();
    assert.deepEqual(await idle.closed, { code: 1001, reason: 'The gateway is stopping.' });
    permits.give();
    assert.equal((await busy.response()).at(-1)?.type, 'response.completed');
    const waiting = (await busy.response()).at(-1);
    assert.deepEqual([waiting?.status, waiting?.error.code], [503, 'service_unavailable']);
    assert.equal((await busy.closed).code, 1001);
    await closed;
  });

  test('closing ends what runs longer than its grace, in words', { timeout: 20_000 }, async () => {
    const own = await start();
    const socket = await connect(own.url);
    socket.send({ type: 'response.create', model: MODEL, input: 'wait' });
    for (let index = 0; index < 7; index++) await socket.next();
    const stopped = own.stop(50);
    const last = (await socket.response()).at(-1);
    assert.deepEqual([last?.type, last?.response.error.code], ['response.failed', 'server_error']);
    assert.equal((await socket.closed).code, 1001);
    await stopped;
  });

  test('a client that does not answer the closing is cut off', { timeout: 20_000 }, async () => {
    const own = await start();
    const { hostname, port } = new URL(own.url);
    const asked = openRequest({
      hostname,
      port,
      path: '/v1/responses',
      headers: { ...HANDSHAKE, ...HEADERS.chat },
    }).end();
    const [, socket] = await once(asked, 'upgrade');
    socket.on('error', () => undefined).resume();
    await own.close();
  });
});
