/** Settings, and the keyboard of all pages. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import {
  ask,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayForOperators,
  type Theme,
} from './browser.ts';

const ONE_MODEL = `
providers:
  one: { type: openai-compatible, base_url: 'http://127.0.0.1:9/v1', api_key: none, models: [{ id: m }] }`;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators(ONE_MODEL)]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

test('setup shows a few of many providers, and the others on a click', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `account-${index}`);
  const models = Array.from({ length: 30 }, (_, index) => `{ id: m-${index} }`).join(', ');
  const types = ids.map(
    (id) => `${id}: { type: openai-compatible, base_url: 'http://127.0.0.1:9/v1', api_key: none, models: [${models}] }`,
  );
  const other = await startGatewayForOperators(`providers: { ${types.join(', ')} }`);
  try {
    const visitor = await signInAsAdmin(browser, other, '/ui/setup');
    const step = visitor.page.getByRole('region', { name: 'A provider' });
    const rows = step.getByRole('listitem');
    await rows.first().waitFor();
    assert.equal(await rows.count(), 8);
    const all = step.getByRole('button', { name: /^Show all \d+$/ });
    const count = Number((await all.innerText()).match(/\d+/)?.[0]);
    assert.ok(count >= ids.length);
    await all.click();
    assert.equal(await rows.count(), count);
    await step.getByText('account-39', { exact: true }).waitFor();
    await step.getByRole('button', { name: 'Show 8' }).click();
    assert.equal(await rows.count(), 8);
    await assertSound(visitor);
    // Numbers of rows as all others.
    await visitor.page.getByRole('link', { name: 'Models' }).click();
    await visitor.page.getByText(/^1,2\d\d of 1,2\d\d$/).waitFor();
  } finally {
    await other.close();
  }
});

for (const theme of ['light', 'dark'] satisfies Theme[]) {
  test(`sessions are listed and ended, and the theme is chosen, in the ${theme} theme`, async () => {
    const other = await signInWithKey(browser, gateway, KEY, '/ui/settings');
    await other.page.getByRole('row', { name: /key this one/ }).waitFor();
    await assertSound(other);
    const visitor = await signInAsAdmin(browser, gateway, '/ui/settings', { theme });
    const { page } = visitor;
    await page.getByText('Licences of the libraries').click();
    await page.getByText(/react/).first().waitFor();
    await assertSound(visitor);
    const row = page.getByRole('row', { name: /^key test/ }).first();
    await row.getByRole('button', { name: 'End', exact: true }).click();
    await row.waitFor({ state: 'detached' });
    await other.page.reload();
    await other.page.getByLabel(/API key/).waitFor();
    await page.getByRole('button', { name: 'Dark', exact: true }).click();
    assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
  });

  test(`pages, keys, models and requests are reached by keyboard, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/keys', { theme });
    const { page } = visitor;
    await page.getByRole('row', { name: /test/ }).first().waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).getByText('next and previous row').waitFor();
    await assertSound(visitor);
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    assert.equal(await page.getByRole('searchbox').evaluate('document.activeElement?.type'), 'search');
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Keys' }).click();
    await page.keyboard.type('gh');
    await page.getByRole('heading', { name: 'Health' }).waitFor();
    await page.keyboard.type('gr');
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find' }).fill('tools');
    await page.locator('[data-active-item]', { hasText: 'sandbox/tools' }).waitFor();
    await assertSound(visitor);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('sandbox/tools').first().waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find' }).fill('configur');
    await page.locator('[data-active-item]', { hasText: 'Configuration' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Configuration', exact: true }).waitFor();
    await page.keyboard.press('t');
    assert.equal(await page.locator('html').getAttribute('data-theme'), theme === 'light' ? 'dark' : 'light');
    assert.deepEqual(visitor.faults, []);
  });
}

/** Runs in the page. */
const CLOCK_AHEAD = `{
  const { Date: RealDate } = window;
  window.Date = class extends RealDate {
    constructor(...parts) { super(...(parts.length > 0 ? parts : [RealDate.now() + 600_000])); }
    static now() { return RealDate.now() + 600_000; }
  };
}`;

test('the first request is seen by a browser whose clock is ahead, and what fails meanwhile is said', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/settings');
  await page.addInitScript(CLOCK_AHEAD);
  await page.goto(`${gateway.url}/ui/setup`);
  const step = page.getByRole('region', { name: 'Its first request' });
  await step.getByText('Waiting for a request').waitFor();
  const looks = () => page.waitForResponse(/requests\?live=/);
  await looks();
  await looks();
  await step.getByText('Waiting for a request').waitFor();
  await page.route(/\/requests\?/, (route) => route.abort());
  await step.getByRole('alert').getByText('The gateway does not answer').waitFor();
  await page.unrouteAll();
  await step.getByText('Waiting for a request').waitFor();
  assert.equal((await ask(gateway, KEY, 'sandbox/reasoner')).status, 200);
  await step.getByText(/It has come: sandbox.reasoner, completed/).waitFor();
});

test('a key that is made here is waited for, and no other', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/setup');
  await page.getByLabel('Or make one, named').fill('newcomer');
  await page.getByRole('button', { name: 'Make a key' }).click();
  const secret = (await page.getByText(/^sk-pg-\S+$/).textContent()) ?? '';
  const step = page.getByRole('region', { name: 'Its first request' });
  await step.getByText('Waiting for a request with this key').waitFor();
  const looks = () => page.waitForResponse(/requests\?.*live=/);
  await looks();
  assert.equal((await ask(gateway, KEY, 'sandbox/tools')).status, 200);
  for (let count = 0; count < 3; count++) await looks();
  await step.getByText('Waiting for a request with this key').waitFor();
  assert.equal((await ask(gateway, secret, 'sandbox/reasoner')).status, 200);
  await step.getByText(/It has come: sandbox.reasoner, completed/).waitFor();
});

test('what waits does not turn for those who want less motion', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/setup');
  await page.getByRole('main').getByText('Waiting for a request').waitFor();
  const animation = () =>
    page.evaluate<string>("getComputedStyle(document.querySelector('.animate-spin')).animationName");
  assert.equal(await animation(), 'none');
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  assert.equal(await animation(), 'spin');
});

test('one model of a provider is not several', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/setup');
  await page.getByRole('listitem').filter({ hasText: 'one' }).getByText('1 model', { exact: true }).waitFor();
  await page
    .getByRole('listitem')
    .filter({ hasText: 'sandbox' })
    .getByText(/^\d+ models$/)
    .waitFor();
});
