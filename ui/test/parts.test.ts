/** Parts that pages share: axes of charts, rows, addresses, and what is shown where a fact or a price is not known. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import {
  ask,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayWithPages,
  TOKEN,
} from './browser.ts';

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;

before(async () => {
  const usage = { prompt_tokens: 6, completion_tokens: 1, total_tokens: 7 };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
  upstream = await startUpstream((call, response) =>
    answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: call.body.model, choices, usage }),
  );
  const models = '[{ id: bare }, { id: cheap, pricing: { prompt: "0.000001", completion: "0" } }]';
  const local = `{ type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: ${models} }`;
  [browser, gateway] = await Promise.all([
    openBrowser(),
    startGatewayWithPages(`admin: { token: ${TOKEN}, port: 0 }\nproviders: { local: ${local} }`),
  ]);
  for (const [model, session] of [
    ['local/bare', '12345'],
    ['local/cheap', '1e5'],
  ]) {
    assert.equal((await ask(gateway, KEY, model, { 'x-session-id': session ?? '' })).status, 200);
  }
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

/** Runs in the page: labels of the axis of the chart, each with whether it is whole inside the drawing. */
const AXIS = `[...document.querySelectorAll('svg[role=img] text[text-anchor=end]')].map((text) => ({
  label: text.textContent,
  isWhole: text.getBoundingClientRect().left >= text.ownerSVGElement.getBoundingClientRect().left,
}))`;

async function assertWholeAxis(page: Page): Promise<void> {
  await page.getByText('$0.000006').first().waitFor();
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 900 });
    const labels = await page.evaluate<{ label: string; isWhole: boolean }[]>(AXIS);
    assert.ok(labels.length >= 3);
    for (const { label, isWhole } of labels) {
      assert.ok(isWhole, `${label} at ${width} px`);
      assert.match(label, /^\$0\.00000\d$/);
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

test('labels of an axis of small sums of money are whole and short, for operators', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/use?by=model');
  await assertWholeAxis(visitor.page);
  await visitor.page.getByText(/The cost of one model is unknown .*: local.bare\./).waitFor();
  const row = visitor.page.getByRole('row', { name: /local.bare/ });
  await row.getByRole('cell', { name: 'unknown' }).waitFor();
  await assertSound(visitor);
});

test('labels of an axis of small sums of money are whole and short, for the holder of a key', async () => {
  const visitor = await signInWithKey(browser, gateway, KEY);
  await visitor.page.getByRole('heading', { name: 'My key' }).waitFor();
  await assertWholeAxis(visitor.page);
  await visitor.page.getByText(/The cost of one model is unknown .*: local.bare\./).waitFor();
  await visitor.page.getByRole('row', { name: /local.bare .* unknown$/ }).waitFor();
});

test('a model without facts says that they are unknown, and what it cost is', async () => {
  const visitor = await signInAsAdmin(browser, gateway);
  const { page } = visitor;
  await page.goto(`${gateway.url}/ui/models?find=local`);
  const row = page.getByRole('row', { name: /local.bare/ });
  await row.waitFor();
  assert.deepEqual(
    await row
      .getByRole('cell')
      .allTextContents()
      .then((cells) => cells.slice(2, 6)),
    ['—', 'unknown', '—', 'unknown'],
  );
  // On a cell without a button.
  await row.getByRole('cell').nth(1).click();
  const panel = page.getByRole('dialog', { name: 'local/bare' });
  await panel.waitFor();
  assert.deepEqual(await valuesOf(panel.locator('dl').first()), ['Context', 'unknown', 'Longest answer', 'unknown']);
  await page.goto(`${gateway.url}/ui/models?find=local&compare=local/bare,local/cheap`);
  const compared = page.getByRole('region', { name: 'Models side by side' });
  await compared.getByRole('row', { name: /^Context unknown unknown$/ }).waitFor();
  await compared.getByRole('row', { name: /^Input differs unknown \$1\.00$/ }).waitFor();
  await page.goto(`${gateway.url}/ui/requests?model=local/bare`);
  await page.getByRole('row', { name: /local.bare .* unknown / }).click();
  await page.getByRole('dialog', { name: 'Request' }).getByText('unknown').waitFor();
  await assertSound(visitor);
});

async function valuesOf(list: ReturnType<Page['locator']>): Promise<string[]> {
  return (await list.locator('dt, dd').allTextContents()).slice(-4);
}

test('a click opens a row wherever it has no button, and selected text stays selected', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/keys');
  const { page } = visitor;
  const row = page.getByRole('row', { name: /test/ }).first();
  const box = await row.boundingBox();
  assert.ok(box);
  const y = box.y + box.height / 2;
  const text = await row.getByText('active').boundingBox();
  await page.mouse.move((text?.x ?? 0) + 2, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, y);
  await page.mouse.up();
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.evaluate('getSelection().removeAllRanges()');
  await page.mouse.click(box.x + box.width - 40, y);
  await page.getByRole('dialog', { name: 'test' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'test' }).waitFor({ state: 'hidden' });
  await row.locator('button:focus').waitFor();
});

for (const session of ['12345', '1e5', 'true', '00012', '"12"']) {
  test(`the conversation ${session} is a filter in the address`, async () => {
    const visitor = await signInAsAdmin(browser, gateway);
    const { page } = visitor;
    const value = session.startsWith('"') ? JSON.stringify(session) : session;
    await page.goto(`${gateway.url}/ui/requests?session=${encodeURIComponent(value)}`);
    await page.getByRole('button', { name: `session: ${session}`, exact: false }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: `session: ${session}`, exact: false }).waitFor();
    if (session === '12345') await page.getByRole('row', { name: /local.bare/ }).waitFor();
    if (session === '1e5') await page.getByRole('row', { name: /local.cheap/ }).waitFor();
    assert.equal(await page.getByRole('row', { name: session === '12345' ? /local.cheap/ : /local.bare/ }).count(), 0);
  });
}
