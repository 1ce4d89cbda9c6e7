/** All that an operator does at an address of the admin API alone, where others reach the address of clients. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { assertSound, openBrowser, signInAsAdmin, startGatewayForOperators, type Theme, visit } from './browser.ts';

const PUBLIC_URL = 'https://gw.example.com';

let browser: Browser;
let gateway: TestGateway;
let operators: { url: string };

before(async () => {
  [browser, gateway] = await Promise.all([
    openBrowser(),
    startGatewayForOperators(`server: { public_url: "${PUBLIC_URL}" }`),
  ]);
  operators = { url: gateway.adminUrl };
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const theme of ['light', 'dark'] satisfies Theme[]) {
  test(`models are listed, found and called, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, operators, '/ui/models', { theme });
    const { page } = visitor;
    await page
      .getByRole('row', { name: /sandbox.echo/ })
      .first()
      .waitFor();
    await assertSound(visitor);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find' }).fill('tools');
    await page.locator('[data-active-item]', { hasText: 'sandbox/tools' }).waitFor();
    await page.keyboard.press('Enter');
    const details = page.getByRole('dialog');
    await details.getByText(`${PUBLIC_URL}/v1/chat/completions`).waitFor();
    await page.goto(`${operators.url}/ui/playground?wire=messages&models=sandbox/echo&view=wire`);
    await page.getByLabel('User').fill('From the address of operators');
    await page.keyboard.press('Control+Enter');
    const card = page.getByRole('region', { name: 'sandbox/echo' });
    await card.getByRole('heading', { name: /What went upstream/ }).waitFor();
    await card.getByRole('button', { name: 'Code' }).click();
    await card.getByText(PUBLIC_URL).first().waitFor();
    await assertSound(visitor);
  });
}

test('setup, new keys and videos show the address of clients', async () => {
  const visitor = await signInAsAdmin(browser, operators, '/ui/setup');
  const { page } = visitor;
  await page.getByText(`${PUBLIC_URL}/v1/chat/completions`).waitFor();
  await page.goto(`${operators.url}/ui/videos`);
  await page.getByText(`curl ${PUBLIC_URL}/v1/videos`).waitFor();
  await page.goto(`${operators.url}/ui/keys?create=true`);
  await page.getByLabel('Name', { exact: true }).fill('made-by-an-operator');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText(`${PUBLIC_URL}/v1`).first().waitFor();
  assert.equal(await mentions(page, operators.url), false);
  await assertSound(visitor);
});

test('every page opens without a fault', async () => {
  const visitor = await signInAsAdmin(browser, operators);
  const { page } = visitor;
  const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
  const names = await links.allTextContents();
  assert.ok(names.length > 10);
  for (const name of names) {
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.waitForLoadState('networkidle');
    await assertSound(visitor);
  }
});

test('a key does not sign in, and nobody sees models', async () => {
  const visitor = await visit(browser, `${operators.url}/ui/models`);
  const { page } = visitor;
  await page.getByLabel('Admin token', { exact: true }).fill(KEY);
  assert.equal(await page.getByText('See the models without a key').count(), 0);
  await assertSound(visitor);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('The code, token or key is wrong').waitFor();
});

function mentions(page: Page, text: string): Promise<boolean> {
  return page.evaluate<boolean>(`document.body.innerText.includes(${JSON.stringify(text)})`);
}
