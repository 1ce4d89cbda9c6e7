/** What was typed or is shown once is not lost, and a refusal leads to its field. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { adminOf, openBrowser, signInAsAdmin, signInWithKey, startGatewayForOperators } from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

test('Setup asks before a key is lost that was made there, until its first request', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/setup');
  await page.getByLabel('Or make one, named').fill('forms');
  await page.getByRole('button', { name: 'Make a key' }).click();
  const secret = page.locator('code', { hasText: /^sk-pg-/ }).first();
  await secret.waitFor();
  const asked: string[] = [];
  page.on('dialog', (dialog) => {
    asked.push(dialog.message());
    void dialog.dismiss();
  });
  await page.getByRole('button', { name: 'LangChain', exact: true }).click();
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await secret.waitFor();
  assert.equal(asked.length, 1);
  assert.match(asked[0] ?? '', /only on this page/);
  await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await secret.innerText()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  await page.getByText('It has come').waitFor();
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await page.getByRole('heading', { name: 'Models' }).waitFor();
  assert.equal(asked.length, 1);
});

test('a refused form leads to the field that is wrong', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/keys');
  await page.getByRole('button', { name: 'Create a key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('wrong');
  await dialog.getByLabel(/^Monthly budget/).fill('much');
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  await dialog
    .getByText(/must be USD/)
    .first()
    .waitFor();
  await waitForFocus(page, /^Monthly budget/);
  await dialog.getByLabel(/^Monthly budget/).fill('');
  await dialog.getByText('Advanced').click();
  await dialog.getByLabel(/^Addresses/).fill('nowhere');
  await dialog.getByText('Advanced').click();
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  await waitForFocus(page, /^Addresses/);
  assert.equal(await dialog.getByLabel(/^Addresses/).getAttribute('aria-invalid'), 'true');
});

test('where there are no requests, no share of them failed', async () => {
  const { key } = await adminOf(gateway)('POST', '/keys', { name: 'unused' });
  const { page } = await signInWithKey(browser, gateway, key, '/ui/key');
  for (const path of ['/ui/key', '/ui/requests']) {
    await page.goto(gateway.url + path);
    const figure = page.locator('dl > div', { has: page.getByText('Failed', { exact: true }) }).first();
    await figure.getByText('—').waitFor();
    assert.doesNotMatch(await figure.innerText(), /%/);
  }
});

/** Resolves when the field with this name has the focus. */
async function waitForFocus(page: Page, name: RegExp): Promise<void> {
  await page.locator('label:has(:focus)', { hasText: name }).waitFor();
}
