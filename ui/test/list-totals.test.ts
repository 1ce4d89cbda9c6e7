/** Videos, webhooks, the audit log and sessions: how many there are, a search, and the pages after the first one. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { Store } from '../../src/store/store.ts';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { createVideoClock, videoClient } from '../../test/gateway/video-client.ts';
import {
  adminOf,
  assertFits,
  assertSound,
  downloadedRows,
  openBrowser,
  signInAsAdmin,
  startGatewayWithPages,
  THEMES,
  TOKEN,
  visit,
} from './browser.ts';

/** More than a page of any list. */
const COUNT = 60;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  let store: Store | undefined;
  [browser, gateway] = await Promise.all([
    openBrowser(),
    startGatewayWithPages(`admin: { token: ${TOKEN}, port: 0 }`, {
      clock: createVideoClock(),
      wrapStore(opened) {
        store = opened;
        return opened;
      },
    }),
  ]);
  const client = videoClient(gateway);
  for (let index = 0; index < COUNT; index++) await client.create({ prompt: `Boat number ${index}`, seed: index });
  const { data } = await adminOf(gateway)('GET', '/keys?name=test');
  await store?.call('addNotices', {
    notices: Array.from({ length: COUNT }, (_, index) => ({
      id: `task-${index}-completed`,
      taskId: `task-${index}`,
      owner: data[0].hash,
      url: `https://${index % 2 === 0 ? 'even' : 'odd'}.example/hook`,
      body: Buffer.from('{}'),
      createdAt: 1_700_000_000_000 + index,
    })),
  });
  for (let index = 0; index < 30; index++) await adminOf(gateway)('POST', '/keys', { name: `k-${index}` });
  await adminOf(gateway)('PUT', '/tags/team=search', { budgets: { month: '5.00' } });
  const headers = { 'content-type': 'application/json', 'x-polygate-ui': '1', origin: gateway.url };
  for (let index = 0; index < COUNT; index++) {
    const body = JSON.stringify({ token: TOKEN });
    assert.equal((await fetch(`${gateway.url}/ui/session`, { method: 'POST', headers, body })).status, 201);
  }
});
after(() => Promise.all([browser.close(), gateway.close()]));

const waitForCount = (page: Page, text: string | RegExp) => page.locator('[data-spoken]').getByText(text).waitFor();

for (const theme of THEMES) {
  test(`videos and webhooks are counted and searched, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/videos?view=list', { theme, width: 390 });
    const { page } = visitor;
    await waitForCount(page, `24 of ${COUNT}`);
    await page.getByRole('searchbox').fill('NUMBER 17');
    await waitForCount(page, '1 of 1');
    await page.waitForURL(/find=NUMBER/);
    await page.getByRole('row', { name: /Boat number 17/ }).waitFor();
    await assertSound(visitor);
    await assertFits(page);
    await page.getByRole('searchbox').fill('no such boat');
    await page.getByText('No video is like that').waitFor();
    await page.goto(`${gateway.url}/ui/webhooks`);
    await waitForCount(page, `20 of ${COUNT}`);
    await page.getByRole('searchbox').fill('odd.ex');
    await waitForCount(page, `20 of ${COUNT / 2}`);
    await page.getByRole('button', { name: 'Older' }).click();
    await waitForCount(page, `30 of ${COUNT / 2}`);
    assert.equal(await page.getByRole('row', { name: /even\.example/ }).count(), 0);
    await assertSound(visitor);
    await assertFits(page);
  });

  test(`sessions come in pages, and the audit log is searched, in the ${theme} theme`, async () => {
    // The newest session is the first of the list.
    gateway.clock?.advance(1000);
    const visitor = await signInAsAdmin(browser, gateway, '/ui/settings', { theme });
    const { page } = visitor;
    const sessions = page.getByRole('region', { name: 'Sessions', exact: true });
    const [, all] = /^50 of (\d+)$/.exec(await sessions.getByText(/^50 of \d+$/).innerText()) ?? [];
    await sessions.getByRole('row', { name: /this one/ }).waitFor();
    await sessions.getByRole('button', { name: 'Older' }).click();
    await sessions.getByText(`${all} of ${all}`).waitFor();
    const log = page.getByRole('region', { name: 'Audit log', exact: true });
    await log.getByText(/^20 of \d+$/).waitFor();
    await log.getByRole('searchbox').fill('tag.');
    await log.getByText('1 of 1').waitFor();
    await log.getByRole('row', { name: /team=search/ }).waitFor();
    await assertSound(visitor);
    await log.getByRole('searchbox').fill('nobody');
    await log.getByText('No change is like that').waitFor();
  });

  test(`the audit log is searched by its address, and its file has all that is found, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/settings?find=key.create', { theme });
    const { page } = visitor;
    const log = page.getByRole('region', { name: 'Audit log', exact: true });
    assert.equal(await log.getByRole('searchbox').inputValue(), 'key.create');
    const [, all] = /^20 of (\d+)$/.exec(await log.getByText(/^20 of \d+$/).innerText()) ?? [];
    const rows = await downloadedRows(page, () => log.getByRole('link', { name: 'CSV' }).click());
    assert.equal(rows.length, Number(all));
    assert.ok(Number(all) > 20 && rows.every(({ action }) => action === 'key.create'));
    await log.getByRole('searchbox').fill('tag.');
    await log.getByText('1 of 1').waitFor();
    await page.waitForURL(/\/ui\/settings\?find=tag\.$/);
    await log.getByRole('searchbox').fill('');
    await page.waitForURL(/\/ui\/settings$/);
    await assertSound(visitor);
  });
}

test('the holder of a key searches its videos, and sees no audit log', async () => {
  const { page } = await visit(browser, `${gateway.url}/ui/videos`);
  await page.getByLabel(/API key/).fill(KEY);
  await page.keyboard.press('Enter');
  await waitForCount(page, `24 of ${COUNT}`);
  await page.getByRole('searchbox').fill('number 1');
  await waitForCount(page, '11 of 11');
  await page.goto(`${gateway.url}/ui/settings`);
  await page.getByRole('heading', { name: 'About' }).waitFor();
  assert.equal(await page.getByText('Audit log').count(), 0);
});
