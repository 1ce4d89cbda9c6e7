/** Costs of requests whose upstream reports no tokens are marked as estimates, in rows and in sums. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  answerJson,
  KEY,
  post,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../../test/gateway/harness.ts';
import { assertSound, openBrowser, signInAsAdmin, startGatewayWithPages, TOKEN } from './browser.ts';

const ANSWER = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
};
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;

before(async () => {
  upstream = await startUpstream(({ body }, response) =>
    answerJson(response, body.model === 'counts' ? { ...ANSWER, usage: USAGE } : ANSWER),
  );
  const models = ['counts', 'silent'].map((id) => `{ id: ${id}, pricing: { prompt: "0.001", completion: "0.001" } }`);
  [browser, gateway] = await Promise.all([
    openBrowser(),
    startGatewayWithPages(
      `admin: { token: ${TOKEN}, port: 0 }
providers: { one: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [${models.join(', ')}] } }`,
    ),
  ]);
  await ask('counts', 'agent-exact');
  await ask('counts', 'agent-mixed');
  await ask('silent', 'agent-mixed');
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

async function ask(model: string, session: string): Promise<void> {
  const body = { model: `one/${model}`, messages: [{ role: 'user', content: 'Hello' }] };
  const headers = { authorization: `Bearer ${KEY}`, 'x-session-id': session };
  const response = await post(`${gateway.url}/v1/chat/completions`, body, headers);
  assert.equal(response.status, 200);
  await response.arrayBuffer();
}

const PART = 'Token counts of a part are estimates';
const costOf = (page: Page) => page.locator('dl > div', { hasText: /^Cost/ });

test('the sum of a list is marked if a part of it is estimated', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests?session=agent-mixed');
  const { page } = visitor;
  await costOf(page).getByTitle(PART).waitFor();
  assert.equal(await page.getByRole('table').getByTitle('Token counts are estimates').count(), 1);
  await assertSound(visitor);
  await page.goto(`${gateway.url}/ui/requests?session=agent-exact`);
  await costOf(page).getByText('$0.015').waitFor();
  assert.equal(await costOf(page).getByTitle(PART).count(), 0);
});

test('the line of a conversation is marked if a part of its cost is estimated', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests?view=sessions');
  const { page } = visitor;
  await page
    .getByRole('row', { name: /agent-mixed/ })
    .getByTitle(PART)
    .waitFor();
  assert.equal(
    await page
      .getByRole('row', { name: /agent-exact/ })
      .getByTitle(PART)
      .count(),
    0,
  );
  await assertSound(visitor);
});
