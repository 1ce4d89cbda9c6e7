/** Playground over every protocol, explanations and health. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import {
  adminOf,
  ask,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayForOperators,
  type Theme,
} from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const wire of ['chat', 'messages', 'generate', 'responses']) {
  test(`two models answer side by side over ${wire}`, async () => {
    const path = `/ui/playground?wire=${wire}&models=sandbox/echo,sandbox/reasoner`;
    const visitor = await signInAsAdmin(browser, gateway, path, { theme: wire === 'chat' ? 'dark' : 'light' });
    const { page } = visitor;
    await page.getByLabel('User').fill('<b>Ping</b> of a paper boat');
    await page.keyboard.press('Control+Enter');
    for (const model of ['sandbox/echo', 'sandbox/reasoner']) {
      const card = page.getByRole('region', { name: model });
      await card.getByText('<b>Ping</b> of a paper boat').waitFor();
      await card.getByText(/\d out/).waitFor();
    }
    await assertSound(visitor);
    const card = page.getByRole('region', { name: 'sandbox/echo' });
    await card.getByRole('button', { name: 'Wire' }).click();
    await page.waitForURL(/view=wire/);
    await card.getByRole('heading', { name: /What went upstream/ }).waitFor();
    await assertSound(visitor);
  });
}

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
/** Members by which each protocol offers a tool and asks for reasoning. */
const OFFERS = {
  chat: {
    tools: [{ type: 'function', function: { name: 'look_up', parameters: SCHEMA } }],
    reasoning_effort: 'low',
  },
  messages: {
    tools: [{ name: 'look_up', input_schema: SCHEMA }],
    max_tokens: 4096,
    thinking: { type: 'enabled', budget_tokens: 1024 },
  },
  generate: {
    tools: [{ functionDeclarations: [{ name: 'look_up', parameters: SCHEMA }] }],
    generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } },
  },
  responses: {
    tools: [{ type: 'function', name: 'look_up', parameters: SCHEMA, strict: false }],
    reasoning: { effort: 'low', summary: 'auto' },
  },
};

for (const [wire, more] of Object.entries(OFFERS)) {
  test(`reasoning, tool calls and the cost of an answer are shown over ${wire}, streamed and whole`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, `/ui/playground?wire=${wire}&models=sandbox/reasoner`);
    const { page } = visitor;
    await page.getByLabel('User').fill('Where is Oslo?');
    await page.getByLabel('More fields').fill(JSON.stringify(more));
    for (const isStreamed of [true, false]) {
      await page.getByLabel('Stream').setChecked(isStreamed);
      await page.getByRole('button', { name: 'Send' }).click();
      const card = page.getByRole('region', { name: 'sandbox/reasoner' });
      await card.getByText(/cost \$0\.00/).waitFor();
      await card.getByText(/Step 1: the user wrote "Where"/).waitFor();
      const call = card.getByRole('region', { name: 'Tool call look_up' });
      assert.match((await call.locator('pre').textContent()) ?? '', /^\{\s*"city": "[^"]*"\s*\}$/);
      assert.equal(await card.getByRole('region').count(), 1);
    }
    await assertSound(visitor);
  });
}

test('the cost of an answer is found though many requests of another key end meanwhile', async () => {
  const { key } = await adminOf(gateway)('POST', '/keys', { name: 'busy' });
  const { data } = await adminOf(gateway)('GET', '/keys?search=test');
  const visitor = await signInAsAdmin(browser, gateway, `/ui/playground?models=sandbox/reasoner&key=${data[0].hash}`);
  const { page } = visitor;
  const isList = ({ pathname }: URL) => pathname === '/admin/v1/requests';
  await page.route(
    isList,
    async (route) => {
      await Promise.all(Array.from({ length: 60 }, () => ask(gateway, key)));
      await route.continue();
    },
    { times: 1 },
  );
  await page.getByLabel('User').fill('Where is Oslo?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page
    .getByRole('region', { name: 'sandbox/reasoner' })
    .getByText(/cost \$0\.00/)
    .waitFor();
});

test('a growing answer is announced once in five seconds, and its end always', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/playground?models=sandbox/echo');
  const { page } = visitor;
  await page.getByRole('status').first().waitFor({ state: 'attached' });
  await page.evaluate(`(() => {
    globalThis.changes = [];
    const note = (records) => {
      const isStatus = ({ target }) => (target.nodeType === 3 ? target.parentElement : target)?.closest('[role=status], [aria-live]');
      if (records.some(isStatus)) globalThis.changes.push(performance.now());
    };
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
  })()`);
  await page.getByLabel('User').fill('word '.repeat(300));
  await page.getByRole('button', { name: 'Send' }).click();
  await page
    .getByRole('status')
    .getByText(/sandbox.echo over chat has answered, \d+ tokens\./)
    .waitFor({ state: 'attached' });
  const changes = await page.evaluate<number[]>('globalThis.changes');
  assert.ok(changes.length >= 1);
  // A busy browser shows one later than another.
  for (const [index, at] of changes.slice(1).entries()) assert.ok(at - (changes[index] ?? 0) > 4000, String(changes));
});

test('the holder of a key asks with it, and a refusal is said in the words of the gateway', async () => {
  const { page } = await signInWithKey(browser, gateway, KEY, '/ui/playground?models=sandbox/no-such-model');
  await page.getByLabel('User').fill('Hello');
  await page.getByRole('button', { name: 'Send' }).click();
  await page
    .getByRole('alert')
    .getByText(/no-such-model/)
    .waitFor();
});

for (const theme of ['light', 'dark'] satisfies Theme[]) {
  test(`a request that is only thought of is explained, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/explain?protocol=messages', { theme });
    const { page } = visitor;
    await page.getByRole('row', { name: /1 sandbox.echo/ }).waitFor();
    await page.getByLabel(/Policy/).fill('{"sort": ');
    await page.getByText(/The policy is not JSON/).waitFor();
    await page.getByLabel(/Policy/).fill('{"sort": "price"}');
    await page.getByText(/The policy is not JSON/).waitFor({ state: 'hidden' });
    await page.waitForURL(/sort/);
    await assertSound(visitor);
  });

  test(`endpoints have their times, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/health', { theme });
    const row = visitor.page.getByRole('row', { name: /sandbox.echo/ });
    await row.getByText('healthy').waitFor();
    assert.match((await row.getByRole('cell').nth(6).textContent()) ?? '', /^(streamed|whole) [\d,]+ \/ [\d,]+ ms/);
    await assertSound(visitor);
  });
}
