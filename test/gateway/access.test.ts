/** Access: rights of each kind of key on each route of the gateway, and responses to others. */

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { KEY, PATHS, type ProtocolId, question, sendRaw, startTestGateway, type TestGateway } from './harness.ts';

const KEYS = {
  full: KEY,
  chat: 'sk-only-chat-0123456789',
  videos: 'sk-only-videos-0123456789',
  reader: 'sk-only-reads-0123456789',
  away: 'sk-from-elsewhere-0123456789',
  late: 'sk-expired-0123456789',
  wrong: 'sk-nobody-knows-this-0123456789',
  none: undefined,
} as const;
type Holder = keyof typeof KEYS;

let gateway: TestGateway;
before(async () => {
  gateway = await startTestGateway('server: { trusted_proxies: ["127.0.0.0/8"] }', {
    keys: [
      `{ name: chat, key: ${KEYS.chat}, surfaces: [chat] }`,
      `{ name: videos, key: ${KEYS.videos}, surfaces: [videos], models: ["nothing/*"] }`,
      `{ name: reader, key: ${KEYS.reader}, read_only: true }`,
      `{ name: away, key: ${KEYS.away}, cidrs: ["198.51.100.0/24", "2001:db8::/32"] }`,
      `{ name: late, key: ${KEYS.late}, expires: "2020-01-01" }`,
    ],
  });
});
after(() => gateway.close());

interface Route {
  method: string;
  path: string;
  protocol?: ProtocolId;
  body?: unknown;
  /** What somebody gets who may use it. */
  allowed: number;
  open: Holder[];
}

const ID = '00000000-0000-4000-8000-000000000000';
const MODEL = 'sandbox/echo';
const inference = (protocol: ProtocolId, open: Holder[]): Route => ({
  ...{ method: 'POST', path: PATHS[protocol](MODEL, false), protocol, allowed: 200, open },
  body: question(protocol, MODEL, 'hi'),
});
const ROUTES: Route[] = [
  inference('chat', ['full', 'chat']),
  inference('messages', ['full']),
  inference('generate', ['full']),
  { ...inference('messages', ['full']), path: `${PATHS.messages()}/count_tokens` },
  { method: 'POST', path: '/v1/videos', body: {}, allowed: 400, open: ['full', 'videos'] },
  { method: 'GET', path: '/v1/videos', allowed: 200, open: ['full', 'videos', 'reader'] },
  { method: 'GET', path: `/v1/videos/${ID}`, allowed: 404, open: ['full', 'videos', 'reader'] },
  { method: 'HEAD', path: `/v1/videos/${ID}`, allowed: 404, open: ['full', 'videos', 'reader'] },
  { method: 'DELETE', path: `/v1/videos/${ID}`, allowed: 404, open: ['full', 'videos'] },
  { method: 'POST', path: `/v1/videos/${ID}/cancel`, allowed: 404, open: ['full', 'videos'] },
  { method: 'GET', path: `/v1/videos/${ID}/content`, allowed: 404, open: ['full', 'videos', 'reader'] },
  { method: 'GET', path: `/v1/videos/${ID}/deliveries`, allowed: 404, open: ['full', 'videos', 'reader'] },
  { method: 'POST', path: `/v1/videos/${ID}/deliveries/replay`, allowed: 404, open: ['full', 'videos'] },
];
const UNKNOWN: Holder[] = ['late', 'wrong', 'none'];

function send({ method, path, protocol, body }: Route, key: string | undefined, more: Record<string, string> = {}) {
  const headers = {
    'content-type': 'application/json',
    ...(protocol === 'messages' && { 'anthropic-version': '2023-06-01' }),
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...more,
  };
  return sendRaw(gateway.url, { method, path, headers, body: body === undefined ? undefined : JSON.stringify(body) });
}

describe('who may do what', () => {
  for (const route of ROUTES) {
    for (const holder of Object.keys(KEYS) as Holder[]) {
      const status = UNKNOWN.includes(holder) ? 401 : route.open.includes(holder) ? route.allowed : 403;
      // Each from an address of its own, so that wrong keys don't add up.
      test(`${route.method} ${route.path} with ${holder} is ${status}`, async () => {
        const response = await send(route, KEYS[holder], { 'x-forwarded-for': '192.0.2.1' });
        assert.equal(response.status, status, response.text);
      });
    }
  }

  test('model lists are for anyone', async () => {
    const route = { method: 'GET', path: '/v1/models', allowed: 200, open: [] };
    for (const key of Object.values(KEYS)) assert.equal((await send(route, key)).status, 200);
  });
});

test('what another key made is not there', async () => {
  const body = { model: 'sandbox/video', prompt: 'waves' };
  const made = await send({ method: 'POST', path: '/v1/videos', body, allowed: 202, open: [] }, KEY);
  assert.equal(made.status, 202, made.text);
  const { id } = JSON.parse(made.text);
  for (const route of ROUTES.filter(({ path }) => path.includes(ID))) {
    const { status } = await send({ ...route, path: route.path.replace(ID, id) }, KEYS.videos);
    assert.equal(status, 404, `${route.method} ${route.path}`);
  }
  assert.equal((await send({ method: 'GET', path: `/v1/videos/${id}`, allowed: 200, open: [] }, KEY)).status, 200);
});

describe('a refusal', () => {
  const [chat, messages, create] = [ROUTES[0], ROUTES[1], ROUTES[4]] as [Route, Route, Route];

  test('names what the key may use', async () => {
    const { text } = await send(messages, KEYS.chat);
    assert.match(JSON.parse(text).error.message, /^This key may not use messages; it may use chat\.$/);
    assert.match((await send(create, KEYS.reader)).text, /This key is read-only/);
  });

  test('shows no key and no ranges of addresses', async () => {
    for (const key of Object.values(KEYS)) {
      if (key === undefined || key === KEY) continue;
      const { text } = await send(messages, key);
      assert.ok(!text.includes(key) && !text.includes('198.51'), text);
    }
    const log = JSON.stringify(gateway.log);
    for (const key of Object.values(KEYS)) assert.ok(key === undefined || !log.includes(key));
  });

  test('is the same for keys that were never there and those that are over', async () => {
    const [one, other] = [await send(chat, KEYS.late), await send(chat, KEYS.wrong)];
    assert.equal(one.text, other.text);
    assert.deepEqual(Object.keys(one.headers), Object.keys(other.headers));
  });

  test('of addresses follows the proxy that is trusted', async () => {
    const from = (address: string) => send(chat, KEYS.away, { 'x-forwarded-for': address });
    assert.equal((await from('198.51.100.20')).status, 200);
    assert.equal((await from('2001:db8::7')).status, 200);
    assert.equal((await from('198.51.101.20')).status, 403);
    assert.equal((await from('198.51.100.20, 203.0.113.5')).status, 403);
    assert.equal((await from('garbage')).status, 403);
    assert.equal((await send(chat, KEYS.away)).status, 403);
  });
});

test('an address that presents wrong keys again and again is asked to wait; right keys still work there', async () => {
  const [chat] = ROUTES as [Route];
  const from = { 'x-forwarded-for': '203.0.113.99' };
  const statuses = new Set<number>();
  for (let attempt = 0; attempt < 30; attempt++) statuses.add((await send(chat, KEYS.wrong, from)).status);
  assert.deepEqual([...statuses], [401]);
  const refused = await send(chat, KEYS.wrong, from);
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers['retry-after']) >= 1);
  assert.equal((await send(chat, KEY, from)).status, 200);
  assert.equal((await send(chat, KEYS.wrong, { 'x-forwarded-for': '203.0.113.98' })).status, 401);
});

test('an IPv6 network of 64 bits is one address among those that present wrong keys', async () => {
  const [chat] = ROUTES as [Route];
  const from = (address: string) => send(chat, KEYS.wrong, { 'x-forwarded-for': address });
  const statuses: number[] = [];
  for (let host = 1; host <= 31; host++) statuses.push((await from(`2620:0:1:2::${host}`)).status);
  assert.deepEqual([statuses[29], statuses[30]], [401, 429]);
  assert.equal((await from('2620:0:1:3::1')).status, 401);
});

test('each request of a connection is that of the key that it presents', async (context) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  context.after(() => agent.destroy());
  const sockets = new Set<unknown>();
  const statusOf = (key: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}` };
      const sent = request(`${gateway.url}/v1/key`, { agent, headers }, (response) => {
        sockets.add(response.socket);
        response.resume().on('end', () => resolve(response.statusCode));
      });
      sent.on('error', reject).end();
    });
  const presented = [KEYS.full, KEYS.full, KEYS.wrong, KEYS.late, KEYS.full, `${KEYS.full}x`, KEYS.reader];
  const statuses: (number | undefined)[] = [];
  for (const key of presented) statuses.push(await statusOf(key));
  assert.deepEqual(statuses, [200, 200, 401, 401, 200, 401, 200]);
  assert.equal(sockets.size, 1);
});
