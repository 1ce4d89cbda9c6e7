/** Catalog: filters by what a model takes, gives, costs and can; what operators see of a model; models side by side. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import { eventually, videoClient } from '../../test/gateway/video-client.ts';
import {
  adminOf,
  ask,
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

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;
let yaml = '';

const MODELS = `[
  { id: small, context_length: 8000, pricing: { prompt: "0.0000001", completion: "0.0000002" } },
  { id: large, context_length: 400000, pricing: { prompt: "0.000005", completion: "0.00002" }, input_modalities: [text, image], supported_parameters: [tools, reasoning] },
  { id: unknown } ]`;
const FILMS = `[
  { id: clips, video: { prices: { per-video-second: "0.1", per-video-second-1080p-audio: "0.25" } } },
  { id: whole, video: { prices: { per-video: "0.5" } } } ]`;
/** More than a page shows at once. */
const MANY = 2000;
/** More than a window has, also with those around it. */
const ROWS_OF_WINDOW = 100;
/** Characters; the list has more than twice as many. */
const MOST_PARSED = 700_000;
const manyModels = Array.from({ length: MANY }, (_, index) => `{ id: m${String(index).padStart(4, '0')} }`).join(', ');

before(async () => {
  const usage = { prompt_tokens: 6, completion_tokens: 1, total_tokens: 7 };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
  upstream = await startUpstream((call, response) =>
    answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: call.body.model, choices, usage }),
  );
  yaml = `admin: { token: ${TOKEN}, port: 0 }
providers:
  local: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: ${MODELS.replaceAll('\n', ' ')} }
  priced: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [{ id: all, pricing: { prompt: "0.000001", completion: "0.000002", audio: "0.000003", request: "0.02", image: "0.003613", web_search: "0.01" } }] }
  films: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: ${FILMS.replaceAll('\n', ' ')} }
  many: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [${manyModels}] }
models: { house/quiet: { endpoints: [{ provider: local, model: large, data_policy: { zdr: true } }, { provider: local, model: small, priority: 1 }] } }
aliases: { best: house/quiet }`;
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayWithPages(yaml)]);
  for (let count = 0; count < 3; count++) assert.equal((await ask(gateway, KEY, 'house/quiet')).status, 200);
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

test('a long list is whole: each model is reached by scrolling, by keys, and is in the file', async () => {
  const visitor = await signInAsAdmin(browser, gateway);
  const { page } = visitor;
  await page.goto(`${gateway.url}/ui/models?provider=many`);
  await page
    .locator('[data-spoken]')
    .getByText(new RegExp(`^${MANY.toLocaleString('en-US')} of `))
    .waitFor();
  const table = page.getByRole('region', { name: 'Models', exact: true });
  assert.equal(await table.getByRole('table').getAttribute('aria-rowcount'), String(MANY + 1));
  const rows = table.locator('tr[data-opens]');
  await rows.first().waitFor();
  assert.ok((await rows.count()) < 200, 'only those in view are in the document');
  const last = table.getByRole('button', { name: `many/m${MANY - 1}`, exact: false }).first();
  assert.equal(await last.count(), 0);
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  await last.waitFor();
  await assertSound(visitor);
  await page.evaluate('scrollTo(0, 0)');
  await table.getByRole('button', { name: /^many\/m0000/ }).waitFor();
  const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('e')]);
  const lines = readFileSync(await file.path(), 'utf8')
    .trimEnd()
    .split('\r\n');
  assert.equal(lines.length, MANY + 1);
  assert.ok(lines.at(-1)?.startsWith(`many/m${MANY - 1},`));
});

test('a long list is read in slices, with the rows in view alone; those of its file are made when that is asked for', async () => {
  const { page } = await signInAsAdmin(browser, gateway);
  await page.addInitScript(`globalThis.made = globalThis.rows = globalThis.longest = 0;
    const { fromEntries } = Object;
    Object.fromEntries = (entries) => (globalThis.made++, fromEntries(entries));
    const { parse } = JSON;
    const read = (text) => (globalThis.longest = Math.max(globalThis.longest, text.length), parse(text));
    JSON.parse = read;
    Response.prototype.json = async function () { return read(await this.text()); };
    const { createElement } = document;
    document.createElement = (name, ...more) => (globalThis.rows += name === 'tr', createElement.call(document, name, ...more));`);
  await page.goto(`${gateway.url}/ui/models?provider=many`);
  await page.getByRole('button', { name: 'many/m0000' }).first().waitFor();
  const made = () => page.evaluate<number>('globalThis.made');
  assert.ok((await made()) < MANY, `${await made()} objects`);
  const [rows = 0, longest = 0] = await page.evaluate<number[]>('[globalThis.rows, globalThis.longest]');
  assert.ok(rows > 0 && rows < ROWS_OF_WINDOW, `${rows} rows`);
  assert.ok(longest > 0 && longest < MOST_PARSED, `${longest} characters parsed at once`);
  const saved = await downloadedRows(page, () => page.getByRole('button', { name: 'CSV' }).click());
  assert.equal(saved.length, MANY);
  assert.ok((await made()) >= MANY);
});

test('operators see times of late and the last change of a price, in the list, in the comparison and in the panel', async () => {
  const visitor = await signInAsAdmin(browser, gateway);
  const { page } = visitor;
  await page.goto(`${gateway.url}/ui/models?find=local/&compare=local/large,local/small`);
  const cells = (name: RegExp) => page.getByRole('region', { name: 'Models', exact: true }).getByRole('row', { name });
  await cells(/^local\/large .* \d+ ms \d+ — /).waitFor();
  await cells(/^local\/small .* — — — /).waitFor();
  gateway.reload(yaml.replace('"0.000005"', '"0.000004"'));
  await page.reload();
  await cells(/^local\/large .* \d+ ms \d+ \w{3} \d+, \d\d:\d\d /).waitFor();
  const compared = page.getByRole('region', { name: 'Models side by side' });
  await compared.getByRole('row', { name: /^First byte \d+ ms —$/ }).waitFor();
  await compared.getByRole('row', { name: /^Tokens\/s \d+ —$/ }).waitFor();
  await compared.getByRole('row', { name: /^Price changed \w{3} \d+, \d\d:\d\d —$/ }).waitFor();
  await assertSound(visitor);
  await page.goto(`${gateway.url}/ui/models?open=local/large`);
  const panel = page.getByRole('dialog', { name: 'local/large' });
  await panel.getByText(/^Changed .*: input \$5\.00 → \$4\.00$/).waitFor();
  await page.goto(`${gateway.url}/ui/models?open=local/small`);
  await page
    .getByRole('dialog', { name: 'local/small' })
    .getByText(/^Not changed since /)
    .waitFor();
  await assertSound(visitor);

  // The holder of a key sees when a price changed, and no times, which are those of all keys.
  const holder = (await visit(browser, `${gateway.url}/ui/key`)).page;
  await holder.getByLabel(/API key/).fill(KEY);
  await holder.keyboard.press('Enter');
  await holder.getByRole('heading', { name: 'My key' }).waitFor();
  await holder.goto(`${gateway.url}/ui/models?open=local/large`);
  await holder
    .getByRole('dialog', { name: 'local/large' })
    .getByText(/^Changed .*: input \$5\.00 → \$4\.00$/)
    .waitFor();
  await holder.getByRole('columnheader', { name: 'Price changed' }).waitFor();
  assert.equal(await holder.getByRole('columnheader', { name: 'First byte' }).count(), 0);
});

test('a model has all its prices, each by its unit, the call of its operation, and leads to what was made with it', async () => {
  const { id } = await videoClient(gateway).create({ model: 'sandbox/video', prompt: 'A paper boat' });
  await eventually({}, async () => {
    const { data } = await adminOf(gateway)('GET', '/models?id=sandbox/video');
    return data[0].users.length > 0;
  });
  const visitor = await signInAsAdmin(browser, gateway);
  const { page } = visitor;
  await page.goto(`${gateway.url}/ui/models?find=films/`);
  const row = (name: RegExp) => page.getByRole('region', { name: 'Models', exact: true }).getByRole('row', { name });
  await row(/^films\/clips .* — — — from \$0\.10 a second /).waitFor();
  await row(/^films\/whole .* — — — \$0\.50 a video /).waitFor();
  await assertSound(visitor);
  const saved = await downloadedRows(page, () => page.getByRole('button', { name: 'CSV' }).click());
  assert.deepEqual(
    ['per-video-second', 'per-video-second-1080p-audio', 'per-video'].map((name) =>
      saved.map((model) => model[`pricing_skus.${name}`]),
    ),
    [
      ['0.1', ''],
      ['0.25', ''],
      ['', '0.5'],
    ],
  );
  const panelOf = async (model: string) => {
    await page.goto(`${gateway.url}/ui/models?open=${model}`);
    return page.getByRole('dialog', { name: model });
  };
  const clips = await panelOf('films/clips');
  await clips.getByText(/^Video\$0\.10 a second$/).waitFor();
  await clips.getByText(/^Video in 1080p with audio\$0\.25 a second$/).waitFor();
  await clips.getByText('/v1/videos').waitFor();
  assert.equal(await clips.getByText(/million|unknown price|chat\/completions/).count(), 0);
  await assertSound(visitor);
  const others = await panelOf('priced/all');
  await others.getByText(/^Audio input\$3\.00$/).waitFor();
  await others.getByText(/^Request\$0\.02 a request$/).waitFor();
  await others.getByText(/^Web search\$0\.01 a search$/).waitFor();
  await others.getByText(/^Image\$0\.00361300 an image$/).waitFor();
  const embedding = await panelOf('sandbox/embed');
  await embedding.getByText('/v1/embeddings').waitFor();

  const video = await panelOf('sandbox/video');
  const user = video.getByRole('row', { name: /^test / });
  await user.getByTitle('Show these videos').first().waitFor();
  await user.getByRole('link', { name: 'test' }).click();
  await page.waitForURL(/\/videos\?.*key=/);
  await page.getByRole('main').getByText('A paper boat').first().waitFor();
  assert.ok(id);
});

/** Waits until these models are shown, and no others. */
async function assertShown(page: Page, ids: readonly string[]): Promise<void> {
  const names = page.locator('tbody tr[data-opens] button span:first-child');
  await eventually({}, async () => (await names.allInnerTexts()).toSorted().join() === ids.join());
  await page
    .locator('[data-spoken]')
    .getByText(new RegExp(`^${ids.length} of `))
    .waitFor();
}

test('filters narrow the list, are in the address, and are taken back', async () => {
  const visitor = await signInAsAdmin(browser, gateway);
  const { page } = visitor;
  await page.goto(`${gateway.url}/ui/models?provider=local`);
  await assertShown(page, ['local/large', 'local/small', 'local/unknown']);
  const choose = async (label: string, option: string) => {
    await page.getByRole('combobox', { name: label, exact: true }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };
  await choose('Price', 'In at most $1');
  await assertShown(page, ['local/small']);
  await choose('Price', 'Any price');
  await choose('Context', '128 k tokens or more');
  await assertShown(page, ['local/large']);
  await choose('Context', 'Any context');
  await choose('Takes', 'Takes image');
  await assertShown(page, ['local/large']);
  await page.getByRole('button', { name: 'Tools', exact: true }).click();
  await page.waitForURL(/can=tools/);
  await assertShown(page, ['local/large']);
  await page.reload();
  await assertShown(page, ['local/large']);
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  await page.getByRole('button', { name: 'Zero retention' }).click();
  await assertShown(page, ['house/quiet']);
  await assertSound(visitor);
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  const words = page.getByRole('searchbox');
  await words.pressSequentially('local/sm');
  await assertShown(page, ['local/small']);
  assert.equal(await words.inputValue(), 'local/sm');
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  assert.equal(await words.inputValue(), '');
});

for (const theme of THEMES) {
  test(`operators see endpoints, times, names, lines and users of a model, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui', { theme });
    const { page } = visitor;
    await page.goto(`${gateway.url}/ui/models?open=house/quiet`);
    const panel = page.getByRole('dialog', { name: 'house/quiet' });
    await panel.getByRole('row', { name: /^local\/large 0 \d+ ms .* none$/ }).waitFor();
    await panel.getByText('best', { exact: true }).waitFor();
    await panel.getByRole('row', { name: /^aliases\.best house\/quiet file, line \d+$/ }).waitFor();
    await panel.getByRole('row', { name: /^test 3 \$/ }).waitFor();
    await assertSound(visitor);
    await page.setViewportSize({ width: 360, height: 900 });
    await assertFits(page);
    await panel.getByRole('link', { name: 'test' }).click();
    await page.waitForURL(/\/requests\?.*key=/);
    await page
      .getByRole('row', { name: /house\/quiet/ })
      .first()
      .waitFor();
  });
}

test('a visitor without a key sees models, and nothing of the operation', async () => {
  const visitor = await visit(browser, `${gateway.url}/ui/models?open=house/quiet`);
  const panel = visitor.page.getByRole('dialog', { name: 'house/quiet' });
  await panel.getByRole('heading', { name: 'Try it' }).waitFor();
  assert.equal(await panel.getByRole('heading', { name: /Endpoints|Used by/ }).count(), 0);
  assert.equal(await visitor.page.getByRole('button', { name: 'Zero retention' }).count(), 0);
  const head = await visitor.page.getByRole('columnheader').allInnerTexts();
  assert.ok(head.includes('Context') && !head.includes('First byte') && !head.includes('Price changed'));
  assert.equal(await panel.getByText(/hanged/).count(), 0);
  await assertSound(visitor);
});

test('up to four models stand side by side, with marks where they differ', async () => {
  const visitor = await signInAsAdmin(browser, gateway);
  await visitor.page.goto(`${gateway.url}/ui/models?compare=local/large,local/small`);
  const compared = visitor.page.getByRole('region', { name: 'Models side by side' });
  await compared.getByRole('row', { name: /^Context differs 400,000 8,000$/ }).waitFor();
  await compared.getByRole('row', { name: /^Tools differs yes no$/ }).waitFor();
  await compared.getByRole('row', { name: /^Gives text text$/ }).waitFor();
  await assertSound(visitor);
});

test('pages that show no more than names of models read these alone', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/requests');
  const lists: string[] = [];
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname === '/v1/models') lists.push(search);
  });
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog', { name: 'Commands' }).getByRole('combobox').fill('local/large');
  await page.getByRole('option', { name: 'local/large' }).waitFor();
  for (const path of ['explain', 'playground', 'setup']) {
    await page.goto(`${gateway.url}/ui/${path}`);
    await page
      .getByLabel(/^Model/)
      .first()
      .waitFor();
  }
  assert.deepEqual(lists, Array(4).fill('?view=names'));
  await page.goto(`${gateway.url}/ui/models`);
  await page.getByText('local/large').first().waitFor();
  assert.equal(lists.at(-1), '');
});
