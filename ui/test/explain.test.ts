/** Explain: a body of one's own, the reasons with their rules of the documentation, what the gateway knows, and the switch to the ideal. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import {
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayWithPages,
  THEMES,
  TOKEN,
} from './browser.ts';

const yaml = (busyUrl: string) => `admin: { token: ${TOKEN}, port: 0 }
providers: { sandbox: { type: sandbox }, busy: { type: openai-compatible, base_url: "${busyUrl}/v1", models: [{ id: m }] } }
models:
  house/m:
    endpoints:
      - { provider: sandbox, model: echo, data_policy: { zdr: true } }
      - { provider: sandbox, model: tools }
  house/n:
    endpoints:
      - { provider: busy, model: m }
      - { provider: sandbox, model: echo, priority: 1 }`;

let browser: Browser;
let gateway: TestGateway;
let busy: TestUpstream;

before(async () => {
  busy = await startUpstream((_call, response) => {
    response.setHeader('retry-after', '600');
    answerJson(response, { error: { message: 'Busy.' } }, 429);
  });
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayWithPages(yaml(busy.url))]);
});
after(() => Promise.all([browser.close(), gateway.close(), busy.close()]));

for (const theme of THEMES) {
  test(`a reason leads to the line of the documentation that it comes from, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/explain?model=house/m', { theme });
    const { page } = visitor;
    await page.getByLabel(/^Policy/).fill('{"zdr": true}');
    const row = page.getByRole('row', { name: /sandbox\/tools .*it is not known to keep nothing \(zdr\)/ });
    await row.waitFor();
    await page.getByRole('row', { name: /^1 sandbox\/echo/ }).waitFor();
    await row.getByRole('button', { name: 'the rule' }).click();
    const rule = page.locator('li:focus');
    await rule.getByText(/only endpoints that are known to keep nothing/).waitFor();
    await page.getByText('Excluded endpoints and endpoints in cooldown are skipped.').waitFor();
    await assertSound(visitor);
    await page.setViewportSize({ width: 360, height: 900 });
    await assertFits(page);
  });
}

test('the policy says the text of its address, also after a link to the page', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/explain');
  const policy = page.getByLabel(/^Policy/);
  await policy.fill('{"sort": "price"}');
  await page.waitForURL(/sort/);
  await page.getByRole('navigation').getByRole('link', { name: 'Explain' }).click();
  await page.waitForURL(/explain$/);
  assert.equal(await policy.inputValue(), '');
  // After a pause, the address would say what is typed.
  await policy.fill('{"sort": "latency"}');
  await page.waitForURL(/latency/);
  assert.equal(await policy.inputValue(), '{"sort": "latency"}');
});

test('a body of one’s own decides what would be dropped, and what is wrong with it is said', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/explain?model=house/m&protocol=messages');
  const { page } = visitor;
  await page.getByText('Body of the request').click();
  const field = page.getByRole('textbox', { name: 'Body of the request' });
  await field.fill('{"max_tokens": 5, "top_k": 5, "messages": [{"role": "user", "content": "Hello"}]}');
  await page.getByRole('row', { name: /^[12] sandbox\/echo .* top_k/ }).waitFor();
  await field.fill('{"max_tokens"');
  await page
    .getByRole('alert')
    .getByText(/The body is no JSON object/)
    .waitFor();
  await field.fill('[1]');
  await page
    .getByRole('alert')
    .getByText(/it has no members/)
    .waitFor();
  await field.fill('');
  await page.getByRole('row', { name: /top_k/ }).first().waitFor({ state: 'detached' });
  await assertSound(visitor);
});

test('what the gateway knows is beside each endpoint, and is left out as if all were healthy', async () => {
  assert.equal((await ask(gateway, KEY, 'house/n')).status, 200);
  const visitor = await signInAsAdmin(browser, gateway, '/ui/explain?model=house/n');
  const { page } = visitor;
  const rows = page.getByRole('region', { name: 'Candidates' }).locator('tbody tr');
  const cells = async (name: string) => rows.filter({ hasText: name }).locator('td').allInnerTexts();
  await page.getByRole('row', { name: /^1 sandbox\/echo/ }).waitFor();
  const [place, , , first, rate] = await cells('sandbox/echo');
  assert.equal(place, '1');
  assert.match(first ?? '', /^[\d,]+ ms$/);
  assert.match(rate ?? '', /^[\d.,]+ ?[kM]?$/);
  const limited = await cells('busy/m');
  assert.equal(limited[0], '—');
  assert.match(limited.at(-1) ?? '', /cooldown/);
  await rows.filter({ hasText: 'busy/m' }).getByRole('button', { name: 'the rule' }).click();
  await page.locator('li:focus').getByText('Each endpoint has a circuit breaker.').waitFor();
  await assertSound(visitor);
  await page.getByRole('button', { name: 'As if all were healthy' }).click();
  await page.waitForURL(/ideal=true/);
  await page.getByRole('row', { name: /^1 busy\/m/ }).waitFor();
  const ideal = await cells('sandbox/echo');
  assert.deepEqual([ideal[0], ideal[3], ideal[4], ideal.at(-1)], ['2', '—', '—', '—']);
  assert.equal((await cells('busy/m')).at(-1), '—');
  await page.getByRole('button', { name: 'As it is now' }).click();
  await page.getByRole('row', { name: /^1 sandbox\/echo/ }).waitFor();
  await assertSound(visitor);
});

test('a body of one’s own is in the call for a terminal, and one that is too long is not', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/explain?model=house/m&protocol=messages');
  const { page } = visitor;
  await page.getByText('Body of the request').click();
  const field = page.getByRole('textbox', { name: 'Body of the request' });
  const body = {
    max_tokens: 5,
    messages: [{ role: 'user', content: `It's "one" $HOME \`id\` \\ !x\n…` }],
    top_k: 5,
  };
  await field.fill(JSON.stringify(body, undefined, 2));
  await page.getByRole('row', { name: /sandbox\/echo .* top_k/ }).waitFor();
  const dialog = page.getByRole('dialog', { name: 'The same in a terminal' });
  const callOf = async () => {
    await page.getByRole('button', { name: 'Copy as' }).click();
    await dialog.locator('pre').nth(1).waitFor();
    return dialog.locator('pre').nth(1).innerText();
  };
  // A shell reads what curl would be given.
  const words = (call: string) =>
    execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }\n${call}`], { encoding: 'utf8' }).split('\0');
  const sent = words(await callOf());
  assert.deepEqual(JSON.parse(sent[sent.indexOf('-d') + 1] ?? ''), {
    ...{ protocol: 'messages', model: 'house/m', ideal: false },
    body,
  });
  await dialog.getByText(/--request takes a file with yours/).waitFor();
  await assertSound(visitor);
  await page.keyboard.press('Escape');
  await field.fill(JSON.stringify({ max_tokens: 5, messages: [{ role: 'user', content: 'x'.repeat(120_000) }] }));
  await page.getByRole('row', { name: /top_k/ }).first().waitFor({ state: 'detached' });
  const short = words(await callOf());
  assert.equal(JSON.parse(short[short.indexOf('-d') + 1] ?? '').body, undefined);
  await dialog.getByText(/too long for a command/).waitFor();
});
