/** Bodies that are large, many, slow or never complete. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { HEADERS, KEY, post, question } from '../gateway/harness.ts';
import { attack } from './attack.ts';
import { headOf, openClient, pour, type RawClient } from './raw-client.ts';
import { memoryGrowth, startVictim, type Victim } from './victim.ts';

const MB = 1_000_000;
const SIZE = 19 * MB;
const BODY_MEMORY = 64 * 1024 ** 2;
const KEYS = {
  one: 'sk-test-one-0123456789',
  small: 'sk-test-small-0123456789',
  hostile: 'sk-test-hostile-0123456789',
};
const TOKEN = 'admin-token-0123456789-0123456789-0123456789';
const CHAT = '/v1/chat/completions';

let victim: Victim;
const opened: RawClient[] = [];

before(async () => {
  victim = await startVictim(
    `server: { body_memory: ${BODY_MEMORY / 1024 ** 2}MiB }\nadmin: { token: ${TOKEN}, port: 0 }`,
    {
      keys: [
        `{ name: one, key: ${KEYS.one}, limits: { concurrent_requests: 1 } }`,
        `{ name: hostile, key: ${KEYS.hostile} }`,
        `{ name: small, key: ${KEYS.small} }`,
      ],
    },
  );
  assert.equal(await askSmall(KEY), 200);
});

after(async () => {
  for (const { socket } of opened) socket.destroy();
  await victim.close();
});

async function askSmall(key: string): Promise<number> {
  const response = await post(victim.url + CHAT, question('chat', 'sandbox/echo', 'Hi'), {
    authorization: `Bearer ${key}`,
  });
  await response.text();
  return response.status;
}

/** Begins a request for a model, or for a video; the body is up to the caller. */
function begin(key: string, path: string, framing: string): RawClient {
  const client = openClient(victim.url);
  opened.push(client);
  client.socket.write(
    headOf('POST', path, [`authorization: Bearer ${key}`, 'content-type: application/json', framing]),
  );
  return client;
}

/** Begins so many requests, each of which sends all of its body but the end; returns those that are answered in time. */
async function flood(
  count: number,
  key: string,
  framing: string,
  path = CHAT,
): Promise<{ held: RawClient[]; answered: RawClient[] }> {
  const clients = Array.from({ length: count }, () => begin(key, path, framing));
  const bytes = SIZE - 1;
  await Promise.all(
    clients.map(async (client) => {
      const { socket, status } = client;
      const isAnswered = (): boolean => client.received !== '';
      if (framing.startsWith('transfer')) socket.write(`${SIZE.toString(16)}\r\n`);
      await Promise.race([pour(socket, bytes, isAnswered), status]);
    }),
  );
  const states = await Promise.all(
    clients.map(({ status }) => Promise.race([status.then(() => true), pause(500, false)])),
  );
  return { held: clients.filter((_, index) => !states[index]), answered: clients.filter((_, index) => states[index]) };
}

async function end(clients: RawClient[]): Promise<void> {
  for (const { socket } of clients) socket.destroy();
  await Promise.all(clients.map(({ closed }) => closed));
  await pause(100);
}

const LENGTH = `content-length: ${SIZE}`;
const CHUNKED = 'transfer-encoding: chunked';

for (const [name, path, framing] of [
  ['60 requests with 19 MB each', CHAT, LENGTH],
  ['60 videos with 19 MB each', '/v1/videos', LENGTH],
  ['60 chunked requests with 19 MB each', CHAT, CHUNKED],
] as const) {
  attack(
    'bodies',
    { by: 'key holder', attempt: `${name} and concurrent_requests 1`, bound: 'one is read, 59 get 429, under 250 MB' },
    async () => {
      let held: RawClient[] = [];
      let answered: RawClient[] = [];
      const grown = await memoryGrowth(victim, async () => {
        ({ held, answered } = await flood(60, KEYS.one, framing, path));
      });
      assert.equal(held.length, 1);
      assert.deepEqual([...new Set(await Promise.all(answered.map(({ status }) => status)))], [429]);
      assert.ok(grown < 250 * MB, `${grown}`);
      await end([...held, ...answered]);
      assert.equal(await askSmall(KEYS.one), 200);
      return `${Math.round(grown / MB)} MB`;
    },
  );
}

for (const framing of [LENGTH, CHUNKED]) {
  const kind = framing === LENGTH ? '60 bodies of 19 MB' : '60 chunked bodies of 19 MB';
  attack(
    'bodies',
    {
      by: 'key holder',
      attempt: `${kind}, without an end and without a limit`,
      bound: '503 beyond half of the budget, others are served, under 350 MB',
    },
    async () => {
      let held: RawClient[] = [];
      let answered: RawClient[] = [];
      let others: number[] = [];
      const grown = await memoryGrowth(victim, async () => {
        ({ held, answered } = await flood(60, KEYS.hostile, framing));
        const other = begin(KEY, CHAT, LENGTH);
        await Promise.race([pour(other.socket, SIZE - 1), other.status]);
        others = [await askSmall(KEYS.small), (await Promise.race([other.status, pause(300, 0)])) ?? 0];
        await end([other]);
      });
      assert.ok(held.length <= 2, `${held.length} are held`);
      // The small request of one other key is served, and the large body of another still finds room.
      assert.deepEqual(others, [200, 0]);
      for (const { received } of answered) {
        if (received === '') continue;
        assert.match(received, /^HTTP\/1\.1 503 /);
        assert.match(received, /\r\nretry-after: 1\r\n/i);
        assert.match(received, /"code":"service_unavailable"/);
      }
      assert.ok(answered.filter(({ received }) => received !== '').length > 30);
      assert.ok(grown < 350 * MB, `${grown}`);
      await end([...held, ...answered]);
      assert.equal(await askSmall(KEYS.hostile), 200);
      return `${held.length} held, ${Math.round(grown / MB)} MB`;
    },
  );
}

attack(
  'bodies',
  {
    by: 'key holder',
    attempt: 'a byte of a body a second, at chat, videos and admin',
    bound: '408 within 20 s, the slot is free again',
  },
  async () => {
    const started = performance.now();
    const admin = openClient(victim.adminUrl);
    opened.push(admin);
    admin.socket.write(headOf('POST', '/admin/v1/keys', [`authorization: Bearer ${TOKEN}`, 'content-length: 1000']));
    const clients = [
      begin(KEYS.one, CHAT, 'content-length: 1000'),
      begin(KEY, '/v1/videos', LENGTH),
      begin(KEY, CHAT, CHUNKED),
      admin,
    ];
    const drip = setInterval(() => {
      for (const { socket } of clients) if (socket.writable) socket.write('1\r\nx\r\n');
    }, 1000);
    await pause(500);
    assert.equal(await askSmall(KEYS.one), 429);
    const statuses = await Promise.all(clients.map(({ status }) => status));
    const seconds = (performance.now() - started) / 1000;
    clearInterval(drip);
    assert.deepEqual(statuses, [408, 408, 408, 408]);
    for (const { received } of clients) assert.match(received, /"code":"request_timeout"/);
    assert.ok(seconds < 20, `${seconds}`);
    assert.equal(await askSmall(KEYS.one), 200);
    return `${seconds.toFixed(1)} s`;
  },
);

attack(
  'bodies',
  {
    by: 'stranger',
    attempt: 'bodies of 19 MB, and of no announced length, without a key',
    bound: '401, or 413 beyond 4 KiB',
  },
  async () => {
    const statuses = new Map<string, (number | undefined)[]>();
    for (const path of ['/v1/models', '/v1/videos/models', '/openapi.json', '/', CHAT]) {
      const method = path === CHAT ? 'POST' : 'GET';
      const clients = [LENGTH, CHUNKED].map((framing) => {
        const client = openClient(victim.url);
        opened.push(client);
        client.socket.write(headOf(method, path, [framing]));
        client.socket.write(`1388\r\n${'x'.repeat(5000)}\r\n`);
        return client;
      });
      statuses.set(
        path,
        await Promise.all(clients.map(({ status }) => Promise.race([status, pause(1000, undefined)]))),
      );
      await end(clients);
    }
    for (const [path, [whole, chunked]] of statuses) {
      const expected = path === CHAT ? 401 : 413;
      assert.deepEqual([path, whole, chunked], [path, expected, expected]);
    }
    return 'held';
  },
);

attack(
  'bodies',
  { by: 'key holder', attempt: '200 clients that leave amid their bodies', bound: 'every slot and byte comes back' },
  async () => {
    for (let round = 0; round < 200; round += 1) {
      const client = begin(KEYS.one, CHAT, round % 2 ? LENGTH : CHUNKED);
      client.socket.write(round % 2 ? 'xxx' : '3\r\nxxx\r\n');
      if (round % 3 === 0) await pause(2);
      client.socket.destroy();
      await client.closed;
    }
    await pause(200);
    assert.equal(await askSmall(KEYS.one), 200);
    const text = 'x'.repeat(SIZE);
    const large = await post(victim.url + CHAT, question('chat', 'sandbox/echo', text), HEADERS.chat);
    await large.text();
    // There is room for it; it is too much for the model.
    assert.equal(large.status, 400);
    return 'held';
  },
);

/** Sends half of a body that is too large, rests, sends the other half, and only then reads; returns the status. */
async function readsAtTheEnd(half: Buffer, restMs: number): Promise<string> {
  const { hostname, port } = new URL(victim.url);
  const socket = connect({ host: hostname, port: Number(port) }).pause();
  const closed = once(socket, 'close');
  const send = (bytes: Buffer): Promise<unknown> => new Promise((resolve) => socket.write(bytes, resolve));
  let received = '';
  let problem = '';
  socket.on('error', ({ message }) => {
    problem = message;
  });
  socket.on('data', (bytes) => {
    received += bytes;
  });
  const head = [`authorization: Bearer ${KEY}`, 'content-type: application/json', `content-length: ${2 * half.length}`];
  socket.write(headOf('POST', CHAT, head));
  await send(half);
  await pause(restMs);
  await send(half);
  socket.resume();
  await closed;
  return received.slice(9, 12) || problem;
}

attack(
  'bodies',
  {
    by: 'key holder',
    attempt: '50 bodies of 30 MB, with five seconds without a byte amid them, and no read before the end',
    bound: 'each client reads its 413',
  },
  async () => {
    const half = Buffer.alloc(15 * MB, 'x');
    const statuses = await Promise.all(Array.from({ length: 50 }, () => readsAtTheEnd(half, 5_000)));
    assert.deepEqual([...new Set(statuses)], ['413']);
    return `${statuses.length} of 50`;
  },
);
