/** Playground over every protocol, explanations and health. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { assertSound, openBrowser, signInAsAdmin, startGatewayForOperators, type Theme, visit } from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const wire of ['chat', 'messages', 'generate', 'responses']) {
  test(`two models answer side by side over ${wire}`, async () => {
    const path = `/ui/playground?wire=${wire}&models=sandbox/echo,sandbox/reasoner`;
    const visitor = await signInAsAdmin(browser, gateway, path, { theme: wire === 'chat' ? 'dark' : 'light' });
    const { page } = visitor;
    await page.getByLabel('User').fill('<b>Ping</b> of a paper boat');
    await page.keyboard.press('Control+Enter');
    for (const model of ['sandbox/echo', 'sandbox/reasoner']) {
      const card = page.getByRole('region', { name: model });
      await card.getByText('<b>Ping</b> of a paper boat').waitFor();
      await card.getByText(/\d out/).waitFor();
    }
    await assertSound(visitor);
    const card = page.getByRole('region', { name: 'sandbox/echo' });
    await card.getByRole('button', { name: 'Wire' }).click();
    await page.waitForURL(/view=wire/);
    await card.getByRole('heading', { name: /What went upstream/ }).waitFor();
    await assertSound(visitor);
  });
}

test('the holder of a key asks with it, and a refusal is said in the words of the gateway', async () => {
  const visitor = await visit(browser, `${gateway.url}/ui/playground?models=sandbox/no-such-model`);
  const { page } = visitor;
  await page.getByLabel(/API key/).fill(KEY);
  await page.keyboard.press('Enter');
  await page.getByLabel('User').fill('Hello');
  await page.getByRole('button', { name: 'Send' }).click();
  await page
    .getByRole('alert')
    .getByText(/no-such-model/)
    .waitFor();
});

for (const theme of ['light', 'dark'] satisfies Theme[]) {
  test(`a request that is only thought of is explained, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/explain?protocol=messages', { theme });
    const { page } = visitor;
    await page.getByRole('row', { name: /1 sandbox.echo/ }).waitFor();
    await page.getByLabel(/Policy/).fill('{"sort": ');
    await page.getByText(/The policy is not JSON/).waitFor();
    await page.getByLabel(/Policy/).fill('{"sort": "price"}');
    await page.getByText(/The policy is not JSON/).waitFor({ state: 'hidden' });
    await page.waitForURL(/sort/);
    await assertSound(visitor);
  });

  test(`endpoints have their times, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/health', { theme });
    const row = visitor.page.getByRole('row', { name: /sandbox.echo/ });
    await row.getByText('well').waitFor();
    assert.match((await row.getByRole('cell').nth(3).textContent()) ?? '', /^\d+$/);
    await assertSound(visitor);
  });
}
