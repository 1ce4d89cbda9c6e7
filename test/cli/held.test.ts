/** What running requests hold of budgets, as every process shows it: one gateway, its workers, two gateways on one database. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { question, startUpstream } from '../gateway/harness.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { type Program, program, type Running } from './program.ts';
import { answer, RICH, send, TOKEN, until } from './two-workers.ts';

const OPTIONS = { timeout: 180_000 };
const TAG = 'team=search';
const NOTHING = '0,0';
/** A request for 3 tokens of output, at a cent each. */
const ONE = '0.03,0.03';
const TWO = '0.06,0.06';

interface Gateway extends Pick<Program, 'run'> {
  running: Running;
  url: string;
  admin: string;
}

interface Site {
  /** Requests that the upstream has and has not answered. */
  held: ServerResponse[];
  start(): Promise<Gateway>;
}

/** Gateways before an upstream that answers when it is told to. */
async function openSite(context: TestContext, { server = '', more = '' }): Promise<Site> {
  const held: ServerResponse[] = [];
  const upstream = await startUpstream((_call, response) => void held.push(response));
  context.after(() => upstream.close());
  return {
    held,
    async start() {
      const { folder, start, run } = program(context);
      writeFileSync(
        join(folder, 'polygate.yaml'),
        `
server: { port: 0, ${server} }
admin: { token: ${TOKEN}, port: 0 }
keys: [{ name: rich, key: ${RICH}, tags: { team: search }, budgets: { total: "1.00" } }]
tags: { ${TAG}: { budgets: { day: "2.00" } } }
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: held, pricing: { prompt: "0", completion: "0.01" } }] }
${more}`,
      );
      const running = start(['serve']);
      const [, admin = ''] = await running.shows(/admin API listens on (http:\/\/\S+)/);
      const [, url = ''] = await running.shows(/Polygate \S+ listens on (http:\/\/\S+)/);
      return { running, run, url, admin };
    },
  };
}

function chat({ url }: Gateway): ReturnType<typeof send> {
  const body = { ...question('chat', 'a/held', 'Hi'), max_tokens: 3 };
  return send(`${url}/v1/chat/completions`, { key: RICH, method: 'POST', body });
}

/** Held of the budget of the key, and of that of its tag, as operators see them. */
async function heldAt({ admin }: Gateway): Promise<string> {
  const read = async (path: string) => (await send(`${admin}/admin/v1${path}`, { key: TOKEN, method: 'GET' })).body;
  const [key] = (await read('/keys?name=rich')).data;
  const tag = (await read(`/tags/${encodeURIComponent(TAG)}`)).data;
  const uses = [key.effective.budgets.total, tag.budgets.day];
  assert.deepEqual(uses.map((use) => use.held_complete), [true, true]); // biome-ignore format: One line.
  return String(uses.map((use) => use.held));
}

/** As the key sees it, by whichever process answers. */
async function heldOfOwn({ url }: Gateway): Promise<string> {
  const { data } = (await send(`${url}/v1/key`, { key: RICH, method: 'GET' })).body;
  return String([data.effective.budgets.total.held, data.tags[TAG].budgets.day.held]);
}

test('the command line shows what a gateway holds that runs beside it', OPTIONS, async (context) => {
  const { start, held } = await openSite(context, {});
  const gateway = await start();
  const listed = async () => {
    const { stdout } = await gateway.run(['tags', 'list', '--json']);
    return JSON.parse(stdout)[0].budgets.day.held;
  };
  const answered = chat(gateway);
  await until(() => held.length === 1);
  assert.equal(await heldAt(gateway), ONE);
  await until(async () => (await listed()) === '0.03');
  for (const response of held) answer(response);
  assert.equal((await answered).status, 200);
  assert.equal(await heldAt(gateway), NOTHING);
  await until(async () => (await listed()) === '0');
});

test('the primary and both workers show what requests of each worker hold', OPTIONS, async (context) => {
  const { start, held } = await openSite(context, { server: 'workers: 2' });
  const gateway = await start();
  const [, ...pids] = await gateway.running.shows(/has 2 workers: processes (\d+), (\d+)/);
  const [one = 0, other = 0] = pids.map(Number);
  const outcomes: Promise<PromiseSettledResult<unknown>[]>[] = [];
  // While one worker is stopped, the other accepts all connections.
  for (const paused of [one, other]) {
    process.kill(paused, 'SIGSTOP');
    outcomes.push(Promise.allSettled([chat(gateway)]));
    await until(() => held.length === outcomes.length).finally(() => process.kill(paused, 'SIGCONT'));
  }
  await until(async () => (await heldAt(gateway)) === TWO);
  await until(async () => (await Promise.all(Array.from({ length: 8 }, () => heldOfOwn(gateway)))).every((so) => so === TWO)); // biome-ignore format: One line.
  process.kill(one, 'SIGKILL');
  await until(async () => (await heldAt(gateway)) === ONE);
  for (const response of held) answer(response);
  await Promise.all(outcomes);
  await until(async () => (await heldAt(gateway)) === NOTHING);
  await until(async () => (await Promise.all(Array.from({ length: 8 }, () => heldOfOwn(gateway)))).every((so) => so === NOTHING)); // biome-ignore format: One line.
});

test(
  'a gateway shows what requests of another one hold, and nothing of one that was killed',
  OPTIONS,
  async (context) => {
    const database = await providePostgres();
    context.after(() => database.close());
    const encryption = `encryption: { key: "${randomBytes(32).toString('base64')}" }`;
    const { start, held } = await openSite(context, { more: `data: ${database.url}\n${encryption}` });
    const [here, there] = [await start(), await start()];
    const answers = [chat(here), chat(there)];
    await until(() => held.length === 2);
    for (const gateway of [here, there]) await until(async () => (await heldAt(gateway)) === TWO);
    for (const response of held.splice(0)) answer(response);
    for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
    for (const gateway of [here, there]) await until(async () => (await heldAt(gateway)) === NOTHING);

    const cut = Promise.allSettled([chat(there)]);
    await until(() => held.length === 1);
    await until(async () => (await heldAt(here)) === ONE);
    there.running.signal('SIGKILL');
    await cut;
    assert.equal(await heldAt(here), ONE);
    // It counts as dead after 30 s.
    await until(async () => (await heldAt(here)) === NOTHING);
  },
);
