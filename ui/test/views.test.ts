/** Saved views of requests and of use: named, opened after a new start of the browser's page, replaced and removed. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { assertSound, openBrowser, signInAsAdmin, startGatewayForOperators, THEMES } from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const theme of THEMES) {
  test(`a view is saved by a name and found again, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/use?by=tag:team&metric=tokens&range=7d', { theme });
    const { page } = visitor;
    const views = page.getByRole('button', { name: 'Views', exact: true });
    const dialog = page.getByRole('dialog', { name: 'Saved views' });
    await views.click();
    await dialog.getByLabel('Name of what is shown now').and(page.locator(':focus')).fill('Tokens by team');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Tokens by team', exact: true }).waitFor();
    await assertSound(visitor);
    await page.goto(`${gateway.url}/ui/requests?status=failed`);
    await views.click();
    assert.equal(await dialog.getByText('Tokens by team').count(), 0, 'each page has its own');
    await dialog.getByLabel('Name of what is shown now').fill('Failures');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Failures', exact: true }).waitFor();
    await page.goto(`${gateway.url}/ui/use`);
    await views.click();
    await dialog.getByRole('button', { name: 'Tokens by team', exact: true }).click();
    await page.waitForURL(/metric=tokens/);
    assert.match(decodeURIComponent(page.url()), /\/ui\/use\?(?=.*by=tag:team)(?=.*range=7d)/);
    await dialog.waitFor({ state: 'hidden' });
    await views.click();
    await dialog.getByRole('button', { name: 'Remove Tokens by team' }).click();
    await dialog.getByText('Tokens by team').waitFor({ state: 'detached' });
    await assertSound(visitor);
  });
}

test('what is no view in the storage of the browser is passed over', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/use');
  const { page } = visitor;
  for (const text of ['{', '{}', 'null', '[null, 1, {"name": "a", "address": "//evil.example"}, {"name": 1}]']) {
    await page.evaluate(`localStorage.setItem('polygate-views', ${JSON.stringify(text)})`);
    await page.reload();
    await page.getByRole('button', { name: 'Views', exact: true }).click();
    await page.getByRole('dialog', { name: 'Saved views' }).getByLabel('Name of what is shown now').waitFor();
    assert.equal(await page.getByRole('list', { name: 'Saved views' }).count(), 0);
  }
  assert.deepEqual(visitor.faults, []);
});
