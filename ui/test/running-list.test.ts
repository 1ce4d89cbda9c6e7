/** Requests that run in a list with filters: those that are known of them show them, and others do not. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  answerJson,
  createPermits,
  KEY,
  post,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../../test/gateway/harness.ts';
import { assertSound, openBrowser, signInAsAdmin, signInWithKey, startGatewayWithPages, TOKEN } from './browser.ts';

const OTHER_KEY = 'sk-other-gateway-key-0123456789';
const ANSWER = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};
const permits = createPermits();

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;
let running: Promise<unknown>[] = [];

before(async () => {
  upstream = await startUpstream(async (_call, response) => {
    await permits.take();
    answerJson(response, ANSWER);
  });
  const provider = `{ type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [{ id: m }] }`;
  [browser, gateway] = await Promise.all([
    openBrowser(),
    startGatewayWithPages(
      `admin: { token: ${TOKEN}, port: 0 }
providers: { one: ${provider}, two: ${provider} }`,
      { keys: [`{ name: second team, key: ${OTHER_KEY} }`] },
    ),
  ]);
  running = [ask('one/m', KEY), ask('two/m', OTHER_KEY)];
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

async function ask(model: string, key: string): Promise<void> {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }] };
  const response = await post(`${gateway.url}/v1/chat/completions`, body, { authorization: `Bearer ${key}` });
  assert.equal(response.status, 200);
  await response.arrayBuffer();
}

test('requests that run are in a list whose filters are known of them', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests?provider=two');
  const { page } = visitor;
  const row = (model: string) => page.getByRole('row', { name: new RegExp(`${model}.m .*running`) });
  await row('two').waitFor();
  assert.equal(await row('one').count(), 0);
  for (const filter of ['model=one/m', 'requested=one/m&protocol=chat&upstream_protocol=chat', 'from=2020-01-01']) {
    await page.goto(`${gateway.url}/ui/requests?${filter}`);
    await row('one').waitFor();
    assert.equal(await row('two').count(), filter.startsWith('from') ? 1 : 0);
  }
  await page.goto(`${gateway.url}/ui/requests?protocol=messages`);
  await page.getByText('No request is like that').waitFor();
  await assertSound(visitor);
});

test('the holder of a key has those of the key', async () => {
  const visitor = await signInWithKey(browser, gateway, OTHER_KEY, '/ui/requests?protocol=chat');
  const { page } = visitor;
  await page.getByRole('row', { name: /two.m .*running/ }).waitFor();
  assert.equal(await page.getByRole('row', { name: /one.m/ }).count(), 0);
  await assertSound(visitor);
});

test('a filter that is known at the end shows no request before it', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests?status=completed&provider=two');
  const { page } = visitor;
  await page.getByText('any status', { exact: true }).waitFor();
  await page.getByText('No request is like that').waitFor();
  for (const _ of running) permits.give();
  await Promise.all(running);
  await page.getByRole('row', { name: /two.m / }).waitFor();
  assert.equal(await page.getByRole('row', { name: /one.m/ }).count(), 0);
  await assertSound(visitor);
});
