/** Figures lead to what they are the sum of: the requests, or videos, of exactly their filters and their time. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import type { Json } from '../../src/core/json/json.ts';
import { moneyOf } from '../../src/core/money.ts';
import type { Store } from '../../src/store/store.ts';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import { createVideoClock, videoClient } from '../../test/gateway/video-client.ts';
import {
  adminOf,
  ask,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayWithPages,
  TOKEN,
  visit,
} from './browser.ts';

const TAGGED = 'sk-a-key-of-the-search-team-0123456789';
const PRICE = 'pricing: { prompt: "0.0000031", completion: "0.0000071" }';

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;
let store: Store;

before(async () => {
  upstream = await startUpstream((call, response) => {
    if (call.body.model === 'down') return answerJson(response, { error: { message: 'Busy.' } }, 400);
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
    const usage = call.body.model === 'counted' && { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107 };
    answerJson(response, {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices,
      ...(usage && { usage }),
    });
  });
  const models = ['counted', 'guessed', 'down'].map((id) => `{ id: ${id}, ${PRICE} }`).join(', ');
  gateway = await startGatewayWithPages(
    `admin: { token: ${TOKEN}, port: 0 }
tags: { team=search: { budgets: { month: "900.00" } } }
providers:
  local: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [${models}] }
  sandbox: { type: sandbox }`,
    {
      clock: createVideoClock(),
      wrapStore(opened) {
        store = opened;
        return opened;
      },
      keys: [`{ name: tagged, key: ${TAGGED}, tags: { team: search }, budgets: { day: "5.00", month: "50.00" } }`],
    },
  );
  for (const key of [KEY, TAGGED, TAGGED]) {
    for (const model of ['counted', 'guessed', 'down']) await ask(gateway, key, `local/${model}`);
  }
  const videos = videoClient(gateway);
  await videos.until((await videos.create({ prompt: 'A paper boat' })).id, 'completed');
  await videos.create({ prompt: 'hang' });
  const hash = (await adminOf(gateway)('GET', '/keys?name=test')).data[0].hash;
  await store.call('addNotices', {
    notices: [
      {
        ...{ id: 'task-1-completed', taskId: 'task-1', owner: hash, url: 'https://hooks.example/hook' },
        ...{ body: Buffer.from('{}'), createdAt: Date.now() },
      },
    ],
  });
  browser = await openBrowser();
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

/** Of the link in `place` with this text, or the only one. */
async function addressOf(place: Locator, text?: string | RegExp): Promise<URL> {
  const link = text === undefined ? place.getByRole('link') : place.getByRole('link', { name: text });
  return new URL((await link.getAttribute('href')) ?? '', gateway.url);
}

/** The requests that a page shows at an address, as the API has them. */
async function requestsAt({ pathname, searchParams }: URL): Promise<Json[]> {
  assert.equal(pathname, '/ui/requests');
  const query = new URLSearchParams(searchParams);
  query.delete('zone');
  return (await adminOf(gateway)('GET', `/requests?limit=200&${query}`)).data;
}

const costOf = (requests: readonly Json[]) => requests.reduce((sum, { cost }) => sum + moneyOf(cost ?? '0'), 0n);
const moneyIn = (text: string | null) => moneyOf((text ?? '').replaceAll(/[$,]/g, ''));

async function leadsToCost(place: Locator, count: number): Promise<void> {
  const requests = await requestsAt(await addressOf(place));
  assert.equal(requests.length, count);
  assert.equal(moneyIn(await place.getByRole('link').textContent()), costOf(requests));
}

const figure = (page: Page, name: string) =>
  page.locator('dl > div').filter({ has: page.getByText(name, { exact: true }) });

for (const [path, row, title, filter] of [
  ['keys', /^tagged/, 'tagged', { key: 'config:tagged' }],
  ['tags', /^team=search/, 'team=search', { tag: 'team=search' }],
] as const) {
  test(`spending on the page of ${path} leads to its requests`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, `/ui/${path}`);
    const { page } = visitor;
    const cells = page.getByRole('row', { name: row }).getByRole('cell');
    await cells.first().waitFor();
    const heads = await page.getByRole('columnheader').allInnerTexts();
    for (const name of ['Budget', 'This month', 'In all']) {
      const cell = cells.nth(heads.indexOf(name));
      const links = await cell.getByRole('link').all();
      assert.equal(links.length, path === 'keys' && name === 'Budget' ? 2 : 1, name);
      const { searchParams } = new URL((await links.at(-1)?.getAttribute('href')) ?? '', gateway.url);
      const span = ['started_from', 'started_to'].map((end) => new Date(searchParams.get(end) ?? 0));
      const now = new Date();
      const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
      assert.equal(span[0]?.getTime(), name === 'In all' ? 0 : month);
      assert.ok(span[1] && span[1] > now);
      for (const [given, value] of Object.entries(filter)) assert.equal(searchParams.get(given), value);
      if (links.length === 1) await leadsToCost(cell, 6);
    }
    const bars = cells.nth(heads.indexOf('Budget')).getByRole('img');
    assert.equal(await bars.count(), path === 'keys' ? 2 : 1, 'each budget is a bar');
    await page.getByRole('button', { name: row }).first().click();
    const panel = page.getByRole('dialog', { name: title });
    for (const period of ['today', 'this week', 'this month', 'in all']) {
      await leadsToCost(panel.getByRole('row', { name: new RegExp(`^${period}`) }), 6);
    }
    await assertSound(visitor);
    const its = await addressOf(panel, 'Its requests');
    assert.deepEqual(Object.fromEntries(its.searchParams), filter);
    await panel
      .getByRole('row', { name: /^in all/ })
      .getByRole('link')
      .click();
    await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
    await page
      .getByRole('row', { name: /local.counted/ })
      .first()
      .waitFor();
    await figure(page, 'Requests').getByText('6', { exact: true }).waitFor();
  });
}

test('tokens and estimates of use lead to their requests, also those without the tag', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/use?by=tag:team&second=model');
  await page.getByRole('row', { name: /^Total/ }).waitFor();
  const tokens = (requests: Json[], name: string) => requests.reduce((sum, one) => sum + one[name], 0);
  const all = await requestsAt(await addressOf(figure(page, 'Tokens'), /\d/));
  const tokensOfAll = tokens(all, 'input_tokens') + tokens(all, 'output_tokens');
  await figure(page, 'Tokens')
    .getByRole('link', { name: tokensOfAll.toLocaleString('en-US'), exact: true })
    .waitFor();
  const guessed = await requestsAt(await addressOf(figure(page, 'Estimated')));
  assert.equal(guessed.length, all.filter(({ estimated }) => estimated).length);
  assert.ok(guessed.length > 0 && guessed.every(({ estimated }) => estimated));
  const without = page.getByRole('row', { name: /^without the tag/ });
  const heads = await page.getByRole('columnheader').allInnerTexts();
  for (const [name, field] of [
    ['In', 'input_tokens'],
    ['Cached', 'cached_tokens'],
    ['Out', 'output_tokens'],
  ] as const) {
    const cell = without.getByRole('cell').nth(heads.indexOf(name));
    const requests = await requestsAt(await addressOf(cell));
    assert.deepEqual([...new Set(requests.map(({ key_name: key }) => key))], ['test']);
    assert.equal(Number((await cell.textContent())?.replaceAll(',', '')), tokens(requests, field));
  }
  const level = page.locator('tr[data-level="2"]').filter({ hasText: 'local/counted' });
  const both = await Promise.all(
    (await level.all()).map(async (one) => requestsAt(await addressOf(one, /^107|^100$|^200$/))),
  );
  assert.deepEqual(both.map((requests) => requests.length).toSorted(), [1, 2]);
});

test('the headline of requests leads to its failures and to what cost', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/requests?key=config:tagged&range=24h');
  const failed = await requestsAt(await addressOf(figure(page, 'Failed')));
  assert.deepEqual([failed.length, new Set(failed.map(({ status }) => status))], [2, new Set(['failed'])]);
  await leadsToCost(figure(page, 'Cost'), 6);
});

test('the use of a key and the keys of a model lead to their requests', async () => {
  const { page } = await signInAsAdmin(browser, gateway);
  await page.goto(`${gateway.url}/ui/models?open=local/counted`);
  const row = page.getByRole('row', { name: /^tagged 2/ });
  const cost = row.getByRole('cell').last();
  await leadsToCost(cost, 2);
  assert.equal((await requestsAt(await addressOf(row.getByRole('cell').nth(1)))).length, 2);

  const holder = (await visit(browser, `${gateway.url}/ui`)).page;
  await holder.getByLabel(/API key/).fill(TAGGED);
  await holder.keyboard.press('Enter');
  const line = holder.getByRole('row', { name: /^local.counted 2 200 14/ });
  for (const index of [1, 2, 3, 4]) {
    const { pathname, searchParams } = await addressOf(line.getByRole('cell').nth(index));
    assert.deepEqual([pathname, searchParams.get('model')], ['/ui/requests', 'local/counted']);
    assert.ok(Date.parse(searchParams.get('started_from') ?? '') < Date.now());
  }
  await addressOf(figure(holder, 'Tokens in'));
  await addressOf(figure(holder, 'Tokens out'));
});

test('use of videos alone leads to videos, and that of both says where these are', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/use?by=protocol&second=model');
  const { page } = visitor;
  for (const [row, model] of [
    [page.getByRole('row', { name: /^videos / }), null],
    [page.locator('tr[data-level="2"]').filter({ hasText: 'sandbox/video' }), 'sandbox/video'],
  ] as const) {
    const { pathname, searchParams } = await addressOf(row, /\$/);
    assert.deepEqual([pathname, searchParams.get('model')], ['/ui/videos', model]);
    assert.ok(Date.parse(searchParams.get('from') ?? '') < Date.parse(searchParams.get('to') ?? ''));
  }
  await page.getByTitle('Show these requests; videos are listed under Videos').first().waitFor();
  const chat = page.getByRole('row', { name: /^chat / });
  assert.equal((await addressOf(chat, /\$/)).pathname, '/ui/requests');
  assert.equal(await chat.getByTitle(/videos/).count(), 0);

  await page.goto(`${gateway.url}/ui/use?by=key`);
  const mixed = page.getByRole('row', { name: /^test / }).getByRole('link', { name: /\$/ });
  await mixed.and(page.getByTitle(/videos are listed under Videos/)).waitFor();
  await page.goto(`${gateway.url}/ui/use?by=tag:team&second=model`);
  const ofNoTag = page.locator('tr[data-level="2"]').filter({ hasText: 'sandbox/video' });
  await ofNoTag.waitFor();
  await ofNoTag.getByRole('link').first().waitFor({ state: 'detached' });

  await page.goto(`${gateway.url}/ui/use?by=model`);
  const cost = page.getByRole('row', { name: /^sandbox.video / }).getByRole('link', { name: /\$/ });
  await cost.and(page.getByTitle('Show these videos')).click();
  await page.getByRole('heading', { name: 'Videos', level: 1 }).waitFor();
  await page.getByText('A paper boat').first().waitFor();
  await page.getByRole('button', { name: 'custom', pressed: true }).waitFor();
  await assertSound(visitor);

  const holder = (await visit(browser, `${gateway.url}/ui`)).page;
  await holder.getByLabel(/API key/).fill(KEY);
  await holder.keyboard.press('Enter');
  await holder
    .getByRole('row', { name: /^sandbox.video / })
    .getByTitle('Show these videos')
    .first()
    .click();
  await holder.getByText('A paper boat').first().waitFor();
});

test('videos and webhooks have a range of time in their address', async () => {
  const past = 'from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z&zone=UTC';
  const visitor = await signInAsAdmin(browser, gateway, `/ui/videos?${past}`);
  const { page } = visitor;
  await page.getByText('No video is like that').waitFor();
  const times = page.getByRole('group', { name: 'Time', exact: true });
  await times.getByRole('button', { name: '24h' }).click();
  await page.getByText('A paper boat').first().waitFor();
  assert.equal(new URL(page.url()).searchParams.get('range'), '24h');
  const completed = await addressOf(figure(page, 'Completed'));
  assert.equal(completed.searchParams.get('range'), '24h');
  await page.goto(`${gateway.url}/ui/webhooks?${past}`);
  await page.getByText('No webhook is like that').waitFor();
  const receivers = page.getByRole('region', { name: 'Receivers' });
  assert.equal(await receivers.count(), 0, 'nothing was sent to them in this time');
  await times.getByRole('button', { name: 'any time' }).click();
  await page.getByRole('row', { name: /hooks.example/ }).waitFor();
  await receivers.getByText('hooks.example').waitFor();
  await assertSound(visitor);
});

test('sums of videos lead to their tasks', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/videos?view=list&model=sandbox/video');
  const { page } = visitor;
  await assertSound(visitor);
  for (const [name, text, status] of [
    ['Completed', '1', 'completed'],
    ['Failed', '0', 'failed'],
    ['On the way', /in progress/, 'in_progress'],
    ['Videos', '2', null],
    ['Cost', /\$/, null],
  ] as const) {
    const { pathname, searchParams } = await addressOf(figure(page, name), text);
    const [model, view] = ['model', 'view'].map((given) => searchParams.get(given));
    assert.deepEqual([pathname, model, view], ['/ui/videos', 'sandbox/video', 'list']);
    assert.equal(searchParams.get('status'), status);
  }
  await figure(page, 'Completed').getByRole('link').click();
  await page.getByRole('row', { name: /A paper boat/ }).waitFor();
  await page.getByRole('row', { name: /hang/ }).waitFor({ state: 'detached' });
});
