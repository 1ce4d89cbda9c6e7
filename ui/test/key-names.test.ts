/** Names of keys: wherever a key stands on the page of use, in its chart and in a filter, it has its name. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { assertSound, openBrowser, signInAsAdmin, startGatewayForOperators } from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

test('a key has its name in the legend, the figures, the table and the filter, and its hash nowhere', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/use?by=key&metric=requests');
  const { page } = visitor;
  await page.getByRole('row', { name: /^test 3 / }).waitFor();
  const chart = page.getByRole('figure');
  await chart.getByRole('listitem').getByText('test', { exact: true }).waitFor();
  await page.getByRole('img', { name: /^Course of test: Requests per hour 0 to 3 \(\d\d:\d\d\), last \d$/ }).waitFor();
  await chart.getByRole('button', { name: 'As table' }).click();
  await chart.getByRole('columnheader', { name: 'test' }).waitFor();
  assert.equal(await page.getByText('config:test').count(), 0);
  await page.getByRole('row', { name: /^test/ }).getByRole('button').click();
  await page.getByRole('button', { name: /^key: test/ }).waitFor();
  assert.equal(await page.getByText('config:test').count(), 0);
  await page.goto(`${gateway.url}/ui/requests?key=config:test`);
  await page.getByRole('button', { name: /^key: test/ }).waitFor();
  await assertSound(visitor);
});
