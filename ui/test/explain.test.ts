/** Explain: a body of one's own, the reasons with their rules of the documentation, and the switch to the ideal. */

import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import {
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayWithPages,
  THEMES,
  TOKEN,
} from './browser.ts';

const YAML = `admin: { token: ${TOKEN}, port: 0 }
models:
  house/m:
    endpoints:
      - { provider: sandbox, model: echo, data_policy: { zdr: true } }
      - { provider: sandbox, model: tools }`;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayWithPages(YAML)]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const theme of THEMES) {
  test(`a reason leads to the line of the documentation that it comes from, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/explain?model=house/m', { theme });
    const { page } = visitor;
    await page.getByLabel(/^Policy/).fill('{"zdr": true}');
    const row = page.getByRole('row', { name: /sandbox\/tools .*it is not known to keep nothing \(zdr\)/ });
    await row.waitFor();
    await page.getByRole('row', { name: /^1 sandbox\/echo/ }).waitFor();
    await row.getByRole('button', { name: 'the rule' }).click();
    const rule = page.locator('li:focus');
    await rule.getByText(/only endpoints that keep nothing/).waitFor();
    await page.getByText('Excluded endpoints and endpoints in cooldown are skipped.').waitFor();
    await assertSound(visitor);
    await page.setViewportSize({ width: 360, height: 900 });
    await assertFits(page);
  });
}

test('a body of one’s own decides what would be dropped, and what is wrong with it is said', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/explain?model=house/m&protocol=messages');
  const { page } = visitor;
  await page.getByText('Body of the request').click();
  const field = page.getByRole('textbox', { name: 'Body of the request' });
  await field.fill('{"max_tokens": 5, "top_k": 5, "messages": [{"role": "user", "content": "Hello"}]}');
  await page.getByRole('row', { name: /^1 sandbox\/echo .* top_k/ }).waitFor();
  await field.fill('{"max_tokens"');
  await page
    .getByRole('alert')
    .getByText(/The body is no JSON object/)
    .waitFor();
  await field.fill('[1]');
  await page
    .getByRole('alert')
    .getByText(/it has no members/)
    .waitFor();
  await field.fill('');
  await page.getByRole('row', { name: /^1 sandbox\/echo .* — / }).waitFor();
  await page.getByRole('button', { name: 'As if all were well' }).click();
  await page.waitForURL(/ideal=true/);
  await assertSound(visitor);
});
