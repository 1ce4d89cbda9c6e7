/** Workers: shared state, state of each, and signals, as docs/operations.md says. */

import assert from 'node:assert/strict';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { openBrowser } from '../gateway/browser.ts';
import { question } from '../gateway/harness.ts';
import { isRunning, KEY, RICH, startTwoWorkers, statuses, TOKEN, until } from './two-workers.ts';

const OPTIONS = { timeout: 120_000 };

test('an endpoint that one worker has put into cooldown is in cooldown at all', OPTIONS, async (context) => {
  const { ask, limited } = await startTwoWorkers(
    context,
    'models: { house/m: { endpoints: [{ provider: a, model: limited }, { provider: a, model: m, priority: 2 }] } }',
  );
  const chat = () => ask('/v1/chat/completions', { body: question('chat', 'house/m', 'Hi') });
  assert.equal((await chat()).status, 200);
  assert.equal(limited.length, 1);
  // Asks every worker, behind the word of the cooldown.
  assert.equal((await ask('/metrics', { key: TOKEN })).status, 200);
  assert.deepEqual(await statuses(Array.from({ length: 20 }, chat)), { 200: 20 });
  assert.equal(limited.length, 1);
});

test('connections of an address are counted by each worker', OPTIONS, async (context) => {
  const { url, ask } = await startTwoWorkers(context, '', { server: 'connections_per_address: 5' });
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  context.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const open = new Set<Socket>();
  await Promise.all(
    Array.from({ length: 40 }, async () => {
      const socket = connect(Number(port), hostname);
      sockets.push(socket);
      socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
      const answered = await new Promise<boolean>((resolve) => {
        socket.once('data', () => resolve(true));
        socket.on('error', () => resolve(false)).once('close', () => resolve(false));
      });
      if (answered) open.add(socket);
    }),
  );
  assert.ok(open.size >= 5 && open.size <= 10, `${open.size} connections`);
  for (const socket of sockets) socket.destroy();
  await until(async () => (await ask('/healthz').catch(() => undefined))?.status === 200);
});

test(
  'a worker that ends again and again is started later each time, and the other answers',
  OPTIONS,
  async (context) => {
    const { chat, gateway, pids } = await startTwoWorkers(context);
    const [, kept] = pids;
    let [ending] = pids;
    const delays: number[] = [];
    for (let end = 1; end <= 4; end++) {
      process.kill(ending, 'SIGKILL');
      const [ended] = await gateway.shows(new RegExp(`(?:[^]*?it is started again){${end}}`), 'stderr');
      delays.push(
        Number(
          ended
            .match(/"delay":(\d+)/g)
            ?.at(-1)
            ?.slice('"delay":'.length),
        ),
      );
      assert.deepEqual(await statuses(Array.from({ length: 4 }, () => chat())), { 200: 4 });
      const [again] = await gateway.shows(new RegExp(`(?:[^]*?the worker listens again){${end}}`), 'stderr');
      const line = again.trim().split('\n').at(-1) ?? '';
      ending = Number(/"workerPid":(\d+)/.exec(line)?.[1]);
      assert.ok(isRunning(ending) && ending !== kept, line);
    }
    assert.deepEqual(delays, [100, 200, 400, 800]);
    assert.ok(isRunning(kept));
    assert.deepEqual(await statuses(Array.from({ length: 6 }, () => chat())), { 200: 6 });
  },
);

test('workers leave signals to their primary, which reloads and stops for all', OPTIONS, async (context) => {
  const { ask, chat, configure, gateway, pids } = await startTwoWorkers(context);
  configure('aliases: { other: a/m }\n');
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) for (const pid of pids) process.kill(pid, signal);
  assert.deepEqual(await statuses(Array.from({ length: 8 }, () => chat())), { 200: 8 });
  // The whole group, as a terminal that closes.
  for (const pid of pids) process.kill(pid, 'SIGHUP');
  gateway.signal('SIGHUP');
  const byAlias = () => ask('/v1/chat/completions', { body: question('chat', 'other', 'Hi') });
  await until(async () => (await statuses(Array.from({ length: 6 }, byAlias)))[200] === 6);
  assert.ok(pids.every(isRunning));
  gateway.signal('SIGINT');
  assert.equal((await gateway.ended).code, 0);
  assert.ok(!pids.some(isRunning));
});

test('a capture of one worker is found by the other', OPTIONS, async (context) => {
  const { url, pids } = await startTwoWorkers(context);
  const agents = pids.map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  context.after(() => {
    for (const agent of agents) agent.destroy();
  });
  const session = { 'content-type': 'application/json', origin: url, 'x-polygate-ui': '1', cookie: '' };
  async function ask(
    agent: Agent,
    method: string,
    path: string,
    { body, headers }: { body?: object; headers?: object } = {},
  ) {
    return new Promise<IncomingMessage & { body: string }>((resolve, reject) => {
      const sent = request(url + path, { agent, method, headers: { ...session, ...headers } }, async (response) => {
        resolve(Object.assign(response, { body: await text(response) }));
      });
      sent.on('error', reject).end(body && JSON.stringify(body));
    });
  }
  // While one worker is stopped, the other accepts the connection of an agent.
  for (const [index, stopped] of pids.entries()) {
    process.kill(stopped, 'SIGSTOP');
    await ask(agents[index] as Agent, 'GET', '/healthz').finally(() => process.kill(stopped, 'SIGCONT'));
  }
  const [one, other] = agents as [Agent, Agent];
  const { headers: opened } = await ask(one, 'POST', '/ui/session', { body: { key: KEY } });
  session.cookie = String(opened['set-cookie']).split(';', 1)[0] as string;
  const asked = { body: question('chat', 'a/m', 'Hi'), headers: { 'x-polygate-capture': '1' } };
  const answered = await ask(one, 'POST', '/v1/chat/completions', asked);
  const path = `/v1/self/captures/${answered.headers['x-polygate-capture']}`;
  for (const agent of [other, one]) {
    // A worker that is held up for seconds is left out of a question to all.
    await until(async () => {
      const found = await ask(agent, 'GET', path);
      return found.statusCode === 200 && JSON.parse(found.body).data.response.body.text === answered.body;
    });
  }
  const unknown = await ask(
    other,
    'GET',
    path.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
  );
  assert.equal(unknown.statusCode, 404, unknown.body);
});

test(
  'operators call models at their own address, and the key pays as at that of the workers',
  OPTIONS,
  async (context) => {
    const { ask, gateway } = await startTwoWorkers(context);
    const [, adminUrl = ''] = await gateway.shows(/admin API listens on (http:\/\/\S+)/);
    const admin = openBrowser(adminUrl);
    assert.equal((await admin.login({ token: TOKEN })).json.data.role, 'admin');
    const { json: keys } = await admin.send('GET', '/admin/v1/keys');
    const { hash } = keys.data.find(({ name }: Json) => name === 'rich');
    const body = { ...question('chat', 'a/m', 'Hi'), max_tokens: 3 };
    const headers = { 'x-polygate-key': hash, 'x-polygate-capture': '1' };
    const answered = await admin.send('POST', '/v1/chat/completions', { body, headers });
    assert.equal(answered.status, 200, answered.text);
    assert.equal(answered.json.choices[0].message.content, 'Yes.');
    const id = answered.headers['x-polygate-request-id'];
    assert.equal((await admin.send('GET', `/admin/v1/requests/${id}`)).json.data.key_hash, hash);
    const capture = await admin.send('GET', `/admin/v1/captures/${answered.headers['x-polygate-capture']}`);
    assert.equal(capture.json?.data.response.body.text, answered.text);
    // Five tokens of a cent each, from the budget that the workers spend, too.
    assert.equal((await ask('/v1/key', { key: RICH })).body.data.usage, 0.05);
  },
);
