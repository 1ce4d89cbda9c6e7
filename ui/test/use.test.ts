/** Page of use: two levels, the first ones and the others, steps of time, sums over time, comparison and what is not known; all in its address. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { Json } from '../../src/core/json/json.ts';
import { moneyOf } from '../../src/core/money.ts';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import { createManualClock } from '../../test/jobs/manual-clock.ts';
import { momentsOf, spanOf, stepsOf, withStep } from '../src/spans.ts';
import {
  adminOf,
  ask,
  assertFits,
  assertSound,
  downloadedRows,
  openBrowser,
  settled,
  signInAsAdmin,
  startGatewayWithPages,
  THEMES,
  TOKEN,
} from './browser.ts';

const HOUR_MS = 3_600_000;
const MODELS = 11;
const OTHER_KEY = 'sk-another-gateway-key-0123456789';
/** Requests of the day before, and of this one. */
const DAYS = [MODELS, 3 * MODELS];

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;

before(async () => {
  upstream = await startUpstream((call, response) => {
    const tokens = 100 + Number(/\d+$/.exec(call.body.model)?.[0] ?? 0);
    const usage = { prompt_tokens: tokens, completion_tokens: 7, total_tokens: tokens + 7 };
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
    const isCounted = call.body.model !== 'm3';
    answerJson(response, {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices,
      ...(isCounted && { usage }),
    });
  });
  const models = Array.from({ length: MODELS }, (_, index) =>
    index === 0 ? '{ id: m0 }' : `{ id: m${index}, pricing: { prompt: "0.00000${index}3", completion: "0.0000071" } }`,
  );
  const clock = createManualClock(Date.now() - 26 * HOUR_MS);
  gateway = await startGatewayWithPages(
    `admin: { token: ${TOKEN}, port: 0 }
providers: { local: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [${models.join(', ')}] } }`,
    { clock, keys: [`{ name: other, key: ${OTHER_KEY}, tags: { team: search } }`] },
  );
  for (const count of DAYS) {
    for (let index = 0; index < count; index++) {
      const response = await ask(gateway, index % 3 === 2 ? OTHER_KEY : KEY, `local/m${index % MODELS}`);
      assert.equal(response.status, 200, await response.text());
    }
    clock.advance(count === DAYS[0] ? 25 * HOUR_MS : HOUR_MS);
  }
  browser = await openBrowser();
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

test('steps that can be chosen make a few bars, and weeks begin on Monday', () => {
  const now = Date.parse('2026-11-23T12:30:00Z');
  const month = spanOf({ range: '30d' }, now);
  assert.deepEqual(stepsOf(month), ['day', 'week', 'month']);
  assert.deepEqual(stepsOf(spanOf({ range: '24h' }, now)), ['hour', 'day']);
  assert.deepEqual(stepsOf(spanOf({ range: '1h' }, now)), ['minute', 'hour']);
  assert.deepEqual(stepsOf(spanOf({ range: '7d' }, now)), ['hour', 'day', 'week']);
  const weeks = momentsOf(withStep(month, 'week'));
  assert.deepEqual([weeks.length, weeks.at(-1)], [6, '2026-11-23T00:00:00.000Z']);
  assert.ok(weeks.every((at) => new Date(at).getUTCDay() === 1));
  const hours = withStep(spanOf({ range: '1h' }, now), 'hour');
  assert.deepEqual([hours.from.getUTCMinutes(), hours.to.getUTCMinutes()], [0, 0]);
});

const ofVideos = (url: URL) => Number(url.searchParams.get('protocol') === 'videos');

for (const [index, theme] of THEMES.entries()) {
  test(`the page asks for the first groups only, and all that it shows adds up, in the ${theme} theme`, async () => {
    const width = index === 0 ? 1280 : 360;
    const visitor = await signInAsAdmin(browser, gateway, '/ui/use?by=model&second=key&top=5&range=24h', {
      theme,
      width,
    });
    const { page } = visitor;
    const asked: URL[] = [];
    page.on('request', (request) => request.url().includes('/usage?') && asked.push(new URL(request.url())));
    await page.reload();
    await page.getByRole('row', { name: /^Total/ }).waitFor();
    await page.waitForLoadState('networkidle');
    const [groups, ...others] = asked.toSorted((one, other) => ofVideos(one) - ofVideos(other));
    assert.deepEqual(others.map(ofVideos), [1], 'one request for groups, second level and comparison, one for videos');
    const { searchParams } = groups as URL;
    assert.deepEqual(
      ['by', 'subgroup', 'top', 'top_by', 'compare'].map((name) => searchParams.get(name)),
      ['hour,model', 'key', '5', 'cost', 'true'],
    );
    const rows = await namesOf(page);
    assert.deepEqual(rows.slice(0, 3), ['local/m9', 'test', 'other']);
    assert.equal(rows.filter((name) => name.startsWith('local/')).length, 5);
    assert.equal(rows.indexOf('Other'), 15, 'the others are last');
    await assertSound(visitor);
    await assertFits(page);

    const report = await reportOf('by=model');
    const records: Json[] = (await adminOf(gateway)('GET', '/requests?limit=200')).data;
    const costOf = (some: Json[]) => some.reduce((sum, { cost }) => sum + moneyOf(cost ?? '0'), 0n);
    const lines = await downloadedRows(page, () => page.getByRole('link', { name: 'CSV' }).click());
    assert.match(Object.keys(lines[0]).join(), /^model,key,key_name,other,requests,.*,cost$/);
    assert.equal(lines.length, 12);
    const today = records.slice(0, DAYS[1]);
    const sum = lines.reduce((all, line) => all + moneyOf(line.cost || '0'), 0n);
    assert.deepEqual([sum, moneyOf(report.total.cost)], [costOf(today), costOf(today)]);
    assert.equal(
      lines.reduce((all, line) => all + Number(line.requests), 0),
      DAYS[1],
    );
    const shown = await page
      .getByRole('row', { name: /^Total/ })
      .getByRole('cell')
      .nth(7)
      .textContent();
    assert.equal(moneyOf(/^\$([\d.]+) ~ \+ unknown$/.exec(shown ?? '')?.[1] ?? shown ?? ''), costOf(today));
  });
}

test('the file of one level has the figures of the period before, also of groups that are gone', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/use?by=model&top=20');
  await page.getByRole('row', { name: /^Total/ }).waitFor();
  const rows = await downloadedRows(page, () => page.getByRole('link', { name: 'CSV' }).click());
  const records: Json[] = (await adminOf(gateway)('GET', '/requests?limit=200')).data;
  const [today, yesterday] = [records.slice(0, DAYS[1]), records.slice(DAYS[1])];
  const sum = (name: string) => rows.reduce((all, row) => all + moneyOf(row[name] || '0'), 0n);
  const costOf = (some: Json[]) => some.reduce((all, { cost }) => all + moneyOf(cost ?? '0'), 0n);
  assert.deepEqual([sum('cost'), sum('before_cost')], [costOf(today), costOf(yesterday)]);
  assert.equal(
    rows.reduce((all, row) => all + Number(row.before_requests), 0),
    yesterday.length,
  );
  const estimated = today.filter((one) => one.estimated);
  assert.equal(sum('estimated_cost'), costOf(estimated));
  await page.getByLabel('Compare with the period before').uncheck();
  await page.getByRole('columnheader', { name: 'Before' }).waitFor({ state: 'detached' });
  const alone = await downloadedRows(page, () => page.getByRole('link', { name: 'CSV' }).click());
  assert.ok(!Object.keys(alone[0]).some((name) => name.startsWith('before_')));
});

test('what is chosen is in the address, and a link shows the same', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/use?range=7d');
  const choose = async (name: string, option: string) => {
    await page.getByRole('combobox', { name, exact: true }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };
  await choose('Group', 'by key');
  await choose('Second level', 'then model');
  await choose('Top', 'top 5');
  await choose('Length of a bar', 'per hour');
  await page.getByLabel('Cumulative').check();
  await page.getByLabel('Compare with the period before').uncheck();
  await page.getByRole('heading', { name: 'Cost per hour, cumulative' }).waitFor();
  const { searchParams } = new URL(page.url());
  assert.deepEqual(
    ['by', 'second', 'top', 'per', 'cumulative', 'compare'].map((name) => searchParams.get(name)),
    ['key', 'model', '5', 'hour', 'true', 'false'],
  );
  const rows = await namesOf(page);
  await page.reload();
  await page.getByRole('heading', { name: 'Cost per hour, cumulative' }).waitFor();
  await page.getByRole('row', { name: /^Total/ }).waitFor();
  assert.deepEqual(await namesOf(page), rows);
  await page
    .getByRole('row', { name: /^Other/ })
    .first()
    .waitFor();
  assert.equal(await page.getByRole('columnheader', { name: 'Before' }).count(), 0);
  await page.getByRole('button', { name: 'local/m9' }).first().click();
  await page.waitForURL((url) => url.searchParams.get('model') === 'local/m9' && url.searchParams.get('key') !== null);
});

test('a bar marks its line of the table, and a line its bars', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/use?by=model&top=5&range=24h');
  const { page } = visitor;
  const row = page.getByRole('row', { name: /^local\/m9 / });
  await row.waitFor();
  const bars = page.locator('rect[data-series="local/m9"]');
  const marked = () => page.locator('tr[data-marked]').count();
  await bars.first().hover();
  assert.equal(await settled(marked, (count) => count === 1), 1);
  assert.equal(await row.getAttribute('data-marked'), '');
  assert.equal(await bars.first().getAttribute('opacity'), '1');
  await page.getByRole('heading', { name: 'Use and cost' }).hover();
  assert.equal(await settled(marked, (count) => count === 0), 0);
  await row.getByRole('cell').nth(4).hover();
  const faded = () => page.locator('rect[data-series]:not([data-series="local/m9"])').first().getAttribute('opacity');
  assert.equal(await settled(faded, (opacity) => opacity === '0.3'), '0.3');
  assert.equal(await bars.first().getAttribute('opacity'), '1');
  // By keyboard, too.
  await row.getByRole('button').focus();
  assert.equal(await settled(marked, (count) => count === 1), 1);
  await assertSound(visitor);
});

test('columns are chosen, and the report is a call and a command', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/use?by=model&top=5&range=24h&model=local/m9');
  const { page } = visitor;
  const heads = () => page.locator('th:visible').allInnerTexts();
  await page.getByRole('row', { name: /^Total/ }).waitFor();
  assert.ok((await heads()).includes('Cached'));
  await page.getByRole('combobox', { name: 'Columns of Use' }).click();
  await page.getByRole('option', { name: 'Cached' }).click();
  await page.keyboard.press('Escape');
  assert.ok(!(await heads()).includes('Cached'));
  const cells = await page.locator('tfoot td:visible').count();
  assert.equal(cells, (await heads()).length);
  await page.getByRole('button', { name: 'Copy as' }).click();
  const dialog = page.getByRole('dialog', { name: 'The same in a terminal' });
  await dialog.locator('pre').nth(1).waitFor();
  const [command = '', curl = ''] = await dialog.locator('pre').allInnerTexts();
  assert.match(command, /^polygate usage --by hour,model --from \d{4}-.* --to \d{4}-/);
  await dialog.getByText('filters by a key only').waitFor();
  await assertSound(visitor);
  const path = /curl '?\S+(\/admin\/v1\S+?)'? /.exec(curl)?.[1] ?? '';
  const answer = await adminOf(gateway)('GET', path.replace('/admin/v1', ''));
  assert.deepEqual([...new Set(answer.data.map(({ model }: Json) => model))], ['local/m9']);
});

test('the share of failures is compared with that of the time before, not their number', async () => {
  const { page } = await signInAsAdmin(browser, gateway);
  await page.route('**/admin/v1/usage?*', async (route) => {
    const response = await route.fetch();
    const report = await response.json();
    Object.assign(report.total, { requests: 400, failures: 40 });
    if (report.before) Object.assign(report.before.total, { requests: 100, failures: 10 });
    await route.fulfill({ response, json: report });
  });
  await page.goto(`${gateway.url}/ui/use`);
  const figure = page.getByText('Failed', { exact: true }).first().locator('..');
  await figure.getByText('10 % before').waitFor();
  assert.equal((await figure.innerText()).includes('300'), false);
});

test('figures stand beside the names that they are of, while others are on their way', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/use?by=model&range=24h&metric=requests&top=20');
  await page.getByRole('row', { name: /^local.m9 3 / }).waitFor();
  const answers = Promise.withResolvers<void>();
  await page.route('**/admin/v1/usage?*', async (route) => {
    await answers.promise;
    await route.continue();
  });
  await page.getByRole('combobox', { name: 'Group' }).click();
  await page.getByRole('option', { name: 'by key' }).click();
  await page.waitForURL(/by=key/);
  await page.getByRole('button', { name: '7d', exact: true }).click();
  await page.waitForURL(/range=7d/);
  await page.locator('[aria-busy=true]').getByRole('heading', { name: 'Requests per hour' }).waitFor();
  await page.getByRole('row', { name: /^local.m9 3 / }).waitFor();
  assert.equal(await page.getByText('not known', { exact: true }).count(), 0);
  answers.resolve();
  await page.getByRole('heading', { name: 'Requests per day' }).waitFor();
  await page.getByRole('row', { name: /^test / }).waitFor();
  assert.equal(await page.locator('[aria-busy=true]').count(), 0);
});

test('charts write large sums as tables do', async () => {
  const { page } = await signInAsAdmin(browser, gateway);
  await page.route('**/admin/v1/usage?*', async (route) => {
    const response = await route.fetch();
    const report = await response.json();
    Object.assign(report.total, { cost: '1234567.5' });
    await route.fulfill({ response, json: report });
  });
  await page.goto(`${gateway.url}/ui/use`);
  await page.locator('title', { hasText: /In all: \$1,234,567\.50\./ }).waitFor({ state: 'attached' });
});

test('the time before is a line over the bars, and sums over time end with the total', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/use?by=model&metric=requests&cumulative=true');
  await page.locator('svg polyline[data-line]').waitFor();
  await page.getByText('+200 % vs before').first().waitFor();
  await page.getByRole('columnheader', { name: 'Before' }).waitFor();
  await page.getByRole('button', { name: 'As table' }).click();
  const cells = await page
    .getByRole('region', { name: 'Figures of the chart' })
    .getByRole('row')
    .last()
    .getByRole('cell')
    .allTextContents();
  const [before = '', ...series] = cells.slice(1).toReversed();
  assert.equal(before, String(DAYS[0]));
  assert.equal(
    series.reduce((sum, text) => sum + Number(text), 0),
    DAYS[1],
  );
  await page.getByLabel('Compare with the period before').uncheck();
  await page.getByRole('columnheader', { name: 'Before', exact: true }).waitFor({ state: 'detached' });
});

test('estimates and unknown prices are in the headline, in lines and in the total', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/use?top=20');
  const figure = (name: string) => page.locator('dl > div').filter({ has: page.getByText(name, { exact: true }) });
  await figure('Unknown price').getByText('1 model').waitFor();
  assert.match((await figure('Unknown price').textContent()) ?? '', /\d(\.\d)? % of tokens$/);
  const { total } = await reportOf('by=day');
  const share = (100 * Number(total.estimated_cost)) / Number(total.cost);
  assert.ok(share > 0.1);
  assert.match(
    (await figure('Estimated').textContent()) ?? '',
    new RegExp(`^Estimated${share.toFixed(share < 10 ? 1 : 0)} %of cost, `),
  );
  const estimated = 'Token counts of a part are estimates';
  const marksOf = async (name: RegExp) => {
    const row = page.getByRole('row', { name });
    await row.waitFor();
    return [await row.getByTitle(estimated).count(), await row.getByText('+ unknown').count()];
  };
  assert.deepEqual(await marksOf(/^local.m0 .* unknown /), [0, 0], 'nothing but unknown');
  assert.deepEqual(await marksOf(/^local.m1 .* \$/), [0, 0]);
  assert.deepEqual(await marksOf(/^local.m3 .* \$/), [1, 0]);
  assert.deepEqual(await marksOf(/^Total .* \$/), [1, 1]);
  await page.goto(`${gateway.url}/ui/use?by=protocol&second=model&top=20`);
  assert.deepEqual(await marksOf(/^chat .* \$/), [1, 1]);
  assert.deepEqual(await marksOf(/^local.m3 .* \$/), [1, 0], 'the second level');
});

async function namesOf(page: Page): Promise<string[]> {
  return page.locator('table.data tbody tr > td:first-child').allTextContents();
}

/** Of the last day. */
async function reportOf(query: string): Promise<Json> {
  const to = new Date(Math.ceil((Date.now() + 1) / HOUR_MS) * HOUR_MS);
  const from = new Date(to.getTime() - 24 * HOUR_MS);
  return adminOf(gateway)('GET', `/usage?${query}&from=${from.toISOString()}&to=${to.toISOString()}`);
}
