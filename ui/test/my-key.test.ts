/** Page of a key's holder: its newest requests, its limits and expiry, and the secret of its webhooks, shown when it is asked for. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import {
  adminOf,
  ask,
  assertFits,
  assertSound,
  openBrowser,
  settled,
  signInWithKey,
  startGatewayForOperators,
  THEMES,
} from './browser.ts';

const HOUR_MS = 3_600_000;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const theme of THEMES) {
  test(`a key sees its five newest requests, limits, expiry and secret, in the ${theme} theme`, async () => {
    const settings = { limits: { requests_per_minute: 60 }, budgets: { month: '5.00' }, expires_at: '2999-01-31' };
    const made = await adminOf(gateway)('POST', '/keys', { name: `holder ${theme}`, ...settings });
    for (let count = 0; count < 6; count++) assert.equal((await ask(gateway, made.key)).status, 200);
    const visitor = await signInWithKey(browser, gateway, made.key, '/ui/key', { theme });
    const { page } = visitor;
    const newest = page.getByRole('region', { name: 'Newest requests' });
    await newest.getByRole('row').nth(5).waitFor();
    assert.equal(await newest.getByRole('row').count(), 6, 'a head and five rows');
    const limits = page.getByRole('region', { name: 'Limits' });
    await limits.getByText('60', { exact: true }).waitFor();
    await limits.getByText(/2999|Jan 31/).waitFor();
    await limits.getByRole('img', { name: /of the budget this month is spent|month/ }).waitFor();
    const before = await adminOf(gateway)('GET', `/audit?subject=${made.data.hash}`);
    assert.ok(!before.data.some(({ action }: { action: string }) => action === 'webhook-secret.read'));
    assert.ok(!(await page.locator('body').innerText()).includes('whsec_'));
    const secret = page.getByRole('region', { name: 'Webhook secret' });
    await secret.getByRole('button', { name: 'Reveal' }).click();
    await secret.getByText(made.webhook_secret).waitFor();
    await assertSound(visitor);
    const after = await adminOf(gateway)('GET', `/audit?subject=${made.data.hash}`);
    assert.ok(after.data.some(({ action }: { action: string }) => action === 'webhook-secret.read'));
    await secret.getByRole('button', { name: 'Hide' }).click();
    await secret.getByRole('button', { name: 'Reveal' }).waitFor();
    assert.ok(!(await page.locator('body').innerText()).includes('whsec_'));
    await page.setViewportSize({ width: 360, height: 900 });
    await assertFits(page);
    await newest.getByRole('row').nth(1).getByRole('link').click();
    await page.getByRole('dialog', { name: 'Request' }).getByText('sandbox/echo').first().waitFor();
  });
}

test('a key of the configuration has no secret of its own, and one that may only read shows none', async () => {
  const { page } = await signInWithKey(browser, gateway, KEY);
  const secret = page.getByRole('region', { name: 'Webhook secret' });
  await secret.getByRole('button', { name: 'Reveal' }).click();
  await secret
    .getByRole('alert')
    .getByText(/no webhook secret of its own/)
    .waitFor();
  const made = await adminOf(gateway)('POST', '/keys', { name: 'reader', read_only: true });
  const reader = await signInWithKey(browser, gateway, made.key);
  await reader.page.getByText('This key has made no request yet').waitFor();
  assert.equal(await reader.page.getByRole('region', { name: 'Webhook secret' }).count(), 0);
  await assertSound(reader);
});

test('snippets have a model that the key may use', async () => {
  const made = await adminOf(gateway)('POST', '/keys', { name: 'restricted', models: ['sandbox/t*'] });
  const { page } = await signInWithKey(browser, gateway, made.key, '/ui/key');
  const snippet = page.getByRole('region', { name: 'Connect a program' }).locator('pre');
  await snippet.getByText('sandbox/tools').waitFor();
  assert.ok(!(await snippet.innerText()).includes('sandbox/echo'));
  await page.goto(`${gateway.url}/ui/requests`);
  await page.getByText('No requests yet').waitFor();
  await page.locator('pre').getByText('sandbox/tools').waitFor();
  await page.goto(`${gateway.url}/ui/setup`);
  const program = page.getByRole('region', { name: 'Your program' });
  await program.locator('pre').getByText('sandbox/tools').waitFor();
  await program.getByRole('combobox', { name: 'Model' }).click();
  await page.getByRole('option', { name: 'sandbox/tools' }).waitFor();
  assert.equal(await page.getByRole('option', { name: 'sandbox/echo' }).count(), 0);
});

test('the newest requests are shown by the clock of the chart', async () => {
  const { page } = await signInWithKey(browser, gateway, KEY, '/ui/key', { zone: 'America/Bogota' });
  const time = page.getByRole('region', { name: 'Newest requests' }).locator('time').first();
  const at = new Date((await time.getAttribute('datetime')) ?? '');
  for (const [zone, hours] of [
    ['UTC', 0],
    ['America/Bogota', -5],
  ] as const) {
    await page.getByRole('button', { name: zone }).click();
    const clock = new Date(at.getTime() + hours * HOUR_MS).toISOString().slice(11, 16);
    const text = await settled(
      () => time.innerText(),
      (shown) => shown.includes(clock),
    );
    assert.ok(text.includes(clock), `${text} instead of ${clock} in ${zone}`);
  }
});

for (const name of ['keys', 'tags', 'explain', 'health', 'config']) {
  test(`the address of ${name}, which is for operators, says so and leads on`, async () => {
    const visitor = await signInWithKey(browser, gateway, KEY, `/ui/${name}`);
    const { page } = visitor;
    await page.getByRole('heading', { level: 1, name: 'This page is for operators' }).waitFor();
    await assertSound(visitor);
    await page.getByRole('link', { name: 'To the first page' }).click();
    await page.getByRole('heading', { level: 1, name: 'My key' }).waitFor();
  });
}

test('the address of use, which is for operators, leads to the page of the key', async () => {
  const visitor = await signInWithKey(browser, gateway, KEY, '/ui/use?by=model');
  await visitor.page.getByRole('heading', { level: 1, name: 'My key' }).waitFor();
  await assertSound(visitor);
});
