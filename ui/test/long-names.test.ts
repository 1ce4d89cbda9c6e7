/** Long names: they end within their column, push no other out of view, and no page gets wider for them. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import {
  adminOf,
  ask,
  assertFits,
  assertSound,
  openBrowser,
  settled,
  signInAsAdmin,
  signInWithKey,
  startGatewayForOperators,
} from './browser.ts';

const NARROW = 390;
/** Names of keys are not longer. */
const NAME = 'a-key-of-a-program-that-makes-names-'.repeat(3).slice(0, 100);
const OWNER = 'first.and.last.name.of.somebody@a-department.of-a-company.example.com';
const TAG = ['cost-centre-of-a-department', 'a-value-that-is-as-long-as-its-name-0123456789'] as const;
const MODEL = 'a-model-of-a-house-that-names-its-models-by-all-that-it-knows-'.repeat(2).slice(0, 94);
const ID = `house/${MODEL}`;
/** A request costs thousands. */
const DEAR = 'dear';

/** Runs in the page: texts of the cells whose content does not fit. */
const WIDER_THAN_THEIR_COLUMN = `[...document.querySelectorAll('tbody td')]
  .filter((cell) => cell.scrollWidth > cell.clientWidth && getComputedStyle(cell).textOverflow !== 'ellipsis')
  .map((cell) => cell.textContent)`;
/** Runs in the page: names of tables some of whose columns are out of view. */
const TABLES_WITH_HIDDEN_COLUMNS = `[...document.querySelectorAll('section:has(> table)')]
  .filter((region) => region.scrollWidth > region.clientWidth)
  .map((region) => region.getAttribute('aria-label') + ', ' + region.scrollWidth + ' > ' + region.clientWidth)`;

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;

before(async () => {
  let isLimited = false;
  upstream = await startUpstream((call, response) => {
    if (isLimited && call.body.model !== DEAR) {
      answerJson(response, { error: { message: 'Not now.' } }, 429);
      return;
    }
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 123_456, completion_tokens: 12_345, total_tokens: 135_801 };
    answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: MODEL, choices, usage });
  });
  const price = 'pricing: { prompt: "0.00000123", completion: "0.00000456" }';
  const house = `house: { type: openai-compatible, base_url: "${upstream.url}", api_key: x, models: [{ id: ${MODEL}, ${price} }, { id: ${DEAR}, pricing: { prompt: "9.87654321", completion: "1" } }] }`;
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators(`providers: { ${house} }`)]);
  const { key } = await adminOf(gateway)('POST', '/keys', {
    name: NAME,
    owner: OWNER,
    tags: { [TAG[0]]: TAG[1] },
    models: [ID],
    budgets: { month: '25.00' },
  });
  for (const secret of [key, KEY])
    assert.equal((await ask(gateway, secret, ID, { 'x-session-id': 'a-conversation-'.repeat(6) })).status, 200);
  isLimited = true;
  assert.equal((await ask(gateway, key, ID)).status, 429);
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

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

/** Runs in the page: texts of an opened panel that are cut. */
const CUT_IN_PANEL = `[...document.querySelectorAll('[role=dialog]:not([hidden]) :is(dt, dd)')]
  .filter((fact) => fact.scrollWidth > fact.clientWidth || fact.getBoundingClientRect().right > innerWidth)
  .map((fact) => fact.textContent)`;

test('names without a place for a line end fit charts and panels', async () => {
  const { key, data } = await adminOf(gateway)('POST', '/keys', {
    name: 'a_key_of_a_program_'.repeat(5),
    owner: 'somebody_'.repeat(20),
    tags: { team: 'of_a_house_'.repeat(5) },
    metadata: { ['n'.repeat(60)]: 'note_'.repeat(50) },
  });
  assert.equal((await ask(gateway, key)).status, 200);
  const { page } = await signInAsAdmin(browser, gateway, '/ui/use?by=key', { width: NARROW });
  await page.getByRole('figure').getByText(data.name).waitFor();
  await assertFits(page);
  await page.goto(`${gateway.url}/ui/keys?open=${data.hash}`);
  await page.getByRole('dialog').getByText('somebody_somebody_').waitFor();
  assert.deepEqual(await page.evaluate<string[]>(CUT_IN_PANEL), []);
});

/** Runs in the page: whether the first letter of an owner is in its column, where the owner is cut. */
const SHOWS_FIRST_LETTER = (owner: string) => `(() => {
  const cut = document.querySelector(${JSON.stringify(`[title="${owner}"]`)});
  const letter = document.createRange();
  letter.setStart(cut.firstChild, 0);
  letter.setEnd(cut.firstChild, 1);
  const [column, first] = [cut.getBoundingClientRect(), letter.getBoundingClientRect()];
  return cut.scrollWidth > cut.clientWidth && first.left >= column.left && first.right <= column.right + 1;
})()`;

test('a name that runs from right to left is cut at its end', async () => {
  const owner = 'قارب من ورق في النهر الطويل جدا والبعيد جدا';
  await adminOf(gateway)('POST', '/keys', { name: 'right to left', owner });
  const { page } = await signInAsAdmin(browser, gateway, '/ui/keys', { width: NARROW });
  await page.getByText(owner).waitFor();
  assert.ok(await page.evaluate<boolean>(SHOWS_FIRST_LETTER(owner)));
});

/** With what has to be shown. */
const PAGES = {
  Requests: ['/ui/requests', ID],
  Conversations: ['/ui/requests?view=sessions', 'a-conversation'],
  'Use by model': ['/ui/use?by=model', ID],
  'Use by key and model': ['/ui/use?by=key&second=model', NAME],
  Keys: ['/ui/keys', NAME],
  Tags: ['/ui/tags', TAG[1]],
  Models: ['/ui/models?find=house', ID],
  'a comparison of models': [`/ui/models?find=house&compare=${ID},sandbox/echo`, ID],
  'a model': [`/ui/models?find=house&open=${ID}`, NAME],
  Explain: [`/ui/explain?model=${ID}`, ID],
  Health: ['/ui/health', ID],
} as const;

for (const [name, [path, text]] of Object.entries(PAGES)) {
  test(`all columns of ${name} are in view beside long names`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, path);
    await showsAllColumns(visitor.page, text);
    await assertSound(visitor);
  });
}

test('all columns of the page of a key are in view beside long names', async () => {
  const visitor = await signInWithKey(browser, gateway, KEY, '/ui/key');
  await showsAllColumns(visitor.page, ID);
  await assertSound(visitor);
});

async function showsAllColumns(page: Page, text: string): Promise<void> {
  await page
    .getByRole('cell', { name: text })
    .or(page.getByRole('columnheader', { name: text }))
    .first()
    .waitFor();
  const hidden = () => page.evaluate<string[]>(TABLES_WITH_HIDDEN_COLUMNS);
  assert.deepEqual(await settled(hidden, ({ length }) => length === 0), []);
}

/** Runs in the page: parts of texts that stand on several lines. */
const BROKEN_PARTS = (
  elements: string,
  part: RegExp,
) => `[...document.querySelectorAll(${JSON.stringify(elements)})].flatMap((element) => {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const letters = [];
  while (texts.nextNode()) {
    for (let at = 0; at < texts.currentNode.length; at++) {
      const letter = document.createRange();
      letter.setStart(texts.currentNode, at);
      letter.setEnd(texts.currentNode, at + 1);
      letters.push(letter.getBoundingClientRect().bottom);
    }
  }
  const isBroken = ({ 0: { length }, index }) => new Set(letters.slice(index, index + length)).size > 1;
  return [...element.textContent.matchAll(${part})].filter(isBroken).map(([found]) => found);
})`;

test('no line ends within a large sum, or within a word of the name of a setting', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/use', { width: 360 });
  await page.clock.install();
  await page.goto(`${gateway.url}/ui/use`);
  const large = page
    .getByRole('definition')
    .filter({ hasText: /\$\d\d,\d{3}\.\d{8}/ })
    .first();
  await page
    .getByRole('definition')
    .filter({ hasText: /\$0\.\d/ })
    .first()
    .waitFor();
  for (let count = 0; count < 3; count++) assert.equal((await ask(gateway, KEY, `house/${DEAR}`)).status, 200);
  // The sum grows in place when it is read again.
  await page.clock.fastForward(60_000);
  await large.waitFor();
  assert.deepEqual(await page.evaluate(BROKEN_PARTS('dl dd', /\$[\d,.]+/g)), []);
  for (const path of ['use', 'requests']) {
    await page.goto(`${gateway.url}/ui/${path}`);
    await large.waitFor();
    for (const width of [360, NARROW, 640, 1024, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      assert.deepEqual(await page.evaluate(BROKEN_PARTS('dl dd', /\$[\d,.]+/g)), [], `${path}, ${width} wide`);
      await assertFits(page);
    }
  }
  await page.setViewportSize({ width: NARROW, height: 900 });
  await page.goto(`${gateway.url}/ui/config?all=true`);
  await page.getByText('key_defaults.limits.requests_per_minute').waitFor();
  assert.deepEqual(await page.evaluate(BROKEN_PARTS('td:first-child button', /[^._]+[._]?/g)), []);
});

test('a line ends within no part of a name that fits, and names of models are whole beside columns out of view', async () => {
  await adminOf(gateway)('POST', '/keys', { name: 'in-parts', tags: { team: 'platform' } });
  assert.equal((await ask(gateway, KEY, 'sandbox/reasoner')).status, 200);
  const visitor = await signInWithKey(browser, gateway, KEY, '/ui/key', { width: 360 });
  await showsWhole(visitor.page, 'sandbox/reasoner');
  const { page } = await signInAsAdmin(browser, gateway, '/ui/tags', { width: 360 });
  await showsWhole(page, 'team=platform');
  for (const path of ['health', 'use?by=model', 'use?by=key&second=model', 'models?open=sandbox/reasoner']) {
    await page.goto(`${gateway.url}/ui/${path}`);
    await showsWhole(page, 'sandbox/reasoner');
  }
  await page.goto(`${gateway.url}/ui/models?find=sandbox`);
  await page.getByText('Sandbox Reasoner (no AI)').waitFor();
  const cut = `[...document.querySelectorAll('tbody .truncate')].filter((name) => name.scrollWidth > name.clientWidth).length`;
  assert.equal(await page.evaluate(cut), 0);
});

async function showsWhole(page: Page, name: string): Promise<void> {
  await page.locator('td.name').filter({ hasText: name }).first().waitFor();
  assert.deepEqual(await page.evaluate(BROKEN_PARTS('td.name', /sandbox\/|reasoner|team=|platform/g)), [], page.url());
}

test('a cost that is limited is told beside its lines, which are more', async () => {
  const answer = await ask(gateway, KEY, `house/${DEAR}`);
  const id = answer.headers.get('x-polygate-request-id');
  const visitor = await signInAsAdmin(browser, gateway, `/ui/requests?open=${id}`);
  const charge = visitor.page.getByRole('dialog').getByRole('region', { name: 'Use and cost' }).locator('..');
  await charge.getByText('The cost is limited to the most that is charged for one request.').waitFor();
  await charge.getByRole('row', { name: /^Input 123,456 / }).waitFor();
  await charge.getByRole('row', { name: 'In all 135,801 $5,000.00' }).waitFor();
  await assertSound(visitor);
});
