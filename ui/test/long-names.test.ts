/** Long names: they end within their column, and no page gets wider for them. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { adminOf, assertFits, assertSound, openBrowser, signInAsAdmin, startGatewayForOperators } from './browser.ts';

const NARROW = 390;
const OWNER = 'first.and.last.name.of.somebody@a-department.of-a-company.example.com';
const TAG = ['cost-centre-of-a-department', 'a-value-that-is-as-long-as-its-name-0123456789'] as const;

/** Runs in the page: texts of the cells whose content does not fit. */
const WIDER_THAN_THEIR_COLUMN = `[...document.querySelectorAll('tbody td')]
  .filter((cell) => cell.scrollWidth > cell.clientWidth)
  .map((cell) => cell.textContent)`;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
  await adminOf(gateway)('POST', '/keys', { name: 'long', owner: OWNER, tags: { [TAG[0]]: TAG[1] } });
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const [path, list] of [
  ['/ui/keys', 'Keys'],
  ['/ui/tags', 'Tags'],
] as const) {
  test(`the list of ${list} keeps long names in their columns`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, path);
    const { page } = visitor;
    await page.getByRole('region', { name: list }).getByRole('row', { name: TAG[1] }).waitFor();
    assert.deepEqual(await page.evaluate<string[]>(WIDER_THAN_THEIR_COLUMN), []);
    await page.setViewportSize({ width: NARROW, height: 900 });
    await assertFits(page);
    await assertSound(visitor);
  });
}
