/** The gateway with two workers, as a program: one gateway to its clients, whatever happens to its processes. */

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { question } from '../gateway/harness.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { program } from './program.ts';
import {
  answer,
  BUDGET,
  BUSY,
  HELD,
  isRunning,
  KEY,
  metric,
  OFTEN,
  RICH,
  send,
  startTwoWorkers,
  statuses,
  TOKEN,
  until,
} from './two-workers.ts';

const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');
const OPTIONS = { timeout: 120_000 };

test(
  'all workers answer, in turn; their metrics, limits, budgets and rates are those of one gateway',
  OPTIONS,
  async (context) => {
    const { ask, chat, gateway, pids } = await startTwoWorkers(context);
    assert.deepEqual(await statuses(Array.from({ length: 20 }, () => chat())), { 200: 20 });
    assert.equal((await ask('/healthz')).status, 200);
    assert.equal((await ask('/readyz')).status, 200);
    for (let round = 0; round < 4; round++) {
      const { status, body } = await ask('/metrics', { key: TOKEN });
      assert.equal(status, 200);
      const answered = 'polygate_requests_total{route="inference.complete",protocol="chat",status_class="2xx"';
      assert.equal(metric(body, answered), 20);
      assert.equal(metric(body, 'polygate_request_seconds_count{route="inference.complete"'), 20);
      assert.equal(metric(body, 'polygate_workers '), 2);
      assert.equal(metric(body, 'polygate_store_writable '), 1);
    }
    // The rate by address: whichever worker they meet.
    const triedAt = performance.now();
    const wrong = await statuses(Array.from({ length: 80 }, () => chat('sk-pg-wrong-0123456789012345678901234')));
    const most = 32 + (performance.now() - triedAt) / 2000;
    assert.ok((wrong[401] ?? 0) >= 30 && (wrong[401] ?? 0) <= most, JSON.stringify(wrong));
    assert.equal((wrong[401] ?? 0) + (wrong[429] ?? 0), 80);

    // A minute may end amid the first try, but not amid the second.
    for (const key of OFTEN) {
      const minute = Math.floor(Date.now() / 60_000);
      const counts = await statuses(Array.from({ length: 90 }, () => chat(key)));
      if (minute !== Math.floor(Date.now() / 60_000)) continue;
      assert.deepEqual(counts, { 200: 30, 429: 60 });
      break;
    }

    let answered = 0;
    for (let round = 0; round < 8; round++) {
      const counts = await statuses(Array.from({ length: 6 }, () => chat(RICH)));
      answered += counts[200] ?? 0;
      assert.equal((counts[200] ?? 0) + (counts[402] ?? 0), 6, JSON.stringify(counts));
    }
    assert.ok(answered > 0);
    for (let round = 0; round < 4; round++) {
      const { body } = await ask('/v1/usage', { key: RICH });
      const cost = Number(body.total.cost);
      assert.ok(Math.abs(cost - answered * 0.05) < 1e-9, `${cost} for ${answered}`);
      assert.ok(cost <= BUDGET, `${cost}`);
    }

    gateway.signal('SIGTERM');
    const { code, stderr } = await gateway.ended;
    assert.equal(code, 0);
    const lines = stderr
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
    const answers = lines.filter(({ msg }) => msg === 'answered');
    for (const [index, pid] of pids.entries()) {
      const own = answers.filter((line) => line.worker === index + 1);
      assert.ok(own.length > 0 && own.every((line) => line.pid === pid));
      assert.ok(!isRunning(pid));
    }
  },
);

test('a key may have as many requests under way as its limit, at all workers together', OPTIONS, async (context) => {
  const { chat, held } = await startTwoWorkers(context);
  const answers = Array.from({ length: 10 }, () => chat(BUSY, 'held'));
  let ended = 0;
  for (const one of answers) void one.finally(() => ended++);
  // Each of the others is refused while three are under way.
  const all = await Promise.race([statuses(answers), until(() => held.length === 3 && ended === 7)]);
  assert.equal(all, undefined);
  for (const response of held) answer(response);
  assert.deepEqual(await statuses(answers), { 200: 3, 429: 7 });
});

test('a changed configuration reaches all workers, and also those that are started later', OPTIONS, async (context) => {
  const { ask, configure, gateway, pids } = await startTwoWorkers(context);
  const byAlias = () => ask('/v1/chat/completions', { body: question('chat', 'other', 'Hi') });
  const six = () => statuses(Array.from({ length: 6 }, byAlias));
  assert.deepEqual(await six(), { 404: 6 });
  configure('aliases: { other: a/m }\n');
  gateway.signal('SIGHUP');
  await gateway.shows(/the configuration is reloaded/, 'stderr');
  await until(async () => (await six())[200] === 6);
  process.kill(pids[0], 'SIGKILL');
  await gateway.shows(/the worker listens again/, 'stderr');
  assert.deepEqual(await six(), { 200: 6 });
  // An invalid file changes nothing, also not for a worker that starts.
  configure('nonsense: 1\n');
  gateway.signal('SIGHUP');
  await gateway.shows(/the configuration stays as it was/, 'stderr');
  process.kill(pids[1], 'SIGKILL');
  await gateway.shows(/the worker listens again[\s\S]*the worker listens again/, 'stderr');
  assert.deepEqual(await six(), { 200: 6 });
});

test(
  'a worker that is killed is started again; what it had begun is recorded, and others go on',
  OPTIONS,
  async (context) => {
    const { ask, chat, folder, gateway, held, hold, pids } = await startTwoWorkers(context);
    const [lost, kept] = pids;
    const outcomes = Promise.allSettled(await hold());
    // Whichever worker is asked.
    for (let round = 0; round < 4; round++) {
      const { body } = await ask('/v1/self/requests/summary?model=a/held');
      assert.equal(body.data?.running, HELD);
    }
    process.kill(lost, 'SIGKILL');
    assert.deepEqual(await statuses(Array.from({ length: 6 }, () => chat())), { 200: 6 });
    for (const response of held) answer(response);
    const interrupted = (await outcomes).filter(({ status }) => status === 'rejected').length;
    assert.equal(interrupted, HELD / 2);
    const [again] = await gateway.shows(/^.*"msg":"the worker listens again"\}$/m, 'stderr');
    const [end] = await gateway.shows(/^.*"msg":"a worker ended; it is started again"\}$/m, 'stderr');
    assert.equal(JSON.parse(end).workerPid, lost);
    // A name that an object has twice is read differently by different programs.
    for (const line of [end, again]) assert.equal(line.split('"pid":').length, 2, line);
    await gateway.shows(
      new RegExp(`"requests":${interrupted},"msg":"requests were interrupted by the end of a gateway"`),
      'stderr',
    );
    assert.ok(isRunning(kept));
    assert.deepEqual(await statuses(Array.from({ length: 6 }, () => chat())), { 200: 6 });
    const { body } = await ask('/metrics', { key: TOKEN });
    assert.equal(metric(body, 'polygate_workers '), 2);
    assert.equal(metric(body, 'polygate_worker_restarts_total '), 1);
    assert.equal((await ask('/v1/usage')).body.total.requests, HELD + 12);
    const database = new DatabaseSync(join(folder, 'data/usage.db'), { readOnly: true });
    const rows = database.prepare("SELECT count(*) AS n FROM usage_request WHERE status = 'interrupted'").all();
    database.close();
    assert.deepEqual({ ...rows[0] }, { n: interrupted });
  },
);

test('a worker that hangs is noticed, and reports do not wait for it', OPTIONS, async (context) => {
  const { ask, chat, gateway, pids } = await startTwoWorkers(context);
  process.kill(pids[0], 'SIGSTOP');
  const [line] = await gateway.shows(/^.*"msg":"a worker does not answer"\}$/m, 'stderr');
  assert.equal(JSON.parse(line).workerPid, pids[0]);
  assert.deepEqual(await statuses(Array.from({ length: 6 }, () => chat())), { 200: 6 });
  const times: number[] = [];
  for (let round = 0; round < 4; round++) {
    const began = performance.now();
    assert.equal((await ask('/v1/usage')).body.total.requests, 6);
    times.push(performance.now() - began);
  }
  // Every wait for a worker lasts two seconds.
  assert.ok(Math.min(...times) < 1_900, `${times}`);
  process.kill(pids[0], 'SIGCONT');
  await gateway.shows(/"msg":"the worker answers again"/, 'stderr');
  assert.deepEqual(await statuses(Array.from({ length: 6 }, () => chat())), { 200: 6 });
  gateway.signal('SIGTERM');
  assert.equal((await gateway.ended).code, 0);
});

test('a stop lets the requests of all workers end', OPTIONS, async (context) => {
  const { gateway, held, hold, pids } = await startTwoWorkers(context);
  const answers = await hold();
  gateway.signal('SIGTERM');
  // Service managers signal every process.
  for (const pid of pids) process.kill(pid, 'SIGTERM');
  await gateway.shows(/Stopping once running requests are done/);
  for (const response of held) answer(response);
  assert.deepEqual(await statuses(answers), { 200: HELD });
  const { code } = await gateway.ended;
  assert.equal(code, 0);
  for (const pid of pids) assert.ok(!isRunning(pid));
});

test(
  'without their primary workers end at once, and the next start records what they had begun',
  OPTIONS,
  async (context) => {
    const { ask, chat, gateway, hold, pids, restart, url } = await startTwoWorkers(context);
    assert.equal((await chat()).status, 200);
    const answers = Promise.allSettled(await hold());
    gateway.signal('SIGKILL');
    await until(() => !pids.some(isRunning));
    await answers;
    await assert.rejects(ask('/healthz'), { code: 'ECONNREFUSED' });
    const next = await restart();
    await next.gateway.shows(/"requests":\d+,"msg":"requests were interrupted by the end of a gateway"/, 'stderr');
    const { body } = await send(`${next.url}/v1/usage`, { key: KEY, method: 'GET' });
    assert.equal(body.total.requests, HELD + 1);
    assert.notEqual(next.url, url);
  },
);

test('videos and webhooks are made once, and every worker knows the tasks', OPTIONS, async (context) => {
  const receiver = await startReceiver();
  context.after(() => receiver.close());
  const { ask } = await startTwoWorkers(
    context,
    `callbacks: { secret: a-secret-of-the-whole-gateway, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`,
  );
  const body = {
    ...{ model: 'sandbox/video', prompt: 'a cat' },
    callback_url: `https://127.0.0.1:${receiver.port}/hook`,
  };
  const made = await Promise.all(Array.from({ length: 4 }, () => ask('/v1/videos', { body })));
  assert.deepEqual(
    made.map(({ status }) => status),
    [202, 202, 202, 202],
  );
  for (const { body: task } of made) {
    await until(async () => (await ask(`/v1/videos/${task.id}`)).body.status === 'completed');
    for (let round = 0; round < 4; round++) assert.equal((await ask(`/v1/videos/${task.id}/content`)).status, 200);
    await until(async () => (await ask(`/v1/videos/${task.id}/deliveries`)).body.data[0]?.state === 'delivered');
  }
  assert.equal(receiver.received.length, 4);
});

test('a start is refused in one line for a port in use', OPTIONS, async (context) => {
  const other = createServer().listen(0, '127.0.0.1');
  context.after(() => other.close());
  await until(() => other.listening);
  const { port } = other.address() as { port: number };
  const { code, stdout, stderr } = await program(context).run(['serve', '--workers', '2', '--port', String(port)]);
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.equal(
    stderr,
    `Port ${port} on 127.0.0.1 is in use. Stop what listens there, or choose another port with --port.\n`,
  );
});
