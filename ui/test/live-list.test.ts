/** A list of requests that grows while it is open: more than one answer has, and more than it keeps. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openSqlite } from '../../bench/dashboard/stores.ts';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { eventually } from '../../test/gateway/video-client.ts';
import { interceptAnswers } from './answers.ts';
import { assertSound, openBrowser, signInAsAdmin, startGatewayForOperators } from './browser.ts';
import { scrollUntil } from './long-list.ts';

/** Of the gateway that starts. */
const SANDBOX_ROWS = 3;
/** More than three answers have. */
const BURST = 650;
/** More than the list keeps above its first page. */
const FLOOD = 5200;

let browser: Browser;
let gateway: TestGateway;
/** Requests that were put into the store; their models are `live-0`, `live-1` and so on. */
let added = 0;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

/** Requests that end now, eight in a millisecond. */
async function addLive(count: number): Promise<void> {
  const store = openSqlite(gateway.folder);
  const endedAt = `${Date.now()} + (n - ${added}) / 8`;
  const columns = {
    ...{ id: `'req_live_' || ${store.hex('n', 20)}`, at: endedAt, started_at: endedAt, ended_at: endedAt, tags: "''" },
    ...{ key_id: "'key-1'", model: "'live'", endpoint_provider: "'sandbox'", endpoint_model: "'live-' || n" },
    ...{ protocol_in: "'chat'", protocol_out: "'chat'", stream: '0', status: "'completed'", estimated: '0' },
    ...{ attempts: '1', input_tokens: '1', output_tokens: '1', cached_tokens: '0', cache_write_tokens: '0' },
    ...{ reasoning_tokens: '0', audio_tokens: '0', searches: '0', cost: '0', first_byte_ms: '5', total_ms: '9' },
  };
  const rows = store.numbers(added, added + count - 1);
  try {
    await store.run(
      `INSERT INTO usage_request (${Object.keys(columns).join(', ')}) SELECT ${Object.values(columns).join(', ')} FROM ${rows}`,
    );
  } finally {
    await store.close();
  }
  added += count;
}

async function rowCount(page: Page): Promise<number> {
  return Number(await page.getByRole('table').getAttribute('aria-rowcount')) - 1;
}

/** Numbers of the models of all rows, the first row first, while the list is scrolled. */
async function listedNumbers(page: Page): Promise<number[]> {
  const models = await page.evaluate<string[]>(`new Promise((end) => {
    const models = [];
    scrollTo(0, 0);
    const look = () => {
      for (const row of document.querySelectorAll('tbody tr[aria-rowindex]')) {
        models[Number(row.getAttribute('aria-rowindex')) - 2] = row.querySelector('td:nth-child(3) span').textContent;
      }
      const { scrollHeight } = document.documentElement;
      if (scrollY + innerHeight >= scrollHeight - 1) return end(models);
      scrollBy(0, 0.9 * innerHeight);
      requestAnimationFrame(() => requestAnimationFrame(look));
    };
    requestAnimationFrame(() => requestAnimationFrame(look));
  })`);
  return models.flatMap((model) => (model?.includes('live-') ? [Number(model.replace(/^.*live-/, ''))] : []));
}

function newestFirst(): number[] {
  return Array.from({ length: added }, (_, index) => added - 1 - index);
}

test('rows that come on an open page, after a pause too, are all there, each once', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests');
  const { page } = visitor;
  await page.getByRole('table').waitFor();
  await addLive(BURST);
  await eventually({}, async () => (await rowCount(page)) >= SANDBOX_ROWS + added);
  await page.getByRole('button', { name: 'Pause' }).click();
  await addLive(BURST);
  await page.getByRole('button', { name: 'Go on' }).click();
  await eventually({}, async () => (await rowCount(page)) >= SANDBOX_ROWS + added);
  assert.equal(await rowCount(page), SANDBOX_ROWS + added);
  assert.deepEqual(await listedNumbers(page), newestFirst());
  await assertSound(visitor);
});

test('a list with too many new rows starts anew, and has all of them further down', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests');
  const { page } = visitor;
  await page.getByRole('table').waitFor();
  await addLive(FLOOD);
  const newest = page.getByRole('row', { name: new RegExp(`live-${added - 1}\\b`) });
  await newest.waitFor();
  const shown = await rowCount(page);
  assert.ok(shown < FLOOD, `${shown} rows are shown`);
  await scrollUntil(page, SANDBOX_ROWS + added);
  assert.deepEqual(await listedNumbers(page), newestFirst());
  // It goes on from there.
  await addLive(1);
  await eventually({}, async () => (await rowCount(page)) === SANDBOX_ROWS + added);
  await assertSound(visitor);
});

test('an older page that is asked for while the list starts anew is aborted, and does not bring back the rows of before', async () => {
  await addLive(BURST);
  const visitor = await signInAsAdmin(browser, gateway, '/ui/settings');
  const { page } = visitor;
  const older = /\/requests\?(?:.*&)?after=/;
  const answers = await interceptAnswers(page, older);
  answers.hold();
  const asked = page.waitForRequest(older);
  await page.goto(`${gateway.url}/ui/requests`);
  await page.getByRole('table').waitFor();
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  await asked;
  await page.evaluate('scrollTo(0, 0)');
  const aborted = page.waitForEvent('requestfailed', (request) => older.test(request.url()));
  await addLive(FLOOD);
  await page.getByRole('row', { name: new RegExp(`live-${added - 1}\\b`) }).waitFor();
  await page.evaluate(MOST_ROWS);
  assert.equal((await aborted).failure()?.errorText, 'net::ERR_ABORTED');
  await answers.pass();
  for (let looks = 0; looks < 2; looks++) await page.waitForResponse(/[?&]live=/);
  const most = await page.evaluate<number>('window.mostRows');
  assert.ok(most < FLOOD, `${most} rows were shown`);
  await assertSound(visitor);
});

/** Runs in the page: the most rows that the list has had in any frame from now on. */
const MOST_ROWS = `{
  window.mostRows = 0;
  const look = () => {
    window.mostRows = Math.max(window.mostRows, Number(document.querySelector('table').getAttribute('aria-rowcount')) - 1);
    requestAnimationFrame(look);
  };
  look();
}`;
