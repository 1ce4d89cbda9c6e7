/** Figures of use lead to the requests that began in their time, also where these ended after it. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import { createManualClock } from '../../test/jobs/manual-clock.ts';
import { ask, assertSound, openBrowser, signInAsAdmin, startGatewayWithPages, TOKEN } from './browser.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const TO = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS;
const FROM = TO - HOUR_MS;
const clock = createManualClock(FROM - HOUR_MS);

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;

before(async () => {
  upstream = await startUpstream((_call, response) => {
    clock.advance(2 * MINUTE_MS);
    answerJson(response, {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
      choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107 },
    });
  });
  const models = ['early', 'within', 'late'].map((id) => `{ id: ${id} }`).join(', ');
  gateway = await startGatewayWithPages(
    `admin: { token: ${TOKEN}, port: 0 }
providers: { local: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [${models}] } }`,
    { clock },
  );
  for (const [model, at] of [
    ['early', FROM - MINUTE_MS],
    ['within', FROM + 10 * MINUTE_MS],
    ['late', TO - MINUTE_MS],
  ] as const) {
    clock.advance(at - clock.now());
    await ask(gateway, KEY, `local/${model}`);
  }
  clock.advance(Date.now() - clock.now());
  browser = await openBrowser();
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

test('a sum leads to as many requests, whose time is a filter that can be removed', async () => {
  const span = new URLSearchParams({ from: new Date(FROM).toISOString(), to: new Date(TO).toISOString(), zone: 'UTC' });
  const visitor = await signInAsAdmin(browser, gateway, `/ui/use?${span}`);
  const { page } = visitor;
  const total = page.getByRole('row', { name: /^Total/ });
  await total.getByRole('link', { name: '2', exact: true }).click();
  await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
  await page.getByRole('row', { name: /local.late/ }).waitFor();
  await page.getByRole('row', { name: /local.within/ }).waitFor();
  assert.equal(await page.getByRole('row', { name: /local.early/ }).count(), 0);
  const figure = page.locator('dl > div').filter({ has: page.getByText('Requests', { exact: true }) });
  await figure.getByRole('link', { name: '2', exact: true }).click();
  await page.getByRole('row', { name: /local.late/ }).waitFor();
  await assertSound(visitor);

  await page.getByRole('button', { name: /^began from/ }).click();
  await page.getByRole('row', { name: /local.early/ }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get('started_to'), new Date(TO).toISOString());
  await page.getByRole('button', { name: /^began before/ }).click();
  await page.getByRole('button', { name: /^began/ }).waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).searchParams.get('started_to'), null);
});
