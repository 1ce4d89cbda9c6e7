/** Pages over two gateways that share a PostgreSQL database, and what they show when theirs is gone, and is there again. */

import assert from 'node:assert/strict';
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import { eventually, videoClient } from '../../test/gateway/video-client.ts';
import { providePostgres, type TestDatabase } from '../../test/store/postgres-server.ts';
import { adminOf, ask, assertSound, openBrowser, signInAsAdmin, startGatewayWithPages, TOKEN } from './browser.ts';

/** All gateways of a database have the same key. */
const KEY_OF_ALL = Buffer.from('encryption-key-of-these-replicas').toString('base64');
const PRICED = '{ provider: sandbox, model: echo, pricing: { prompt: "0", completion: "0.01" } }';
const yamlWith = (limited: string) => `admin: { token: ${TOKEN}, port: 0 }
encryption: { key: ${KEY_OF_ALL} }
providers: { limited: { type: openai-compatible, base_url: "${limited}/v1", api_key: x, models: [{ id: m }, { id: held, pricing: { prompt: "0", completion: "0.01" } }] } }
models: { house/priced: { endpoints: [${PRICED}] } }
aliases: { "live-*": sandbox/echo }`;
const LIVE_REQUESTS = 40;

/** One address before gateways, as a load balancer is; what is asked while there is no gateway breaks off. */
interface Front {
  url: string;
  /** The gateway for a request; undefined where none runs. */
  gatewayFor: (request: IncomingMessage) => TestGateway | undefined;
  close(): Promise<void>;
}

async function openFront(gatewayFor: Front['gatewayFor']): Promise<Front> {
  const server = createServer((request, response) => pass(request, response, front.gatewayFor(request)));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const front: Front = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    gatewayFor,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return front;
}

function pass(request: IncomingMessage, response: ServerResponse, gateway: TestGateway | undefined): void {
  if (!gateway) {
    response.destroy();
    return;
  }
  const { method, url = '/', headers } = request;
  const asked = forward(gateway.url + url, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  asked.on('error', () => response.destroy());
  request.pipe(asked);
}

let browser: Browser;
let database: TestDatabase;
let gateways: TestGateway[] = [];
let limited: TestUpstream;
let isLimited = false;
/** Answers requests to the model `held`. */
const release = Promise.withResolvers<void>();
let yaml = '';

before(async () => {
  [browser, database, limited] = await Promise.all([
    openBrowser(),
    providePostgres(),
    startUpstream(async (call, response) => {
      if (call.body.model === 'held') await release.promise;
      if (isLimited) response.setHeader('retry-after', '300');
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
      if (isLimited) answerJson(response, { error: { message: 'Too many.' } }, 429);
      else answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices });
    }),
  ]);
  yaml = yamlWith(limited.url);
  for (let index = 0; index < 2; index++) {
    gateways.push(await startGatewayWithPages(yaml, { postgres: database.url }));
  }
});
after(async () => {
  release.resolve();
  await browser.close();
  for (const gateway of gateways) await gateway.close();
  await Promise.all([database.close(), limited.close()]);
});

test('a limit that is set at one gateway applies at the other, and is shown there', async () => {
  const [here, there] = gateways as [TestGateway, TestGateway];
  const authorization = `Bearer ${TOKEN}`;
  const made = await fetch(`${here.adminUrl}/admin/v1/keys`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'late', tags: { team: 'late' } }),
  });
  const { key } = (await made.json()) as { key: string };
  assert.equal((await ask(there, key, 'house/priced')).status, 200);
  const { page } = await signInAsAdmin(browser, here, '/ui/tags?open=team%3Dlate');
  await page.getByRole('button', { name: 'Set limits and budgets …' }).click();
  await page.getByLabel('Daily budget').fill('0');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: /^team=late 1 .*today/ }).waitFor();
  await eventually({}, async () => (await ask(there, key, 'house/priced')).status === 402);
  const visitor = await signInAsAdmin(browser, there, '/ui/tags');
  await visitor.page.getByRole('row', { name: /^team=late 1 .*today/ }).waitFor();
  await assertSound(visitor);
});

test('a budget shows what a request of the other gateway holds, and that one may hold more', async () => {
  const [here, there] = gateways as [TestGateway, TestGateway];
  const { data, key } = await adminOf(here)('POST', '/keys', { name: 'holder', budgets: { total: '1000.00' } });
  const answered = ask(there, key, 'limited/held');
  await eventually({}, () => limited.calls.some(({ body }) => body.model === 'held'));
  const heldHere = async () => (await adminOf(here)('GET', `/keys/${data.hash}`)).data.effective.budgets.total.held;
  await eventually({}, async () => (await heldHere()) !== '0');
  const visitor = await signInAsAdmin(browser, here, `/ui/keys?open=${data.hash}`);
  const { page } = visitor;
  const panel = page.getByRole('dialog', { name: 'holder' });
  await panel.getByRole('img', { name: /is spent, \d+ % held by what runs/ }).waitFor();
  await panel.getByText(/^\$[\d.]+ left, \$[\d.]+ held$/).waitFor();
  await assertSound(visitor);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    `INSERT INTO instance (id, version, started_at, heartbeat_until)
     SELECT 'older-gateway', '0.1.0', started_at, heartbeat_until + 3600000 FROM instance LIMIT 1`,
  );
  await page.reload();
  await panel.getByRole('img', { name: /is spent, at least \d+ % held by what runs, at most \$[\d.]+ left/ }).waitFor();
  await panel.getByText(/^at most \$[\d.]+ left, at least \$[\d.]+ held$/).waitFor();
  await assertSound(visitor);
  await client.query("DELETE FROM instance WHERE id = 'older-gateway'");
  await client.end();
  release.resolve();
  assert.equal((await answered).status, 200);
  await eventually({}, async () => (await heldHere()) === '0');
});

test('requests of both gateways are in the live list, each once', async () => {
  const [here] = gateways as [TestGateway, TestGateway];
  const visitor = await signInAsAdmin(browser, here, '/ui/requests');
  const { page } = visitor;
  await page.getByRole('heading', { name: 'Requests' }).waitFor();
  const names = Array.from({ length: LIVE_REQUESTS }, (_, index) => `live-${index}`);
  // Some of both at a time, and over several looks of the page.
  for (let first = 0; first < names.length; first += 4) {
    await Promise.all(
      names.slice(first, first + 4).map((name, index) => ask(gateways[index % 2] as TestGateway, KEY, name)),
    );
    await page.getByText(`for ${names[first]}`, { exact: true }).waitFor();
  }
  await page.getByText(`for ${names.at(-1)}`, { exact: true }).waitFor();
  const shown = await page.getByText(/^\s*for live-\d+$/).allInnerTexts();
  const byName = (one: string, other: string) => Number(one.slice(5)) - Number(other.slice(5));
  assert.deepEqual(shown.map((text) => text.trim().slice(4)).toSorted(byName), names);
  await assertSound(visitor);
});

test('the gateway with an endpoint in cooldown is named, beside the others that know it', async () => {
  const [here, there] = gateways as [TestGateway, TestGateway];
  assert.equal((await ask(here, KEY, 'limited/m')).status, 200);
  isLimited = true;
  assert.equal((await ask(there, KEY, 'limited/m')).status, 429);
  const visitor = await signInAsAdmin(browser, here, '/ui/health');
  const { page } = visitor;
  const row = page.getByRole('row', { name: /^limited.m/ });
  // A gateway tells the others every few seconds what it knows.
  const summary = row.getByText(/says \w+, of 2 gateways/);
  await summary.click();
  const known = await adminOf(here)('GET', '/health/endpoints');
  const told = known.gateways.find(({ answers }: { answers: boolean }) => !answers).id.slice(0, 8);
  assert.equal(await summary.innerText(), `says ${told}, of 2 gateways`);
  await row.getByText(`${told} in cooldown, 0 % of 1 in 24 h`).waitFor();
  await row.getByText(/ healthy, 100 % of 1 in 24 h/).waitFor();
  await assertSound(visitor);
});

test('a gateway that gives no sign is named, and one that went, too', async () => {
  const [here] = gateways as [TestGateway, TestGateway];
  const visitor = await signInAsAdmin(browser, here, '/ui/health');
  const { page } = visitor;
  const replicas = page.getByRole('region', { name: 'Gateways that run' });
  await replicas.getByText('answers this page').waitFor();
  assert.equal(await page.getByText('gives no sign').count(), 0);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  // Its last sign was 18 seconds ago, and the others forget it after 30.
  await client.query(
    `INSERT INTO instance (id, version, started_at, heartbeat_until)
     SELECT 'dead-gateway', '0.9.0', started_at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 12000
     FROM instance LIMIT 1`,
  );
  await client.end();
  await page.getByText(/Gateway dead-gateway gives no sign: its last one was \d+ sec/).waitFor();
  await replicas.getByRole('row', { name: /dead-gateway silent/ }).waitFor();
  await assertSound(visitor);
  await page.getByText(/Gateway dead-gateway is gone since this page was opened/).waitFor();
  assert.equal(await replicas.getByText('dead-gateway').count(), 0);
  await assertSound(visitor);
});

test('a capture of another gateway is said to be there', async () => {
  const [here, there] = gateways as [TestGateway, TestGateway];
  const front = await openFront(({ method, url }) =>
    method === 'POST' && url?.includes('/chat/completions') ? there : here,
  );
  try {
    const visitor = await signInAsAdmin(browser, front, '/ui/playground?models=sandbox/echo&view=wire');
    const { page } = visitor;
    await page.getByRole('textbox', { name: /user/i }).first().fill('Hello');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/A capture is in the memory of the gateway that served the request/).waitFor();
  } finally {
    await front.close();
  }
});

test('a gateway that dies and comes back at its address: data are marked as old, and then renewed', async () => {
  const first = await startGatewayWithPages(yaml, { postgres: database.url });
  let gateway: TestGateway | undefined = first;
  const front = await openFront(() => gateway);
  try {
    const visitor = await signInAsAdmin(browser, front, '/ui/requests');
    const { page } = visitor;
    await ask(first, KEY, 'live-before');
    await page.getByText('for live-before').waitFor();
    gateway = undefined;
    await first.close();
    await page.getByText('The gateway does not answer').first().waitFor();
    await page
      .getByRole('main')
      .getByText(/Shown is what was there at \d/)
      .waitFor();
    await page.getByRole('main').getByRole('button', { name: 'Try again' }).first().waitFor();
    await page.getByText('for live-before').waitFor();
    gateway = await startGatewayWithPages(yaml, { postgres: database.url });
    await ask(gateway, KEY, 'live-after');
    // Nobody asks again, or reads the page anew.
    await page.getByText('for live-after').waitFor();
    await page
      .getByRole('main')
      .getByText(/Shown is what was there at/)
      .first()
      .waitFor({ state: 'detached' });
    await page.getByText('The gateway does not answer').first().waitFor({ state: 'detached' });
    assert.equal(await page.getByText('for live-before').count(), 1);
  } finally {
    await front.close();
    await gateway?.close();
  }
});

test('what one gateway did is seen at the other, and older data stay when it is gone', async () => {
  const [here, there] = gateways as [TestGateway, TestGateway];
  assert.equal((await ask(there, KEY)).status, 200);
  const { id } = await videoClient(there).create({ prompt: 'hang' });
  const visitor = await signInAsAdmin(browser, here, '/ui/requests');
  const { page } = visitor;
  await page
    .getByRole('row', { name: /sandbox.echo/ })
    .first()
    .waitFor();
  await page.getByRole('link', { name: 'Videos' }).click();
  const card = page.getByRole('button', { name: /hang/ });
  await card.waitFor();
  await assertSound(visitor);
  await page.getByRole('link', { name: 'Health' }).click();
  await page.getByRole('region', { name: 'Store' }).getByText('PostgreSQL').waitFor();
  await page.getByRole('link', { name: '2 gateways, PostgreSQL' }).waitFor();
  const replicas = page.getByRole('region', { name: 'Gateways that run' });
  await replicas.getByRole('row').nth(2).waitFor();
  assert.equal(await replicas.getByText('answers this page').count(), 1);
  await assertSound(visitor);
  await page.goto(`${here.url}/ui/models`);
  await page.getByText(/Times are as gateway \w+ knows them; the others have their own/).waitFor();
  await page.goto(`${here.url}/ui/videos`);
  await card.waitFor();
  gateways = [there];
  await here.close();
  // The browser writes each failure to the console.
  await page.getByRole('alert').getByText('The gateway does not answer').first().waitFor();
  await page
    .getByText(/Shown is what was there at/)
    .first()
    .waitFor();
  await card.waitFor();
  visitor.faults.length = 0;
  assert.equal((await videoClient(there).send('POST', `/v1/videos/${id}/cancel`)).status, 200);
});
