/** Pages over two gateways that share a PostgreSQL database, and what they show when theirs is gone. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { eventually, videoClient } from '../../test/gateway/video-client.ts';
import { providePostgres, type TestDatabase } from '../../test/store/postgres-server.ts';
import { ask, assertSound, openBrowser, signInAsAdmin, startGatewayWithPages, TOKEN } from './browser.ts';

/** All gateways of a database have the same key. */
const KEY_OF_ALL = Buffer.from('encryption-key-of-these-replicas').toString('base64');
const PRICED = '{ provider: sandbox, model: echo, pricing: { prompt: "0", completion: "0.01" } }';
const YAML = `admin: { token: ${TOKEN}, port: 0 }
encryption: { key: ${KEY_OF_ALL} }
models: { house/priced: { endpoints: [${PRICED}] } }`;

let browser: Browser;
let database: TestDatabase;
let gateways: TestGateway[] = [];

before(async () => {
  [browser, database] = await Promise.all([openBrowser(), providePostgres()]);
  for (let index = 0; index < 2; index++) {
    gateways.push(await startGatewayWithPages(YAML, { postgres: database.url }));
  }
});
after(async () => {
  await browser.close();
  for (const gateway of gateways) await gateway.close();
  await database.close();
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
