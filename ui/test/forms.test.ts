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

test('a second click on a form that is being sent sends nothing, so that its answer is shown', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/keys?create=true');
  const sent: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
  await page.getByLabel('Name', { exact: true }).fill('clicked-twice');
  await page.getByRole('button', { name: 'Create', exact: true }).dblclick();
  await secretIn(page).waitFor();
  assert.equal(sent.length, 1);
});

test('a form keeps what was typed while what is behind it cannot be read again', async () => {
  const { data } = await adminOf(gateway)('POST', '/keys', { name: 'read-again' });
  const { page } = await signInAsAdmin(browser, gateway, `/ui/keys?open=${data.hash}`);
  await page.clock.install();
  await page.reload();
  await page.getByRole('button', { name: 'Change …' }).click();
  const owner = page.getByRole('dialog', { name: 'Change read-again' }).getByLabel('Owner');
  await owner.fill('Ana');
  await page.route(`**/keys/${data.hash}`, (route) => route.abort());
  await page.clock.fastForward(60_000);
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))');
  await page.clock.runFor(5000);
  await page.getByText('Shown is what was there').first().waitFor();
  assert.equal(await owner.inputValue(), 'Ana');
});

test('the new secret of a key stays in view while the key cannot be read again', async () => {
  const { data } = await adminOf(gateway)('POST', '/keys', { name: 'rotated' });
  const { page } = await signInAsAdmin(browser, gateway, `/ui/keys?open=${data.hash}`);
  await page.getByRole('button', { name: 'Rotate …' }).click();
  await page.route(`**/keys/${data.hash}`, (route) => route.abort());
  await page.getByRole('button', { name: 'Rotate the key' }).click();
  await secretIn(page).waitFor();
  await page.getByText('Shown is what was there').first().waitFor();
  assert.equal(await secretIn(page).count(), 1);
});

/** With what it opens at, and what is typed first. */
const FORMS = {
  'a key': ['/ui/keys?create=true', 'Name'],
  'several keys': ['/ui/keys?create=several', 'Names or CSV'],
  'limits of a tag': ['/ui/tags?edit=true', 'Tag'],
} as const;

for (const [name, [path, label]] of Object.entries(FORMS)) {
  test(`the form of ${name} begins in its first field, and a click beside it does not close it`, async () => {
    const { page } = await signInAsAdmin(browser, gateway, path);
    await waitForFocus(page, new RegExp(`^${label}`));
    await page.keyboard.type('typed');
    await page.mouse.click(5, 500);
    await page.waitForTimeout(300);
    const field = page.getByRole('dialog').locator('label', { hasText: label }).first().locator('input, textarea');
    assert.equal(await field.inputValue(), 'typed');
  });
}

test('the dialog that revokes a key begins in the field for its name', async () => {
  const { data } = await adminOf(gateway)('POST', '/keys', { name: 'revoked' });
  const { page } = await signInAsAdmin(browser, gateway, `/ui/keys?open=${data.hash}`);
  await page.getByRole('button', { name: 'Revoke …' }).click();
  await waitForFocus(page, /^Type revoked/);
});

test('words that are typed while the key of a filter is looked for stay', async () => {
  await adminOf(gateway)('POST', '/keys', { name: 'looked-for' });
  const { page } = await signInAsAdmin(browser, gateway, '/ui/requests?paused=true');
  const answer = Promise.withResolvers<void>();
  await page.route(/\/admin\/v1\/keys\?.*looked-for/, async (route) => {
    await answer.promise;
    await route.continue();
  });
  const field = page.getByRole('textbox', { name: 'Filter' });
  await field.fill('key:looked-for');
  await field.press('Enter');
  await field.fill('slower:2000');
  answer.resolve();
  await page.waitForURL(/key=/);
  assert.equal(await field.inputValue(), 'slower:2000');
  await field.press('Enter');
  await page.waitForURL(/slower_than=2000/);
  assert.equal(await field.inputValue(), '');
});

test('a dialog that is opened again has no error of before', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/requests?paused=true');
  const alert = page.getByRole('dialog').getByRole('alert');
  await page.route('**/admin/v1/views/*', (route) => route.abort());
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByLabel('Name of what is shown now').fill('refused');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await alert.waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('dialog').waitFor();
  assert.equal(await alert.count(), 0);

  await adminOf(gateway)('PATCH', '/tags/team=again', { budgets: { day: '1.00' } });
  await page.goto(`${gateway.url}/ui/tags?open=team%3Dagain`);
  await page.route('**/admin/v1/tags/team%3Dagain', (route) =>
    route.request().method() === 'DELETE' ? route.abort() : route.continue(),
  );
  await page.getByRole('button', { name: 'Remove …' }).click();
  await page.getByRole('button', { name: 'Remove limits and budgets' }).click();
  await alert.waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Remove …' }).click();
  await page.getByRole('button', { name: 'Remove limits and budgets' }).waitFor();
  assert.equal(await alert.count(), 0);
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

const secretIn = (page: Page) => page.getByRole('dialog').locator('code', { hasText: /^sk-pg-\S+$/ });

/** Resolves when the field with this name has the focus. */
async function waitForFocus(page: Page, name: RegExp): Promise<void> {
  await page.locator('label:has(:focus)', { hasText: name }).waitFor();
}
