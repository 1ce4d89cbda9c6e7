/** Frame of all pages: what answers them, and the search that every page has. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { version } from '../../src/core/version.ts';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import {
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayForOperators,
  THEMES,
} from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const theme of THEMES) {
  test(`operators see version, number of gateways and store on every page, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/use', { theme });
    const { page } = visitor;
    const environment = page.getByRole('link', { name: `${version} 1 gateway, SQLite` });
    await environment.waitFor();
    await assertSound(visitor);
    await environment.click();
    await page.getByRole('heading', { name: 'Health' }).waitFor();
    await page.getByRole('button', { name: 'Hide the words of the rail' }).click();
    await environment.waitFor();
    await page.setViewportSize({ width: 360, height: 900 });
    await assertFits(page);
    await assertSound(visitor);
  });
}

test('the holder of a key is not told of the gateways', async () => {
  const { page } = await signInWithKey(browser, gateway, KEY);
  await page.getByRole('heading', { name: 'My key' }).waitFor();
  await page.getByRole('button', { name: 'Find', exact: true }).waitFor();
  assert.equal(await page.getByText(/gateway, SQLite/).count(), 0);
});

test('/ focuses the search of a page, and opens the palette where there is none', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/keys');
  const palette = page.getByRole('dialog', { name: 'Commands' });
  for (const path of ['/ui/keys', '/ui/videos', '/ui/webhooks', '/ui/settings']) {
    await page.goto(gateway.url + path);
    await page.locator('[data-search]').waitFor();
    await page.keyboard.press('/');
    await page.locator('[data-search]:focus').waitFor();
    assert.equal(await palette.count(), 0);
  }
  for (const [path, title] of [
    ['/ui/use', 'Use and cost'],
    ['/ui/health', 'Health'],
    ['/ui/explain', 'Explain'],
    ['/ui/setup', 'Setup'],
    ['/ui/playground', 'Playground'],
  ] as const) {
    await page.goto(gateway.url + path);
    await page.getByRole('heading', { name: title, level: 1 }).waitFor();
    await page.keyboard.press('/');
    await palette.getByRole('combobox', { name: 'Find' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'hidden' });
  }
});

test('the palette finds a model, a page and a request by its id', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/health');
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  const field = page.getByRole('combobox', { name: 'Find' });
  await field.fill('sandbox/tools');
  await page.getByRole('option', { name: /sandbox\/tools model/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'sandbox/tools' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await field.fill('Configuration');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Configuration', level: 1 }).waitFor();
  const id = await page.evaluate<string>(
    "fetch('/admin/v1/requests?limit=1', { headers: { 'x-polygate-ui': '1' } }).then(async (response) => (await response.json()).data[0].id)",
  );
  await page.keyboard.press('Control+k');
  await field.fill(id);
  await page.getByRole('option', { name: /open the request/ }).click();
  await page.getByRole('dialog', { name: 'Request' }).getByText(id).waitFor();
});
