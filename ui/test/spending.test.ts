/** What keys and tags spent: marked where a part is estimated or unknown, and leading to the requests or videos of the sum. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import type { Store } from '../../src/store/store.ts';
import { answerJson, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import { interceptAnswers, removeCuts, tryAgain } from './answers.ts';
import {
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayWithPages,
  THEMES,
  TOKEN,
} from './browser.ts';

const ANSWER = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
};
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const PART = 'Token counts of a part are estimates';
const KEYS = ['exact', 'guessed', 'unknown', 'partly', 'films', 'many'];
/** One more than a table of models has lines for. */
const MANY = Array.from({ length: 21 }, (_, index) => `m${index}`);
const keyOf = (name: string) => `sk-test-of-${name}-0123456789`;

const VIDEO = {
  ...{ id: 'video-1', model: 'up/video', endpoint_provider: 'up', endpoint_model: 'video' },
  ...{ protocol_in: 'videos', protocol_out: 'videos', stream: 0, status: 'completed' as const },
  ...{ error_code: null, finish: null, estimated: 0, attempts: 1, input_tokens: 0, output_tokens: 0 },
  ...{ cached_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0, audio_tokens: 0, searches: 0 },
  ...{ first_byte_ms: null, total_ms: 10, upstream_id: null, cost: 500_000_000_000n, revision: 1 },
};

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;
let store: Store;

before(async () => {
  upstream = await startUpstream(({ body }, response) =>
    answerJson(response, body.model === 'silent' ? ANSWER : { ...ANSWER, usage: USAGE }),
  );
  const price = 'pricing: { prompt: "0.001", completion: "0.001" }';
  const keys = KEYS.map(
    (name) => `{ name: ${name}, key: ${keyOf(name)}, tags: { team: ${name} }, budgets: { month: "900.00" } }`,
  );
  gateway = await startGatewayWithPages(
    `admin: { token: ${TOKEN}, port: 0 }
tags: { team=partly: { budgets: { day: "800.00" } } }
providers:
  one:
    type: openai-compatible
    base_url: "${upstream.url}/v1"
    api_key: x
    models: [{ id: counts, ${price} }, { id: silent, ${price} }, { id: no-price }, ${MANY.map((id) => `{ id: ${id}, ${price} }`)}]`,
    {
      keys,
      wrapStore(opened) {
        store = opened;
        return opened;
      },
    },
  );
  for (const [name, model] of [
    ...[
      ['exact', 'counts'],
      ['guessed', 'counts'],
      ['guessed', 'silent'],
    ],
    ...[
      ['unknown', 'no-price'],
      ['partly', 'no-price'],
      ['partly', 'counts'],
    ],
    ...['no-price', ...MANY].map((model) => ['many', model]),
  ] as const) {
    assert.equal((await ask(gateway, keyOf(name as string), `one/${model}`)).status, 200);
  }
  const row = { ...VIDEO, started_at: Date.now(), key_id: 'config:films', tags: 'team=films' };
  await store.call('recordTaskUsage', { row, held: false });
  browser = await openBrowser();
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

/** What is beside the bar of a budget, on the page of a key. */
const budgetOf = (page: Page, period: RegExp) =>
  page
    .getByRole('region', { name: 'Limits' })
    .locator('div', { has: page.getByRole('img', { name: period }) })
    .last();

/** The marks of a place with figures, once it says what it shows. */
async function assertMarks(place: Locator, { text, estimated = 0 }: { text: RegExp; estimated?: number }) {
  await place.getByText(text).first().waitFor();
  assert.equal(await place.getByTitle(PART).count(), estimated, await place.innerText());
}

for (const path of ['keys', 'tags'] as const) {
  test(`the page of ${path} marks estimates and unknown costs, in its list and its panel`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, `/ui/${path}`);
    const { page } = visitor;
    const nameOf = (name: string) => (path === 'keys' ? name : `team=${name}`);
    const row = (name: string) => page.getByRole('row', { name: new RegExp(`^${nameOf(name)}`) });
    const budgets = path === 'keys' ? 1 : 0;
    await assertMarks(row('exact'), { text: /\$0\.015/ });
    await assertMarks(row('guessed'), { text: /\$0\.0/, estimated: 2 + budgets });
    await assertMarks(row('partly'), { text: /\+ unknown/ });
    await assertMarks(row('unknown'), { text: /^unknown$/ });
    assert.doesNotMatch(await row('unknown').locator('td.number').allInnerTexts().then(String), /\$0\.00(?!\d)/);
    await assertSound(visitor);
    await assertFits(page);
    for (const [name, text, estimated] of [
      ['guessed', /\$0\.0/, 4 + budgets],
      ['partly', /\+ unknown/, 0],
      ['unknown', /^unknown$/, 0],
    ] as const) {
      await page.goto(
        `${gateway.url}/ui/${path}?open=${encodeURIComponent(path === 'keys' ? `config:${name}` : nameOf(name))}`,
      );
      const panel = page.getByRole('dialog', { name: nameOf(name) });
      await assertMarks(panel, { text, estimated });
      if (path === 'keys' && name === 'partly') {
        const shared = panel.locator('section', { hasText: 'Shared by all keys' });
        await assertMarks(shared, { text: /\+ unknown/ });
      }
      if (name !== 'guessed') await panel.getByText(/nothing says its price: one\/no-price/).waitFor();
      await assertSound(visitor);
    }
  });

  test(`the page of ${path} asks for no report of use, and its panel only where a model has no price`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, `/ui/${path}`);
    const { page } = visitor;
    const reports: string[] = [];
    page.on('request', (request) => void (request.url().includes('/v1/usage?') && reports.push(request.url())));
    const panelOf = (name: string) => {
      const id = path === 'keys' ? `config:${name}` : `team=${name}`;
      return page.goto(`${gateway.url}/ui/${path}?open=${encodeURIComponent(id)}`);
    };
    await panelOf('exact');
    await page
      .getByRole('dialog')
      .getByText(/\$0\.015/)
      .first()
      .waitFor();
    await page
      .getByRole('row', { name: /partly.*\+ unknown/ })
      .first()
      .waitFor();
    assert.deepEqual(reports, []);
    const answers = await interceptAnswers(page, /\/v1\/usage\?/);
    await answers.cut();
    await panelOf('partly');
    const panel = page.getByRole('dialog');
    await panel.getByText(/Names of models without a price are missing/).waitFor();
    await assertMarks(panel, { text: /\+ unknown/ });
    await answers.pass();
    await tryAgain(page);
    await panel.getByText(/nothing says its price: one\/no-price/).waitFor();
    removeCuts(visitor);
    await assertSound(visitor);
  });

  test(`spending for videos alone on the page of ${path} leads to no requests`, async () => {
    const { page } = await signInAsAdmin(browser, gateway, `/ui/${path}`);
    const row = page.getByRole('row', { name: path === 'keys' ? /^films/ : /^team=films/ });
    const figure = row.locator('td.number').filter({ hasText: '$0.50' }).first();
    await figure.waitFor();
    if (path === 'tags') return assert.equal(await figure.getByRole('link').count(), 0, 'videos have no filter by tag');
    await figure.getByTitle('Show these videos').click();
    await page.getByRole('heading', { name: 'Videos', level: 1 }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('key'), 'config:films');
  });
}

for (const theme of THEMES) {
  test(`the holder of a key sees what of its spending is estimated or unknown, in the ${theme} theme`, async () => {
    const guessed = await signInWithKey(browser, gateway, keyOf('guessed'), '/ui/key', { theme });
    await assertMarks(guessed.page.getByRole('region', { name: 'Limits' }), { text: /\$0\.0/, estimated: 1 });
    const spent = guessed.page.locator('dl > div', { hasText: /^Spent/ });
    await assertMarks(spent, { text: /\$0\.0/, estimated: 1 });
    const line = guessed.page.getByRole('row', { name: /^one.silent/ });
    await assertMarks(line, { text: /\$0\.0/, estimated: 1 });
    await assertSound(guessed);
    await guessed.page.setViewportSize({ width: 360, height: 900 });
    await assertFits(guessed.page);
    const partly = await signInWithKey(browser, gateway, keyOf('partly'), '/ui/key', { theme });
    for (const budget of [/this month/, /today/])
      await assertMarks(budgetOf(partly.page, budget), { text: /\+ unknown/ });
    await assertMarks(partly.page.locator('dl > div', { hasText: /^Spent/ }), { text: /\+ unknown/ });
    const many = await signInWithKey(browser, gateway, keyOf('many'), '/ui/key', { theme });
    const byModel = many.page.getByRole('region', { name: 'By model' });
    await assertMarks(byModel.getByRole('row', { name: /^Other/ }), { text: /\+ unknown/ });
    assert.equal(await byModel.getByText('unknown').count(), 1);
    const films = await signInWithKey(browser, gateway, keyOf('films'), '/ui/key', { theme });
    await films.page.getByRole('region', { name: 'Limits' }).getByTitle('Show these videos').waitFor();
  });
}
