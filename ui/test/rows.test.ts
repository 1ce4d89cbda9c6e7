/** Rows that lead to what is behind them: entries of the audit log, gateways, and candidates of a request. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import { eventually } from '../../test/gateway/video-client.ts';
import {
  adminOf,
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayForOperators,
  THEMES,
} from './browser.ts';

const CREDENTIALS = 2;

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;
/** Of a request with several candidates. */
let requestId = '';

before(async () => {
  upstream = await startUpstream((_call, response) => answerJson(response, { error: { message: 'Not now.' } }, 429));
  const busy = `{ type: openai-compatible, base_url: "${upstream.url}/v1", api_keys: [x, y], models: [{ id: m }] }`;
  const endpoints = '[{ provider: busy, model: m }, { provider: sandbox, model: echo }]';
  const yaml = `providers: { busy: ${busy} }\nmodels: { house/two: { endpoints: ${endpoints} } }`;
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators(yaml)]);
  const response = await ask(gateway, KEY, 'house/two');
  requestId = response.headers.get('x-polygate-request-id') ?? '';
  await response.text();
  for (let count = 0; count < CREDENTIALS; count++) await (await ask(gateway, KEY, 'busy/m')).text();
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

for (const theme of THEMES) {
  test(`an entry of the audit log opens with its values, its key or tag, and its request, in the ${theme} theme`, async () => {
    const admin = adminOf(gateway);
    const name = `audited ${theme}`;
    const { hash } = (await admin('POST', '/keys', { name })).data;
    await admin('PATCH', `/keys/${hash}`, { owner: 'Ada' });
    const tag = `team=${theme}`;
    await admin('PUT', `/tags/${tag}`, { limits: { requests_per_minute: 7 } });
    const visitor = await signInAsAdmin(browser, gateway, `/ui/settings?find=${hash}`, { theme });
    const { page } = visitor;
    const changes = page.getByRole('region', { name: 'Changes' });
    // A cell without a button.
    await changes
      .getByRole('row', { name: /key\.update/ })
      .getByRole('cell')
      .last()
      .click();
    const panel = page.getByRole('dialog');
    await panel.getByText('"owner": "Ada"').waitFor();
    await assertSound(visitor);
    await page.setViewportSize({ width: 390, height: 900 });
    await assertFits(page);
    await page.setViewportSize({ width: 1280, height: 900 });
    // Another window has only the address.
    await page.reload();
    await panel.getByText('"owner": "Ada"').waitFor();
    await panel.getByRole('link', { name: `key ${hash}` }).click();
    await page.getByRole('dialog', { name, exact: true }).waitFor();

    await page.getByRole('dialog').getByRole('link', { name: 'key.update' }).click();
    await page
      .getByRole('dialog', { name: /^Change \d+$/ })
      .getByText('"owner": "Ada"')
      .waitFor();
    await page
      .getByRole('dialog')
      .getByRole('link', { name: /^[\w-]{20,}$/ })
      .click();
    await page.waitForURL(/settings\?find=[\w-]+$/);
    await eventually(gateway, async () => (await changes.getByRole('row').count()) === 2);

    await page.goto(`${gateway.url}/ui/settings?find=${encodeURIComponent(tag)}`);
    await changes.getByRole('button', { name: 'tag.set' }).click();
    await panel.getByRole('link', { name: `tag ${tag}` }).click();
    await page.getByRole('dialog', { name: tag }).waitFor();

    await page.goto(`${gateway.url}/ui/settings?entry=999999999`);
    await panel.getByText('There is no such entry').waitFor();
    await assertSound(visitor);
  });

  test(`a gateway opens with its signs and the endpoints as it knows them, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/health', { theme });
    const { page } = visitor;
    const row = page.getByRole('row', { name: /answers this page/ });
    const id = await row.getByRole('button').innerText();
    await row.getByRole('cell').nth(2).click();
    const panel = page.getByRole('dialog', { name: id });
    await panel.getByText('Answers this page').waitFor();
    const known = panel.getByRole('region', { name: 'Endpoints as it knows them' });
    await known.getByRole('row', { name: /^sandbox\/echo .* 100 % of \d+$/ }).waitFor();
    await assertSound(visitor);
    await page.setViewportSize({ width: 390, height: 900 });
    await assertFits(page);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.reload();
    await known.getByRole('link', { name: 'busy/m#1' }).click();
    await page.getByRole('dialog', { name: 'busy/m#1' }).getByText('credential 1 of 2').waitFor();
    // The panel that it came from goes with the next frame.
    await eventually(gateway, async () => (await page.getByRole('dialog').count()) === 1);
    await page.goto(`${gateway.url}/ui/health?gateway=none`);
    await page.getByRole('dialog', { name: 'none' }).getByText('This gateway does not run any more').waitFor();
    await assertSound(visitor);
  });

  test(`candidates of a request and of Explain lead to their endpoints, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, `/ui/requests?open=${requestId}`, { theme });
    const { page } = visitor;
    const candidates = page.getByRole('region', { name: 'Candidates' });
    await candidates.getByRole('link', { name: 'busy/m' }).nth(1).waitFor();
    await assertSound(visitor);
    await candidates
      .getByRole('row', { name: /busy\/m credential 2/ })
      .getByRole('link')
      .click();
    await page.getByRole('dialog', { name: 'busy/m#2' }).getByText('credential 2 of 2').waitFor();
    await page.goto(`${gateway.url}/ui/explain?model=house/two`);
    await candidates.getByRole('link', { name: 'sandbox/echo' }).waitFor();
    await assertSound(visitor);
    await page.goto(`${gateway.url}/ui/explain?model=sandbox/reasoner`);
    await candidates.getByRole('link', { name: 'sandbox/reasoner' }).click();
    const unused = page.getByRole('dialog', { name: 'sandbox/reasoner' });
    await unused.getByText('This endpoint was not used in the last day').waitFor();
    await unused.getByRole('link', { name: 'sandbox/reasoner' }).waitFor();
    await assertSound(visitor);
  });
}

test('the holder of a key sees names of candidates, and no links', async () => {
  const { page } = await signInWithKey(browser, gateway, KEY, `/ui/requests?open=${requestId}`);
  const candidates = page.getByRole('region', { name: 'Candidates' });
  await candidates.getByRole('row', { name: /busy\/m credential 2/ }).waitFor();
  assert.equal(await candidates.getByRole('link').count(), 0);
});
