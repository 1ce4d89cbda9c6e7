/** Workers: shared state, state of each, and signals, as docs/operations.md says. */

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { question } from '../gateway/harness.ts';
import { isRunning, startTwoWorkers, statuses, TOKEN, until } from './two-workers.ts';

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
      ending = Number(/,"pid":(\d+),"msg"/.exec(line)?.[1] ?? /"pid":(\d+)[^{}]*$/.exec(line)?.[1]);
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
