/** Wire view of the playground: its four states, a dropped field at its place, two protocols compared, and keys alone. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  answerJson,
  createPermits,
  KEY,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../../test/gateway/harness.ts';
import { providePostgres, type TestDatabase } from '../../test/store/postgres-server.ts';
import { forEachStore } from '../../test/store/stores.ts';
import {
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayWithPages,
  TOKEN,
  type Visit,
} from './browser.ts';

const ADMIN = `admin: { token: ${TOKEN}, port: 0 }`;
const WORDS = ['The', ' Danube', ' crosses', ' borders'];
const MAX_TABS = 120;
const permits = createPermits();

let browser: Browser;
let upstream: TestUpstream;

before(async () => {
  browser = await openBrowser();
  upstream = await startUpstream(async ({ body }, response) => {
    if (JSON.stringify(body).includes('wait for it')) await permits.take();
    const about = { id: 'chatcmpl-1', created: 1, model: 'gpt' };
    const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
    if (!body.stream) {
      const message = { role: 'assistant', content: WORDS.join('') };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      answerJson(response, { ...about, object: 'chat.completion', choices, usage });
      return;
    }
    const frame = (choices: object[], more: object = {}) =>
      `data: ${JSON.stringify({ ...about, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
    const texts = WORDS.map((content) => frame([{ index: 0, delta: { content }, finish_reason: null }]));
    const last = frame([{ index: 0, delta: {}, finish_reason: 'stop' }]);
    response.writeHead(200, { 'content-type': 'text/event-stream', trailer: 'x-request-id, date' });
    response.addTrailers({ 'x-request-id': 'late-1', date: new Date().toUTCString() });
    response.end(`${texts.join('')}${last}${frame([], { usage })}data: [DONE]\n\n`);
  });
});
after(() => Promise.all([browser.close(), upstream.close()]));

function startGateway(more = '', database?: TestDatabase): Promise<TestGateway> {
  const providers = `providers: { demo: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: sk-demo-0123456789, models: [{ id: gpt, pricing: { prompt: "0.000001", completion: "0.000002" } }] } }`;
  return startGatewayWithPages(`${ADMIN}\n${providers}\n${more}`, database && { postgres: database.url });
}

/** Asks for what the upstream has no field for. */
async function send(page: Page, text = 'Name a river that crosses a border.'): Promise<void> {
  await page.getByLabel('User').fill(text);
  await page.getByLabel('More fields').fill('{ "top_k": 5 }');
  await page.getByLabel('User').press('Control+Enter');
}

async function assertFits({ page }: Visit): Promise<void> {
  const isWider = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth');
  assert.equal(isWider, false, 'the page scrolls sideways');
}

/** Goes on by the tabulator until a button of this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let count = 0; count < MAX_TABS; count++) {
    await page.keyboard.press('Tab');
    const text = await page.evaluate<string>('document.activeElement?.textContent ?? ""');
    if (text === name) return;
  }
  assert.fail(`${name} cannot be reached by the keyboard`);
}

const WIRE = '/ui/playground?wire=messages&models=demo/gpt&view=wire';

forEachStore((engine) =>
  describe(`on ${engine}`, () => {
    let database: TestDatabase | undefined;
    let gateway: TestGateway;
    before(async () => {
      database = engine === 'postgres' ? await providePostgres() : undefined;
      gateway = await startGateway('', database);
    });
    after(async () => {
      await gateway.close();
      await database?.close();
    });

    for (const [theme, width] of [
      ['light', 1280],
      ['dark', 1920],
      ['light', 360],
    ] as const) {
      test(`a dropped field is seen at its place, in the ${theme} theme at ${width} pixels`, async () => {
        const visitor = await signInAsAdmin(browser, gateway, WIRE, { theme, width });
        const { page } = visitor;
        await send(page);
        const request = page.getByRole('region', { name: /^Request, demo/ });
        await request.getByRole('listitem').filter({ hasText: 'top_k' }).getByText('dropped').waitFor();
        const limit = request.getByRole('listitem').filter({ hasText: 'max_tokens' });
        assert.match((await limit.textContent()) ?? '', /max_tokens.*(same|renamed).*max(_completion)?_tokens/);
        await page.getByText(/Translated from messages to chat for demo.gpt, and back. Dropped: top_k/).waitFor();
        const frames = page.getByRole('region', { name: /^Response, demo/ }).getByRole('listitem');
        const row = frames.filter({ hasText: ' Danube' });
        assert.match((await row.textContent()) ?? '', /\+\d+ ms" Danube".*content_block_delta" Danube"/);
        await assertSound(visitor);
        await assertFits(visitor);
        await request.getByRole('button', { name: 'Name a river' }).first().click();
        assert.equal(await request.locator('[data-lit]').count(), 2, 'the value is lit on both sides');
        await request.getByRole('button', { name: /^dropped/ }).click();
        assert.equal(await request.getByRole('listitem').filter({ hasText: 'top_k' }).count(), 0);
        await request.getByText('headers').first().click();
        const response = page.getByRole('region', { name: /^Response, demo/ });
        await response.getByText('1 trailer', { exact: true }).click();
        await response.getByText(/^0\.0000\d+$/).waitFor();
        await response.getByText('2 trailers', { exact: true }).click();
        await response.getByText('late-1').waitFor();
        assert.equal((await page.content()).includes('sk-demo'), false);
        await assertSound(visitor);
      });
    }

    test('the holder of a key sees the own request without addresses', async () => {
      const visitor = await signInWithKey(browser, gateway, KEY, WIRE);
      const { page } = visitor;
      await send(page);
      await page.getByText('POST, at an address that operators know').waitFor();
      assert.equal((await page.content()).includes(upstream.url), false);
      await page.getByRole('button', { name: 'Explain' }).click();
      await page.getByRole('row', { name: /demo.gpt/ }).waitFor();
      await assertSound(visitor);
    });
  }),
);

describe('the wire', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
  });
  after(() => gateway.close());

  test('is empty before a request, and has an example', async () => {
    const visitor = await signInAsAdmin(browser, gateway, WIRE);
    const { page } = visitor;
    await page.getByText('Nothing was asked yet').waitFor();
    await assertSound(visitor);
    await page.getByRole('button', { name: 'Fill in an example' }).click();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/Dropped: top_k/).waitFor();
  });

  test('waits for the end of the answer, and says so when that was stopped before its beginning', async () => {
    const visitor = await signInAsAdmin(browser, gateway, WIRE);
    const { page } = visitor;
    await send(page, 'Please wait for it.');
    await page.getByText('The wire is shown when the answer has ended.').waitFor();
    await assertSound(visitor);
    permits.give();
    await page.getByText(/Translated from messages to chat/).waitFor();
    await send(page, 'Please wait for it again.');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The gateway had not answered').waitFor();
    permits.give();
    await assertSound(visitor);
  });

  test('of a request that the gateway refuses has one side', async () => {
    const visitor = await signInAsAdmin(browser, gateway, WIRE.replace('demo/gpt', 'demo/none'));
    const { page, faults } = visitor;
    await send(page);
    await page.getByText('The gateway answered with status 404 itself; no upstream was asked.').waitFor();
    await page.getByText('Nothing went upstream').waitFor();
    await page.getByText(/not_found_error/).waitFor();
    faults.length = 0;
    await assertSound(visitor);
  });

  test('that cannot be read says so, and is read again', async () => {
    const visitor = await signInAsAdmin(browser, gateway, WIRE);
    const { page, faults } = visitor;
    await page.route('**/captures/**', (route) => route.abort());
    await send(page);
    await page.getByRole('alert').getByText('The gateway does not answer').waitFor();
    await page.getByRole('heading', { name: /What you got/ }).waitFor();
    await page.unroute('**/captures/**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: /What came back/ }).waitFor();
    faults.length = 0;
    await assertSound(visitor);
  });

  test('has the own half where captures are off', async () => {
    const closed = await startGateway('ui: { capture: false }');
    try {
      const visitor = await signInAsAdmin(browser, closed, WIRE);
      await send(visitor.page);
      await visitor.page.getByText(/made no capture of the request/).waitFor();
      await visitor.page.getByRole('heading', { name: /What you sent/ }).waitFor();
      await visitor.page
        .getByText(/content_block_delta/)
        .first()
        .waitFor();
      await assertSound(visitor);
    } finally {
      await closed.close();
    }
  });

  test('of two protocols is compared', async () => {
    const visitor = await signInAsAdmin(browser, gateway, WIRE, { theme: 'dark' });
    const { page } = visitor;
    await page.getByRole('combobox', { name: 'Compare with another protocol' }).click();
    await page.getByRole('option', { name: 'and over generate' }).click();
    await page.waitForURL(/and=generate/);
    await send(page);
    const card = page.getByRole('region', { name: 'demo/gpt over messages and over generate', exact: true });
    await card.getByRole('heading', { name: /Over generate you got/ }).waitFor();
    const requests = card.getByRole('region', { name: /^Requests, demo/ });
    await requests.getByRole('listitem').filter({ hasText: 'contents[0].role' }).getByText('reshaped').waitFor();
    const row = card.getByRole('listitem').filter({ hasText: '" Danube"' });
    assert.match((await row.textContent()) ?? '', /content_block_delta" Danube".*" Danube"/);
    await assertSound(visitor);
  });

  test('is reached, picked and left by keys alone', async () => {
    const visitor = await signInAsAdmin(browser, gateway, WIRE.replace('&view=wire', ''));
    const { page } = visitor;
    await page.getByLabel('User').focus();
    await page.keyboard.type('A river, please.');
    await page.keyboard.press('Control+Enter');
    await page.getByText(/\d out/).waitFor();
    await tabTo(page, 'Wire');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /What went upstream/ }).waitFor();
    await tabTo(page, '"A river, please."');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('[data-lit]').count(), 2);
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('[data-lit]').count(), 0);
    await tabTo(page, 'Code');
  });

  for (const [wire, ...parts] of [
    ['chat', '/v1/chat/completions', 'client.chat.completions.create', 'stream: true'],
    ['messages', '/anthropic/v1/messages', 'client.messages.create', 'max_tokens: 1024'],
    ['generate', ':streamGenerateContent?alt=sse', 'generateContentStream', 'contents: ['],
    ['responses', '/v1/responses', 'client.responses.create', 'store: false'],
  ] as const) {
    test(`as a program is there for ${wire}`, async () => {
      const path = `/ui/playground?wire=${wire}&models=demo/gpt&view=code`;
      const visitor = await signInAsAdmin(browser, gateway, path, { theme: wire === 'chat' ? 'dark' : 'light' });
      const { page } = visitor;
      await send(page, "It's one <b>river</b>.");
      const code = page.locator('pre');
      await code.getByText(parts[0]).waitFor();
      await page.getByRole('button', { name: 'Python' }).click();
      assert.match((await code.textContent()) ?? '', /os\.environ\["POLYGATE_KEY"\][\s\S]*It's one <b>river<\/b>/);
      await page.getByRole('button', { name: 'JavaScript' }).click();
      const text = (await code.textContent()) ?? '';
      for (const part of parts.slice(1)) assert.ok(text.includes(part), text);
      await assertSound(visitor);
    });
  }
});
