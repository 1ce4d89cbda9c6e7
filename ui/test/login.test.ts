/** Login with a key, the page of its holder, and the catalog without one. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { assertSound, openBrowser, startGatewayWithPages, type Theme, visit } from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayWithPages()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

test('a wrong key is refused in words, the right one opens the page of its holder', async () => {
  const visitor = await visit(browser, `${gateway.url}/`);
  const { page } = visitor;
  await page.waitForURL('**/ui');
  await assertSound(visitor);
  await page.getByLabel(/API key/).fill('sk-test-no-such-key-0123456789');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('The code, token or key is wrong').waitFor();
  visitor.faults.length = 0; // The browser itself writes the status 401 to the console.
  await page.getByLabel(/API key/).fill(KEY);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'My key' }).waitFor();
  await assertSound(visitor);
});

for (const theme of ['light', 'dark'] satisfies Theme[]) {
  test(`use of the key is shown, in the ${theme} theme`, async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    assert.equal(response.status, 200);
    const visitor = await visit(browser, `${gateway.url}/ui/key`, { theme });
    await visitor.page.getByLabel(/API key/).fill(KEY);
    await visitor.page.keyboard.press('Enter');
    await visitor.page
      .getByRole('region', { name: 'Use by model' })
      .getByRole('cell', { name: 'sandbox/echo' })
      .waitFor();
    await visitor.page.getByRole('button', { name: 'As table' }).click();
    await visitor.page.getByRole('columnheader', { name: 'Cost per hour' }).waitFor();
    await assertSound(visitor);
  });

  test(`models are found, opened by keyboard and compared without a key, in the ${theme} theme`, async () => {
    const visitor = await visit(browser, `${gateway.url}/ui/models`, { theme });
    const { page } = visitor;
    await page.getByRole('searchbox').fill('tools');
    await page.getByRole('button', { name: /^sandbox.tools/ }).waitFor();
    await page.getByRole('button', { name: 'Compare sandbox/tools' }).click();
    await page.getByRole('searchbox').fill('');
    await page.getByRole('button', { name: 'Compare sandbox/echo' }).click();
    await page.getByRole('row', { name: /Tools differs/ }).waitFor();
    await assertSound(visitor);
    await page.locator('body').press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('No AI model').waitFor();
    await assertSound(visitor);
    const address = page.url();
    await page.goto(address);
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  });
}
