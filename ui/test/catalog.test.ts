/** Catalog: filters by what a model takes, gives, costs and can; what operators see of a model; models side by side. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import {
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayWithPages,
  THEMES,
  TOKEN,
  visit,
} from './browser.ts';

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;

const MODELS = `[
  { id: small, context_length: 8000, pricing: { prompt: "0.0000001", completion: "0.0000002" } },
  { id: large, context_length: 400000, pricing: { prompt: "0.000005", completion: "0.00002" }, input_modalities: [text, image], supported_parameters: [tools, reasoning] },
  { id: unknown } ]`;

before(async () => {
  const usage = { prompt_tokens: 6, completion_tokens: 1, total_tokens: 7 };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
  upstream = await startUpstream((call, response) =>
    answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: call.body.model, choices, usage }),
  );
  const yaml = `admin: { token: ${TOKEN}, port: 0 }
providers: { local: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: ${MODELS} } }
models: { house/quiet: { endpoints: [{ provider: local, model: large, data_policy: { zdr: true } }, { provider: local, model: small, priority: 1 }] } }
aliases: { best: house/quiet }`;
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayWithPages(yaml)]);
  for (let count = 0; count < 3; count++) assert.equal((await ask(gateway, KEY, 'house/quiet')).status, 200);
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

/** Ids of the models that are shown, once there are so many. */
async function shown(page: Page, count: number): Promise<string[]> {
  await page
    .getByRole('status')
    .getByText(new RegExp(`^${count} of `))
    .waitFor();
  return (await page.locator('tbody tr[data-opens] button span:first-child').allInnerTexts()).toSorted();
}

test('filters narrow the list, are in the address, and are taken back', async () => {
  const visitor = await signInAsAdmin(browser, gateway);
  const { page } = visitor;
  await page.goto(`${gateway.url}/ui/models?provider=local`);
  assert.deepEqual(await shown(page, 3), ['local/large', 'local/small', 'local/unknown']);
  const choose = async (label: string, option: string) => {
    await page.getByRole('combobox', { name: label, exact: true }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };
  await choose('Price', 'In at most $1');
  assert.deepEqual(await shown(page, 1), ['local/small']);
  await choose('Price', 'Any price');
  await choose('Context', '128 k tokens or more');
  assert.deepEqual(await shown(page, 1), ['local/large']);
  await choose('Context', 'Any context');
  await choose('Takes', 'Takes image');
  assert.deepEqual(await shown(page, 1), ['local/large']);
  await page.getByRole('button', { name: 'Tools', exact: true }).click();
  await page.waitForURL(/can=tools/);
  assert.deepEqual(await shown(page, 1), ['local/large']);
  await page.reload();
  assert.deepEqual(await shown(page, 1), ['local/large']);
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  await page.getByRole('button', { name: 'Zero retention' }).click();
  assert.deepEqual(await shown(page, 1), ['house/quiet']);
  await assertSound(visitor);
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  const words = page.getByRole('searchbox');
  await words.pressSequentially('local/sm');
  assert.deepEqual(await shown(page, 1), ['local/small']);
  assert.equal(await words.inputValue(), 'local/sm');
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  assert.equal(await words.inputValue(), '');
});

for (const theme of THEMES) {
  test(`operators see endpoints, times, names, lines and users of a model, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui', { theme });
    const { page } = visitor;
    await page.goto(`${gateway.url}/ui/models?open=house/quiet`);
    const panel = page.getByRole('dialog', { name: 'house/quiet' });
    await panel.getByRole('row', { name: /^local\/large 0 \d+ ms .* none$/ }).waitFor();
    await panel.getByText('best', { exact: true }).waitFor();
    await panel.getByRole('row', { name: /^aliases\.best house\/quiet file, line \d+$/ }).waitFor();
    await panel.getByRole('row', { name: /^test 3 \$/ }).waitFor();
    await assertSound(visitor);
    await page.setViewportSize({ width: 360, height: 900 });
    await assertFits(page);
    await panel.getByRole('link', { name: 'test' }).click();
    await page.waitForURL(/\/requests\?.*key=/);
    await page
      .getByRole('row', { name: /house\/quiet/ })
      .first()
      .waitFor();
  });
}

test('a visitor without a key sees models, and nothing of the operation', async () => {
  const visitor = await visit(browser, `${gateway.url}/ui/models?open=house/quiet`);
  const panel = visitor.page.getByRole('dialog', { name: 'house/quiet' });
  await panel.getByRole('heading', { name: 'Try it' }).waitFor();
  assert.equal(await panel.getByRole('heading', { name: /Endpoints|Used by/ }).count(), 0);
  assert.equal(await visitor.page.getByRole('button', { name: 'Zero retention' }).count(), 0);
  await assertSound(visitor);
});

test('up to four models stand side by side, with marks where they differ', async () => {
  const visitor = await signInAsAdmin(browser, gateway);
  await visitor.page.goto(`${gateway.url}/ui/models?compare=local/large,local/small`);
  const compared = visitor.page.getByRole('region', { name: 'Models side by side' });
  await compared.getByRole('row', { name: /^Context differs 400,000 8,000$/ }).waitFor();
  await compared.getByRole('row', { name: /^Tools differs yes no$/ }).waitFor();
  await compared.getByRole('row', { name: /^Gives text text$/ }).waitFor();
  await assertSound(visitor);
});
