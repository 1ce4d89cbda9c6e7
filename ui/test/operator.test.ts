/** Pages of operators: a link opens a session; keys are made, used, rotated and revoked; use is shown by key and model. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { eventually } from '../../test/gateway/video-client.ts';
import {
  adminOf,
  ask,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayForOperators,
  type Theme,
  visit,
} from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

test('a one-time link opens a session once, and its code is gone from the address', async () => {
  const admin = await signInAsAdmin(browser, gateway);
  const url = await admin.page.evaluate<string>(`(async () => {
    const headers = { 'content-type': 'application/json', 'x-polygate-ui': '1' };
    const response = await fetch('/ui/session/links', { method: 'POST', headers, body: '{"role":"viewer"}' });
    return (await response.json()).data.url;
  })()`);
  const visitor = await visit(browser, url);
  await visitor.page.getByRole('heading', { name: 'Use and cost' }).waitFor();
  assert.equal(new URL(visitor.page.url()).hash, '');
  await visitor.page.getByRole('link', { name: 'Keys' }).click();
  await visitor.page.getByRole('cell', { name: /test/ }).first().waitFor();
  assert.equal(await visitor.page.getByRole('button', { name: 'Create a key' }).count(), 0, 'a viewer changes nothing');
  assert.deepEqual(visitor.faults, []);
  const second = await visit(browser, url);
  await second.page.getByRole('alert').getByText('wrong, or no longer valid').waitFor();
});

test('a key is made beside the equal command, used, and its first request is seen', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/keys');
  const { page } = visitor;
  const secret = await createKey(page, 'laptop');
  await assertSound(visitor);
  await page.locator('[data-spoken]').filter({ hasText: 'Waiting for its first request' }).waitFor();
  assert.equal((await ask(gateway, secret)).status, 200);
  await page.locator('[data-spoken]').filter({ hasText: 'Its first request has come.' }).waitFor();
  await page.getByRole('button', { name: 'I have the key' }).click();
  await page.getByRole('cell', { name: /laptop/ }).waitFor();
  await page.getByText('$25.00').first().waitFor();
  await assertSound(visitor);
});

test('what the gateway refuses is said at the field', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/keys?create=true');
  const { page } = visitor;
  await page.getByLabel('Name', { exact: true }).fill('wrong');
  await page.getByLabel('Monthly budget').fill('much');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('must be USD as a decimal string').first().waitFor();
});

test('a tag without a value is refused at the field', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/keys?create=true');
  await page.getByLabel('Name', { exact: true }).fill('half a tag');
  await page.getByLabel('Tags').fill('team');
  await page.getByText(/--tag team=$/).waitFor();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByLabel('Tags').and(page.locator('[aria-invalid=true]')).waitFor();
  assert.deepEqual((await adminOf(gateway)('GET', '/keys?name=half%20a%20tag')).data, []);
});

/** Secrets that a dialog shows. */
const secretsIn = (page: Page) => page.getByRole('dialog').getByText(/\bsk-pg-[\w-]{20,}/);

/** Answers to a method at a path wait until they are let go. */
async function hold(page: Page, path: string, method: string): Promise<{ asked: Promise<void>; letGo(): void }> {
  const [asked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() === method) {
      asked.resolve();
      await free.promise;
    }
    await route.continue();
  });
  return { asked: asked.promise, letGo: free.resolve };
}

for (const [form, path, fill, send] of [
  ['create=true', '/admin/v1/keys', 'Name', 'Create'],
  ['create=several', '/admin/v1/keys/bulk', 'Names or CSV', 'Create them'],
] as const) {
  test(`the secret of a late answer is shown, also if ${send} is followed by Escape and a click beside`, async () => {
    const { page } = await signInAsAdmin(browser, gateway, `/ui/keys?${form}`);
    const answer = await hold(page, path, 'POST');
    await page.getByLabel(fill, { exact: fill === 'Name' }).fill(`late ${send}`);
    await page.getByRole('button', { name: send, exact: true }).click();
    await answer.asked;
    await leaveDialog(page);
    answer.letGo();
    await secretsIn(page).first().waitFor();
  });
}

test('the secret of a late rotation is shown, also if it is followed by Escape and a click beside', async () => {
  const { data } = await adminOf(gateway)('POST', '/keys', { name: 'late rotation' });
  const { page } = await signInAsAdmin(browser, gateway, `/ui/keys?open=${data.hash}`);
  const answer = await hold(page, `/admin/v1/keys/${data.hash}/rotate`, 'POST');
  await page.getByRole('button', { name: 'Rotate …' }).click();
  await page.getByRole('button', { name: 'Rotate the key' }).click();
  await answer.asked;
  await leaveDialog(page);
  await leaveDialog(page);
  answer.letGo();
  await secretsIn(page).first().waitFor();
});

async function leaveDialog(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await page.mouse.click(5, 5);
}

test('a key is rotated, disabled and revoked by its name, and the old secret ends', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/keys');
  const { page } = visitor;
  const secret = await createKey(page, 'short-lived');
  assert.equal((await ask(gateway, secret)).status, 200);
  await page.locator('[data-spoken]').filter({ hasText: 'Its first request has come.' }).waitFor();
  await page.getByRole('button', { name: 'I have the key' }).click();
  await page.getByRole('button', { name: /short-lived/ }).click();
  await page.getByRole('button', { name: 'Rotate …' }).click();
  const rotation = page.getByRole('dialog', { name: 'Rotate short-lived' });
  await rotation.getByLabel('Hours for which the old secret stays valid').fill('721');
  await rotation.getByRole('button', { name: 'Rotate the key' }).click();
  await rotation.getByRole('alert').getByText('overlap').waitFor();
  visitor.faults.length = 0;
  await rotation.getByLabel('Hours for which the old secret stays valid').fill('2');
  await rotation.getByRole('button', { name: 'Rotate the key' }).click();
  const renewed = page.getByRole('dialog', { name: /new secret/ });
  const tick = renewed.locator('[data-spoken]');
  await tick.filter({ hasText: 'Waiting for its first request' }).waitFor();
  // The old secret is still valid; that it is used is known of the key, and is no use of the new one.
  const { hash } = (await adminOf(gateway)('GET', '/keys?search=short-lived')).data[0];
  const rotatedAt = Date.now();
  const oldUse = async () =>
    Date.parse((await adminOf(gateway)('GET', `/requests?key=${hash}&limit=1`)).data[0].started_at) >= rotatedAt;
  assert.equal((await ask(gateway, secret)).status, 200);
  await eventually({}, oldUse);
  const look = () => page.waitForResponse(/\/admin\/v1\/keys\?search=/);
  for (let looks = 0; looks < 3; looks++) await look();
  await tick.filter({ hasText: 'Waiting for its first request' }).waitFor();
  const newSecret =
    (await renewed
      .getByText(/^sk-pg-\S+$/)
      .first()
      .textContent()) ?? '';
  assert.equal((await ask(gateway, newSecret)).status, 200);
  await tick.filter({ hasText: 'Its first request has come.' }).waitFor();
  const { data } = await adminOf(gateway)('GET', '/keys?search=short-lived');
  assert.ok(data[0].secret_last_used_at);
  const until = data[0].previous_until;
  const hours = (Date.parse(until) - Date.now()) / 3_600_000;
  assert.ok(hours > 1.5 && hours <= 2, `${hours} hours`);
  await page.getByRole('button', { name: 'I have the key' }).click();
  await assertSound(visitor);
  await page.getByRole('button', { name: 'Revoke …' }).click();
  const revoke = page.getByRole('button', { name: 'Revoke the key' });
  assert.equal(await revoke.isDisabled(), true);
  await page.getByLabel('Type short-lived').fill('short-lived');
  await revoke.click();
  await page.getByText('revoked', { exact: true }).first().waitFor();
  assert.equal((await ask(gateway, secret)).status, 401);
});

for (const theme of ['light', 'dark'] satisfies Theme[]) {
  test(`use is drilled into, and its file has the sums that are shown, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/use?by=key&metric=requests', { theme });
    const { page } = visitor;
    await page.getByRole('row', { name: /^test / }).waitFor();
    await assertSound(visitor);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'CSV' }).click(),
    ]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\r\n');
    const total = lines.slice(1).reduce((sum, line) => sum + Number(line.split(',')[2]), 0);
    const shown = await page
      .getByRole('row', { name: /^Total/ })
      .getByRole('cell')
      .nth(1)
      .textContent();
    assert.equal(String(total), shown);
    await page.getByRole('button', { name: 'test', exact: true }).click();
    await page.getByRole('row', { name: /^sandbox.echo/ }).waitFor();
    assert.match(page.url(), /by=model/);
    await page.getByRole('button', { name: 'As table' }).click();
    await assertSound(visitor);
  });
}

async function createKey(page: Page, name: string): Promise<string> {
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name').and(page.locator(':focus')).fill(name);
  await page.getByLabel('Monthly budget').fill('25.00');
  await page.getByText(`--name ${name}`).waitFor();
  await page.getByText('--budget month=25.00').waitFor();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  return (
    (await page
      .getByRole('dialog')
      .getByText(/^sk-pg-\S+$/)
      .first()
      .textContent()) ?? ''
  );
}
