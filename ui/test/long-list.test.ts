/** A list of requests with many rows: only those in view are in the document, and the others come by scrolling or by keyboard. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { assertSound, openBrowser, signInAsAdmin, startGatewayForOperators } from './browser.ts';
import { addRecords, scrollFrames, scrollUntil } from './long-list.ts';

const COUNT = 900;
/** A window of 900 px with its margins has about 50. */
const MOST_ROWS = 80;
const LONG_FRAME_MS = 50;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser({ isMeasured: true }), startGatewayForOperators()]);
  await addRecords(gateway, COUNT);
});
after(() => Promise.all([browser.close(), gateway.close()]));

test('a list is asked for while it is scrolled, and has only the rows in view', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests?paused=true');
  const { page } = visitor;
  const table = page.getByRole('table');
  await table.waitFor();
  const all = COUNT + 3;
  await scrollUntil(page, all);
  // The oldest record is the last row.
  const last = table.locator(`[aria-rowindex="${all + 1}"]`);
  await last.waitFor();
  assert.equal(await page.getByRole('button', { name: 'Older' }).count(), 0);
  const rows = await table.locator('[aria-rowindex]').count();
  assert.ok(rows <= MOST_ROWS, `${rows} rows are in the document`);
  const head = await page.getByRole('columnheader', { name: 'Model' }).boundingBox();
  assert.ok(head && head.y >= 0 && head.y < 50, `the head stays in view, not at ${head?.y}`);
  await assertSound(visitor);
  const { busy } = await scrollFrames(page);
  const median = busy.toSorted((one, other) => one - other)[busy.length >> 1] ?? Number.NaN;
  assert.ok(median < LONG_FRAME_MS, `a frame takes ${median} ms of processor time`);

  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  await last.getByRole('button').focus();
  // What has the focus leaves the document, and the keys go on from there.
  await page.evaluate('scrollTo(0, 0)');
  await last.waitFor({ state: 'detached' });
  await page.locator('body').press('k');
  const place = "document.activeElement.closest('tr')?.getAttribute('aria-rowindex')";
  assert.equal(await page.evaluate<string>(place), String(all));
});
