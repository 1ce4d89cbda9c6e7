/** Panel of a request, and the words that filter the list: credentials, one that runs, policies, ways onward, broken answers. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  answerJson,
  createPermits,
  KEY,
  post,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../../test/gateway/harness.ts';
import { eventually } from '../../test/gateway/video-client.ts';
import {
  adminOf,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayWithPages,
  THEMES,
  TOKEN,
} from './browser.ts';

const OTHER_KEY = 'sk-other-gateway-key-0123456789';
const ANSWER = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};
const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
const permits = createPermits();

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;
/** Those that were tried; the first one is refused. */
const credentials = new Set<unknown>();
/** Ids of requests. */
const ids = { twoCredentials: '', withPolicy: '', afterLimit: '', dropped: '' };

before(async () => {
  upstream = await startUpstream(async ({ body, headers }, response) => {
    const text = body.messages[0].content;
    if (text === 'wait') await permits.take();
    if (text === 'break') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const delta = { ...CHUNK, choices: [{ index: 0, delta: { role: 'assistant', content: 'Hel' } }] };
      response.write(`data: ${JSON.stringify(delta)}\n\n`, () => response.destroy());
      return;
    }
    if (text === 'limited' && body.model === 'busy') {
      response.setHeader('retry-after', '20');
      response.setHeader('x-ratelimit-remaining-requests', '0');
      answerJson(response, { error: { message: 'Too many.' } }, 429);
      return;
    }
    response.setHeader('x-request-id', 'upstream-7');
    if (text === 'second key') credentials.add(headers.authorization);
    if (text === 'second key' && credentials.size === 1) answerJson(response, { error: { message: 'Too many.' } }, 429);
    else answerJson(response, ANSWER);
  });
  const provider = (keys: string) =>
    `{ type: openai-compatible, base_url: "${upstream.url}/v1", ${keys}, models: [{ id: m, pricing: { prompt: "0.000001", completion: "0" }, service_tiers: { priority: { prompt: "0.000002", completion: "0" } } }, { id: busy }] }`;
  [browser, gateway] = await Promise.all([
    openBrowser(),
    startGatewayWithPages(
      `admin: { token: ${TOKEN}, port: 0 }
providers: { one: ${provider('api_key: x')}, two: ${provider('api_keys: [first, second]')} }
models: { house/m: { endpoints: [{ provider: one, model: busy }, { provider: one, model: m, priority: 1 }] } }`,
      { keys: [`{ name: second team, key: ${OTHER_KEY} }`] },
    ),
  ]);
  ids.twoCredentials = await ask('two/m', 'second key');
  ids.withPolicy = await ask('sandbox/echo', 'Hello', { provider: { max_price: { prompt: 50 }, order: ['sandbox'] } });
  ids.afterLimit = await ask('house/m', 'limited');
  const body = { model: 'one/m', max_tokens: 5, inference_geo: 'us', messages: [{ role: 'user', content: 'Hello' }] };
  const response = await post(`${gateway.url}/anthropic/v1/messages`, body, {
    ...{ 'x-api-key': KEY, 'anthropic-version': '2023-06-01', 'user-agent': 'a-program/1.2' },
  });
  await response.text();
  ids.dropped = response.headers.get('x-polygate-request-id') ?? '';
  await ask('one/m', 'break', { stream: true });
  await ask('one/m', 'Hello', {}, OTHER_KEY);
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

async function ask(model: string, content: string, more: object = {}, key = KEY): Promise<string> {
  const body = { model, messages: [{ role: 'user', content }], ...more };
  const response = await post(`${gateway.url}/v1/chat/completions`, body, { authorization: `Bearer ${key}` });
  await response.text().catch(() => '');
  return response.headers.get('x-polygate-request-id') ?? '';
}

const panelOf = (page: Page) => page.getByRole('dialog', { name: 'Request' });

for (const theme of THEMES) {
  test(`credentials are numbered as in the configuration, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, `/ui/requests?open=${ids.twoCredentials}`, { theme });
    const panel = panelOf(visitor.page);
    await panel.getByText('attempt 2 after').waitFor();
    const attempts = await panel.getByRole('listitem').allInnerTexts();
    const numbers = attempts.slice(1, 3).map((text) => /two\/m credential (\d)/.exec(text)?.[1]);
    assert.deepEqual(numbers.toSorted(), ['1', '2'], attempts.join());
    const candidates = await panel.getByRole('region', { name: 'Candidates' }).getByRole('row').allInnerTexts();
    assert.deepEqual(candidates.flatMap((text) => /two\/m credential (\d)/.exec(text)?.[1] ?? []).toSorted(), [
      '1',
      '2',
    ]);
    await assertSound(visitor);
  });

  test(`a policy is shown, and one endpoint needs no table, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, `/ui/requests?open=${ids.withPolicy}`, { theme });
    const { page } = visitor;
    const panel = panelOf(page);
    await panel.getByRole('heading', { name: 'Policy' }).waitFor();
    await panel.getByText('max_price').waitFor();
    await panel.getByText('prompt 50').waitFor();
    assert.equal(await panel.getByText('allow_fallbacks').count(), 0);
    await assertSound(visitor);
    await page.goto(`${gateway.url}/ui/requests?open=${await ask('one/m', 'Hello')}`);
    await panel.getByText('There was one endpoint.').waitFor();
    assert.equal(await panel.getByRole('region', { name: 'Candidates' }).count(), 0);
    assert.equal(await panel.getByRole('heading', { name: 'Policy' }).count(), 0);
    await assertSound(visitor);
  });

  test(`the attempts in time have the check, connections, and for how long an endpoint rests, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, `/ui/requests?open=${ids.afterLimit}`, { theme });
    const panel = panelOf(visitor.page);
    await panel.getByText('Read and checked').waitFor();
    const [, limited = '', answered = ''] = await panel.getByRole('listitem').allInnerTexts();
    assert.match(limited, /one\/busy.*429 rate_limit_exceeded, cooldown 20 s · \d+ ms/s);
    assert.match(
      answered,
      /one\/m.*200 · .*(kept connection|connected after \d+ ms) · first byte after \d+ ms · answer in/s,
    );
    await panel.getByRole('img', { name: /429 rate_limit_exceeded, cooldown 20 s after \d+ ms/ }).waitFor();
    await panel.getByRole('heading', { name: 'Of one/busy, attempt 1' }).waitFor();
    await panel.getByText('x-ratelimit-remaining-requests').waitFor();
    await panel.getByText('upstream-7').waitFor();
    await assertSound(visitor);
  });

  test(`a dropped field shows its line of the page of fidelity, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, `/ui/requests?open=${ids.dropped}`, { theme });
    const panel = panelOf(visitor.page);
    await panel.getByRole('button', { name: 'inference_geo' }).click();
    await panel.getByText('inference_geo from messages to chat: dropped').waitFor();
    await panel.getByText(/^docs\/fidelity.md, line \d+$/).waitFor();
    await panel.getByText('a-program/1.2').waitFor();
    await assertSound(visitor);
    await panel.getByRole('button', { name: 'inference_geo' }).click();
    assert.equal(await panel.getByText(/fidelity.md, line/).count(), 0);
  });

  test(`the lines of tokens and prices add up to the cost, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, `/ui/requests?open=${await ask('one/m', 'Hello')}`, {
      theme,
    });
    const { page } = visitor;
    const rows = panelOf(page).getByRole('region', { name: 'Use and cost' }).getByRole('row');
    await rows.nth(1).waitFor();
    const texts = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
    assert.deepEqual(texts, [
      'Used Tokens USD per million Cost',
      'Input 10 $1.00 $0.00001000',
      'Output 5 $0.00 $0.00',
      'In all 15 $0.00001000',
    ]);
    await panelOf(page).getByText('Prices are those of the moment').waitFor();
    await assertSound(visitor);
  });

  test(`a service tier is named, and prices of it that are not known, in the ${theme} theme`, async () => {
    for (const [tier, words] of [
      ['priority', 'Service tier: priority.'],
      ['turbo', 'Service tier: turbo, whose prices are not known: the prices are an assumption.'],
    ] as const) {
      const id = await ask('one/m', 'Hello', { service_tier: tier });
      const visitor = await signInAsAdmin(browser, gateway, `/ui/requests?open=${id}`, { theme });
      const charge = panelOf(visitor.page).getByRole('region', { name: 'Use and cost' }).locator('..');
      await charge.getByText(words).waitFor();
      await charge.getByRole('row', { name: 'Input 10 $2.00 $0.00002000' }).waitFor();
      await assertSound(visitor);
    }
  });

  test(`a request that runs is shown, and then its end, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/requests', { theme });
    const { page } = visitor;
    const running = ask('one/m', 'wait');
    const row = page.getByRole('row', { name: /one.m .*running/ });
    await row.getByRole('button').press('Enter');
    const panel = panelOf(page);
    await panel.getByText('Runs at one/m.').waitFor();
    await assertSound(visitor);
    permits.give();
    await running;
    await panel.getByText(/Answered by one.m in/).waitFor();
    await panel.getByText('There was one endpoint.').waitFor();
    await assertSound(visitor);
  });
}

test('a request leads to the playground and to the explanation of its routing', async () => {
  const visitor = await signInAsAdmin(browser, gateway, `/ui/requests?open=${ids.withPolicy}`);
  const { page } = visitor;
  await panelOf(page).getByRole('link', { name: 'Open in the playground' }).click();
  await page.waitForURL(/\/ui\/playground\?.*key=config/);
  await page.getByRole('combobox', { name: 'Model 1', exact: true }).getByText('sandbox/echo').waitFor();
  const written = { order: ['sandbox'], max_price: { prompt: 50 } };
  const more = await page.getByRole('textbox', { name: 'More fields' }).inputValue();
  assert.deepEqual(JSON.parse(more), { provider: written });
  for (const wire of ['chat', 'generate']) {
    await page.getByRole('button', { name: wire, exact: true }).click();
    await page.getByRole('textbox', { name: 'User' }).fill('Again');
    const [sent] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'POST' && response.url().includes('/v1')),
      page.keyboard.press('Control+Enter'),
    ]);
    assert.equal(sent.status(), 200, wire);
    const id = sent.headers()['x-polygate-request-id'];
    const again = (await adminOf(gateway)('GET', `/requests/${id}`)).data;
    assert.deepEqual([again.protocol, again.trace.policy.maxPrice], [wire, { prompt: 50 }]);
  }
  await page.getByRole('button', { name: 'Code', exact: true }).click();
  await page.getByText('x-polygate-provider').waitFor();
  await assertSound(visitor);
  await page.goto(`${gateway.url}/ui/requests?open=${ids.withPolicy}`);
  await panelOf(page).getByRole('link', { name: 'Explain its routing' }).click();
  await page.waitForURL(/\/ui\/explain\?.*model=sandbox/);
  const policy = await page.getByLabel('Policy: the field provider of a request').inputValue();
  assert.deepEqual(JSON.parse(policy), { order: ['sandbox'], max_price: { prompt: 50 } });
  await page
    .getByRole('row', { name: /sandbox.echo/ })
    .first()
    .waitFor();
  await assertSound(visitor);
});

test('the list marks an answer of the second endpoint, and finds what was translated', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests');
  const { page } = visitor;
  await page.getByRole('row', { name: /one.m \(2nd\) for house.m/ }).waitFor();
  // Another credential of the same model is another endpoint.
  await page.getByRole('row', { name: /two.m \(2nd\)/ }).waitFor();
  await page.getByRole('textbox', { name: 'Filter' }).fill('wire:messages>chat');
  await page.keyboard.press('Enter');
  await page.waitForURL(/upstream_protocol=chat/);
  await page.getByRole('button', { name: 'upstream_protocol: chat' }).waitFor();
  const rows = page.getByRole('region', { name: 'Requests' }).getByRole('row');
  await eventually(gateway, async () => (await page.locator('tr[aria-rowindex]').count()) === 1);
  assert.match(await rows.last().innerText(), /msg → chat/);
  await assertSound(visitor);
});

test('above the list stand requests a second, cost an hour with what is not known of it, and the share of answers', async () => {
  await ask('one/busy', 'Hello');
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests');
  const { page } = visitor;
  const noteOf = (label: string) => page.getByText(label, { exact: true }).locator('xpath=following-sibling::*[2]');
  await noteOf('In flight')
    .getByText(/^\d+(\.\d)? req\/(min|s) over 5 min$/)
    .waitFor();
  await noteOf('Failed').getByText('100 % answered').waitFor();
  await noteOf('Cost')
    .getByText(/^\$0\.\d+\/h over 5 min \+ \d+ unknown$/)
    .waitFor();
  await page.goto(`${gateway.url}/ui/requests?model=one/busy`);
  await noteOf('Cost')
    .getByText(/^of \d+ unknown$/)
    .waitFor();
  await page.goto(`${gateway.url}/ui/requests?status=failed&fell_back=true`);
  await noteOf('In flight')
    .getByText(/any status, fell back$/)
    .waitFor();
  await page.goto(`${gateway.url}/ui/requests?model=one/m`);
  await noteOf('Cost')
    .getByText(/^\$0\.\d+\/h over 5 min$/)
    .waitFor();
  await page.goto(`${gateway.url}/ui/requests?model=one/m&range=24h`);
  await noteOf('Cost')
    .getByText(/^\$0\.\d+\/h$/)
    .waitFor();
});

test('what broke off is counted beside what failed', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests');
  await visitor.page.getByText('1 partial', { exact: true }).waitFor();
  const figure = visitor.page.getByText('Failed', { exact: true }).locator('xpath=following-sibling::*[1]');
  assert.equal(await figure.innerText(), '0 %');
});

test('words filter the list, and a word that does not is said at the field', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests', { width: 360 });
  const { page } = visitor;
  const field = page.getByRole('textbox', { name: 'Filter' });
  await field.waitFor();
  await page.keyboard.press('f');
  await field.and(page.locator(':focus')).waitFor();
  const cases: [words: string, search: Record<string, string>][] = [
    ['key:test', { key: 'config:test' }],
    ['key:"second team" one/m', { key: 'config:second team', model: 'one/m' }],
    ['status:failed protocol:chat', { status: 'failed', protocol: 'chat' }],
    [
      'slower:2000 cost:0.05 dropped fellback',
      { slower_than: '2000', cost_above: '0.05', dropped: 'true', fell_back: 'true' },
    ],
    ['requested:fast provider:one code:overloaded', { requested: 'fast', provider: 'one', code: 'overloaded' }],
    ['tag:team=search session:a-7', { tag: 'team=search', session: 'a-7' }],
    ['without:team estimated', { without_tag: 'team', estimated: 'true' }],
    ['wire:msg>chat', { protocol: 'messages', upstream_protocol: 'chat' }],
    ['wire:>chat', { upstream_protocol: 'chat' }],
    ['local/qwen3:8b', { model: 'local/qwen3:8b' }],
  ];
  for (const [words, search] of cases) {
    await page.goto(`${gateway.url}/ui/requests`);
    await field.fill(words);
    await field.press('Enter');
    await page.waitForURL((url) => url.search !== '');
    const given = [...new URL(page.url()).searchParams].map(([name, value]) => [name, value.replaceAll('"', '')]);
    assert.deepEqual(Object.fromEntries(given), search, words);
  }
  await page.goto(`${gateway.url}/ui/requests`);
  const wrong: [words: string, problem: RegExp][] = [
    ['slower:abc', /slower: must be milliseconds/],
    ['cost:much', /cost: must be USD/],
    ['status:odd', /status: must be one of completed/],
    ['wire:msg>smoke', /wire: must be protocols of the client and of the endpoint/],
    ['tag:team', /tag: must be a name and a value/],
    ['colour:red', /“colour:red” is no filter/],
    ['hello', /“hello” is no filter/],
    ['key:nobody', /No key is named “nobody”/],
    ['model:', /model: needs a value/],
  ];
  for (const [words, problem] of wrong) {
    await field.fill(words);
    await field.press('Enter');
    await page.getByRole('alert').getByText(problem).waitFor();
    assert.equal(await field.inputValue(), words);
    assert.equal(new URL(page.url()).search, '');
  }
  await assertSound(visitor);
  await field.fill(ids.withPolicy);
  await field.press('Enter');
  await panelOf(page)
    .getByText(/Answered by sandbox.echo/)
    .waitFor();
});

test('the holder of a key cannot filter by keys, and opens the playground only', async () => {
  const { page } = await signInWithKey(browser, gateway, KEY, `/ui/requests?open=${ids.withPolicy}`);
  await panelOf(page).getByRole('link', { name: 'Open in the playground' }).waitFor();
  assert.equal(await panelOf(page).getByRole('link', { name: 'Explain its routing' }).count(), 0);
  await page.keyboard.press('Escape');
  await page.getByRole('textbox', { name: 'Filter' }).fill('key:test');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('key: is for operators').waitFor();
});
