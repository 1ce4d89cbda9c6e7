/** PostgreSQL with a journal on the gateway's machine, as a program: what survives a kill, a database that is away, and a lost folder. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { answerJson, KEY, startUpstream, type TestUpstream } from '../gateway/harness.ts';
import { get, hear } from '../gateway/usage-client.ts';
import { providePostgres, type TestDatabase } from '../store/postgres-server.ts';
import { startProxy, type TestProxy } from '../store/proxy.ts';
import { program, type Running } from './program.ts';

const ENCRYPTION_KEY = randomBytes(32).toString('base64');
/** Longest wait for a condition, on a busy machine. */
const UNTIL_TIMEOUT_MS = 60_000;
const CLIENTS = 8;

let upstream: TestUpstream;
/** Requests that the upstream has and does not answer. */
const held: ServerResponse[] = [];

before(async () => {
  upstream = await startUpstream((call, response) => {
    if (call.bytes.includes('hang')) {
      held.push(response);
      return;
    }
    answer(response);
  });
});

function answer(response: ServerResponse): void {
  const message = { role: 'assistant', content: 'Yes.' };
  const usage = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage });
}

after(() => upstream.close());

interface Rig {
  database: TestDatabase;
  proxy: TestProxy;
}

async function openRig(context: TestContext): Promise<Rig> {
  const database = await providePostgres();
  context.after(() => database.close());
  const { hostname, port } = new URL(database.url);
  const proxy = await startProxy(hostname, Number(port));
  context.after(() => proxy.close());
  return { database, proxy };
}

interface Machine {
  folder: string;
  start(): Promise<{ url: string; gateway: Running }>;
}

/** A machine with a folder of its own, and a gateway that reaches the database through the proxy. */
function machine(context: TestContext, { database, proxy }: Rig, journal: 'local' | 'shared'): Machine {
  const { folder, start } = program(context);
  const url = new URL(database.url);
  url.port = String(proxy.port);
  writeFileSync(
    join(folder, 'polygate.yaml'),
    `
server: { port: 0 }
data: ${url.href}
encryption: { key: "${ENCRYPTION_KEY}" }
usage: { journal: ${journal} }
keys: [{ name: test, key: ${KEY} }]
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, pricing: { prompt: "0.01", completion: "0.01" } }] }
`,
  );
  return {
    folder,
    async start() {
      const gateway = start(['serve']);
      const [, address = ''] = await gateway.shows(/listens on (http:\/\/\S+)/);
      return { url: address, gateway };
    },
  };
}

const ask = (url: string, text = 'Hi') => hear(url, { protocol: 'chat', model: 'a/m', text });

/** Asks until a condition holds; the ids of the answers. */
async function askUntil(url: string, isOver: (answered: string[]) => boolean | Promise<boolean>): Promise<string[]> {
  const answered: string[] = [];
  let over = false;
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!over) {
      const { status, id } = await ask(url);
      if (status === 200) answered.push(id);
      else assert.equal(status, 503);
    }
  });
  await until(() => isOver(answered));
  over = true;
  await Promise.all(clients);
  return answered;
}

async function until(condition: () => unknown): Promise<void> {
  const deadline = performance.now() + UNTIL_TIMEOUT_MS;
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, 'it did not happen in time');
    await pause(20);
  }
}

async function isReady(url: string): Promise<boolean> {
  return (await fetch(`${url}/readyz`)).status === 200;
}

async function statusOf(url: string, id: string): Promise<string | undefined> {
  const { body } = await get(url, `/v1/generation?id=${id}`);
  return body.data?.status;
}

async function requestsIn(url: string): Promise<{ requests: number; input: number }> {
  const { total } = (await get(url, '/v1/usage')).body;
  return { requests: total.requests, input: total.input_tokens };
}

const OPTIONS = { timeout: 180_000 };

test('answers that were acknowledged while the database was away survive a kill', OPTIONS, async (context) => {
  const rig = await openRig(context);
  const { start } = machine(context, rig, 'local');
  const first = await start();
  const early = await askUntil(first.url, (answered) => answered.length >= 20);
  const hanging = ask(first.url, 'hang').catch(() => undefined);
  await until(() => held.length === 1);
  const begun = Array.from({ length: 5 }, () => ask(first.url, 'hang'));
  await until(() => held.length === 1 + begun.length);
  await rig.proxy.cut();
  for (const response of held.slice(1)) answer(response);
  const ended = await Promise.all(begun);
  assert.ok(ended.every(({ status }) => status === 200));
  // Some more are answered before the gateway notices, and none after.
  let asked = 0;
  const late = await askUntil(first.url, async () => {
    const { status } = await ask(first.url);
    if (status === 200) asked += 1;
    return status === 503;
  });
  late.push(...ended.map(({ id }) => id));
  assert.equal(await isReady(first.url), false);
  const refused = await ask(first.url);
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1']);
  first.gateway.signal('SIGKILL');
  await first.gateway.ended;
  await hanging;
  await rig.proxy.mend();

  const second = await start();
  await second.gateway.shows(/"requests":1,"msg":"requests were interrupted by the end of a gateway"/);
  for (const id of [...early, ...late]) assert.equal(await statusOf(second.url, id), 'completed', id);
  const { requests } = await requestsIn(second.url);
  assert.equal(requests, early.length + late.length + asked + 1);
  held.length = 0;
});

test('a database that is away for a while delays records, and each is stored once', OPTIONS, async (context) => {
  const rig = await openRig(context);
  const { url } = await machine(context, rig, 'local').start();
  const answered: string[] = [];
  for (let round = 0; round < 2; round++) {
    answered.push(...(await askUntil(url, (some) => some.length >= 20)));
    await rig.proxy.cut();
    answered.push(...(await askUntil(url, async () => !(await isReady(url)))));
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    await rig.proxy.mend();
    await until(() => isReady(url));
  }
  answered.push(...(await askUntil(url, (some) => some.length >= 20)));
  for (const id of answered) assert.equal(await statusOf(url, id), 'completed', id);
  assert.deepEqual(await requestsIn(url), { requests: answered.length, input: 2 * answered.length });
});

test('what a machine held comes back with its folder alone, and with shared without it', OPTIONS, async (context) => {
  for (const journal of ['local', 'shared'] as const) {
    const rig = await openRig(context);
    const lost = machine(context, rig, journal);
    const { url, gateway } = await lost.start();
    const answered = await askUntil(url, (some) => some.length >= 100);
    gateway.signal('SIGKILL');
    await gateway.ended;
    const other = await machine(context, rig, journal).start();
    const { requests } = await requestsIn(other.url);
    if (journal === 'shared') {
      rmSync(join(lost.folder, 'data'), { recursive: true });
      // Also what was begun and not answered may be known.
      // What it answered in its last second is added to the records when it counts as dead.
      for (const id of answered) while ((await statusOf(other.url, id)) !== 'completed') await pause(250);
      continue;
    }
    assert.ok(requests < answered.length, `${requests} of ${answered.length} were in the database`);
    const back = await lost.start();
    for (const id of answered) assert.equal(await statusOf(back.url, id), 'completed', id);
    // Both see it.
    assert.deepEqual(await requestsIn(other.url), await requestsIn(back.url));
  }
});
