/** Times of pages in a browser whose clock is wrong: they are by the clock of the gateway. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { openBrowser, signInAsAdmin, startGatewayForOperators } from './browser.ts';

const HOUR_MS = 3_600_000;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

async function figureOf(page: Page, label: string): Promise<string> {
  const figure = page.locator('dl > div', { has: page.getByText(label, { exact: true }) }).first();
  await figure.getByText(/\d/).first().waitFor();
  return figure.innerText();
}

for (const hours of [-5, 5]) {
  test(`the clock of the browser is ${hours} hours off`, async () => {
    const { page } = await signInAsAdmin(browser, gateway, '/ui/settings');
    await page.clock.setSystemTime(Date.now() + hours * HOUR_MS);
    await page.goto(`${gateway.url}/ui/requests`);
    await page.getByText('over 5 min').first().waitFor();
    assert.match(await figureOf(page, 'In flight'), /0\.6 req\/min over 5 min/);
    await page.goto(`${gateway.url}/ui/requests?range=1h`);
    await page.getByRole('row', { name: /sandbox\/tools/ }).waitFor();
    await page.goto(`${gateway.url}/ui/use?range=1h`);
    await page.getByText('Requests').first().waitFor();
    assert.match(await figureOf(page, 'Requests'), /\b3\b/);
    await page.goto(`${gateway.url}/ui/health`);
    const ages = page.locator('time', { hasText: /ago|now/ });
    await ages.first().waitFor();
    for (const age of await ages.allInnerTexts()) assert.match(age, /sec|min|now/);
  });
}
