/** What applies to a key on the pages of operators and of its holder: limits and budgets of the defaults and of its tags. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import {
  adminOf,
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayWithPages,
  THEMES,
  TOKEN,
} from './browser.ts';

const KEY = 'sk-test-of-exact-0123456789';
/** USD of 24 requests for 5,000, the most that one is charged, and one more: as a number it would lose its last digit. */
const SPENT = '$123,456.000000000001';
const PRICES = { echo: '5000', tools: '3456.000000000001' };

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  const models = Object.entries(PRICES).map(
    ([id, request]) => `{ id: ${id}, pricing: { prompt: "0", completion: "0", request: "${request}" } }`,
  );
  const yaml = `admin: { token: ${TOKEN}, port: 0 }
key_defaults: { limits: { requests_per_minute: 60 }, budgets: { total: "900000" }, tags: { stage: test, size: s } }
tags: { team=search: { limits: { concurrent_requests: 20 }, budgets: { total: "800000" } } }
providers: { sandbox: { type: sandbox, models: [${models}] } }
`;
  const settings = `{ name: exact, key: ${KEY}, tags: { team: search, env: prod, stage: null, size: null }, limits: { concurrent_requests: 4 },
    models: ["sandbox/*"], surfaces: [chat], cidrs: ["127.0.0.0/8", "::/0"], model_limits: { "sandbox/e*": { requests_per_minute: 50 } } }`;
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayWithPages(yaml, { keys: [settings] })]);
  for (const model of [...Array<string>(24).fill('echo'), 'tools']) {
    assert.equal((await ask(gateway, KEY, `sandbox/${model}`)).status, 200);
  }
});
after(() => Promise.all([browser.close(), gateway.close()]));

const BAR = /^14 % of the budget in all is spent, \$776543\.999999999999 left/;
const TAG_BAR = /^15 % of the budget in all is spent, \$676543\.999999999999 left/;

for (const theme of THEMES) {
  test(`operators see limits and budgets of the defaults and tags, and all digits, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/keys', { theme });
    const { page } = visitor;
    const row = page.getByRole('row', { name: /^exact/ });
    await row.getByText('60 requests/min (default), 4 concurrent', { exact: true }).waitFor();
    await row.getByText('in all (default)').waitFor();
    await row.getByRole('img', { name: BAR }).waitFor();
    assert.equal(await row.getByText(SPENT).count(), 3, 'beside the bar, this month and in all');

    await row.getByRole('button', { name: /^exact/ }).click();
    const panel = page.getByRole('dialog', { name: 'exact' });
    await panel.getByRole('img', { name: BAR }).waitFor();
    await panel.getByText('$776,543.999999999999 left').waitFor();
    await panel.getByText('60 (default)', { exact: true }).waitFor();
    await panel.getByRole('cell', { name: SPENT, exact: true }).nth(3).waitFor();
    const shared = panel.locator('section', { hasText: 'Shared by all keys with team=search' });
    await shared.getByRole('img', { name: TAG_BAR }).waitFor();
    await shared.getByText('20 concurrent').waitFor();
    await assertSound(visitor);
    await page.setViewportSize({ width: 360, height: 900 });
    await assertFits(page);
    await panel.getByRole('link', { name: 'env=prod' }).click();
    await page.getByRole('dialog', { name: 'env=prod' }).getByText('No budget.').waitFor();
    assert.match(page.url(), /\/ui\/tags\?open=env%3Dprod/);
    await page.goto(`${gateway.url}/ui/tags?open=team%3Dsearch`);
    const tag = page.getByRole('dialog', { name: 'team=search' });
    await tag.getByRole('cell', { name: SPENT, exact: true }).nth(3).waitFor();
  });

  test(`the holder of a key sees what it may do, and all digits, in the ${theme} theme`, async () => {
    const visitor = await signInWithKey(browser, gateway, KEY, '/ui/key', { theme });
    const { page } = visitor;
    const spent = page.locator('dd', { hasText: SPENT }).first();
    await spent.waitFor();
    const isCut = (one: { scrollWidth: number; clientWidth: number }) => one.scrollWidth > one.clientWidth;
    assert.equal(await spent.evaluate(isCut), false, 'all digits of the sum');
    const limits = page.getByRole('region', { name: 'Limits' });
    await limits.getByRole('img', { name: BAR }).waitFor();
    await limits.getByRole('img', { name: TAG_BAR }).waitFor();
    assert.equal(await limits.getByText(SPENT, { exact: true }).count(), 2);
    await limits.getByText('$776,543.999999999999 left').waitFor();
    for (const [name, value] of [
      ['sandbox/e*', '50 requests/min'],
      ['Models', 'sandbox/*'],
      ['Surfaces', 'chat'],
      ['Addresses', '127.0.0.0/8, ::/0'],
      ['Read only', 'no'],
    ] as const) {
      const fact = limits.locator('dl > div').filter({ has: page.getByText(name, { exact: true }) });
      await fact.getByText(value, { exact: true }).waitFor();
    }
    await assertSound(visitor);
    await page.setViewportSize({ width: 360, height: 900 });
    await assertFits(page);
  });
}

test('a new key has the default tags, which the form shows, changes and removes', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/keys?create=true');
  const { page } = visitor;
  const form = page.getByRole('dialog', { name: 'Create a key' });
  const tags = form.getByLabel('Tags');
  await form.getByText('size=s, stage=test (default)').waitFor();
  assert.equal(await tags.inputValue(), 'size=s, stage=test');
  await form.getByLabel('Name', { exact: true }).fill('with-defaults');
  assert.equal(await form.getByText(/--tag/).count(), 0, 'the command has them without saying so');
  await tags.fill('stage=live');
  await form.getByText('--tag stage=live size=').waitFor();
  await assertSound(visitor);
  await form.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('button', { name: 'I have the key' }).click();
  await page
    .getByRole('row', { name: /^with-defaults/ })
    .getByText('stage=live', { exact: true })
    .waitFor();
  const { data } = await adminOf(gateway)('GET', '/keys?name=with-defaults');
  assert.deepEqual(data[0].tags, { stage: 'live' });
});
