/** Keys of teams: several made at once, found by owner and tag; use by tag, protocol and status. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { ask, assertSound, openBrowser, signInAsAdmin, startGatewayForOperators, type Theme } from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const theme of ['light', 'dark'] satisfies Theme[]) {
  test(`keys from CSV are saved once, found by tag, and their use is by team, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/keys', { theme });
    const { page } = visitor;
    await page.getByRole('button', { name: 'Create several' }).click();
    await assertSound(visitor);
    const lines = [`${theme}-ana,Ana,${theme}-search`, `${theme}-ben,Ben,${theme}-ads`];
    await page.getByLabel('Names or CSV').fill(['name,owner,tag:team', ...lines].join('\n'));
    await page.getByRole('button', { name: 'Create them' }).click();
    await page.getByRole('dialog', { name: '2 keys' }).waitFor();
    await assertSound(visitor);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    const [head, ana = '', ben = ''] = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\r\n');
    assert.equal(head, 'name,owner,tags,expires,key,webhook_secret,hash');
    assert.ok(ana.startsWith(`${theme}-ana,Ana,team=${theme}-search,,sk-pg-`), ana);
    for (const line of [ana, ana, ben]) assert.equal((await ask(gateway, line.split(',')[4] ?? '')).status, 200);
    await page.getByRole('button', { name: 'I have the keys' }).click();

    await page.getByRole('button', { name: `team=${theme}-ads`, exact: true }).click();
    await page.getByRole('cell', { name: `${theme}-ben` }).waitFor();
    await page.getByRole('cell', { name: `${theme}-ana` }).waitFor({ state: 'detached' });
    assert.match(page.url(), /tag=team/);
    await page.getByRole('button', { name: 'Remove this filter' }).click();
    await page.getByRole('searchbox', { name: 'Search' }).fill('ana');
    await page.getByRole('cell', { name: `${theme}-ana` }).waitFor();
    await page.getByRole('cell', { name: `${theme}-ben` }).waitFor({ state: 'detached' });
    await assertSound(visitor);

    await page.goto(`${gateway.url}/ui/use?by=tag:team&metric=requests`);
    await page.getByRole('row', { name: new RegExp(`^${theme}-ads 1 `) }).waitFor();
    await page.getByRole('row', { name: /^without the tag / }).waitFor();
    await assertSound(visitor);
    await page.getByRole('button', { name: `${theme}-search`, exact: true }).click();
    await page.getByRole('row', { name: /^sandbox.echo 2 / }).waitFor();
    assert.equal(await page.getByRole('row', { name: /^sandbox.tools/ }).count(), 0);
    await page
      .getByRole('button', { name: 'Group' })
      .or(page.getByRole('combobox', { name: 'Group' }))
      .click();
    await page.getByRole('option', { name: 'by status' }).click();
    await page.getByRole('row', { name: /^completed 2 / }).waitFor();
    await page.getByRole('button', { name: 'completed', exact: true }).click();
    await page.goto(`${gateway.url}/ui/use?by=protocol&metric=requests`);
    await page.getByRole('row', { name: /^chat / }).waitFor();
    await assertSound(visitor);
  });
}

test('a wrong line is named, and no key is made', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/keys?create=several');
  const { page } = visitor;
  await page.getByLabel('Names or CSV').fill('name,tag:team\nright,search\nwrong,two words\n');
  await page.getByRole('button', { name: 'Create them' }).click();
  await page.getByText('Line 3: tags.team must').first().waitFor();
  await page.getByLabel('Names or CSV').fill('first name\nsecond, name\n');
  await page.getByRole('button', { name: 'Create them' }).click();
  await page.getByRole('dialog', { name: '2 keys' }).waitFor();
  await page.getByRole('button', { name: 'I have the keys' }).click();
  await page.getByRole('cell', { name: 'second, name' }).waitFor();
  assert.equal(await page.getByRole('cell', { name: 'right' }).count(), 0);
});
