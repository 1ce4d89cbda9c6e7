/** Configuration and health of the store: origins, faults, a check of a text, and no secret anywhere. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { version } from '../../src/core/version.ts';
import type { Store } from '../../src/store/store.ts';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import {
  ask,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayForOperators,
  startGatewayWithPages,
  type Theme,
  TOKEN,
} from './browser.ts';

const SECRET = 'whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5';

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;

before(async () => {
  upstream = await startUpstream((_call, response) => answerJson(response, { error: { message: 'Busy.' } }, 503));
  const local = `{ type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [{ id: m }] }`;
  const yaml = `callbacks: { secret: ${SECRET} }\nlimits: { requests_per_minute: 600 }\nproviders: { local: ${local} }`;
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators(yaml)]);
  for (let count = 0; count < 3; count++) await ask(gateway, KEY, 'local/m');
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

for (const theme of ['light', 'dark'] satisfies Theme[]) {
  test(`settings have their origin, and a text is checked, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/config', { theme });
    const { page } = visitor;
    await page.getByRole('row', { name: /server.keep_alive 15s default/ }).waitFor();
    await page.getByRole('searchbox').fill('requests_per_minute');
    await page.getByRole('row', { name: 'limits.requests_per_minute 600 file, line 5' }).waitFor();
    await page.waitForURL(/find=requests_per_minute/);
    await page.getByRole('searchbox').fill('');
    await page.getByRole('row', { name: /callbacks.secret whse… file/ }).waitFor();
    const shown = await page.locator('body').innerText();
    for (const secret of [SECRET, TOKEN]) assert.ok(!shown.includes(secret));
    await assertSound(visitor);
    await page.getByRole('textbox', { name: 'Configuration' }).fill('server: { prot: 1 }');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('did you mean port').waitFor();
    await assertSound(visitor);
    await page.getByRole('textbox', { name: 'Configuration' }).fill('limits: { requests_per_minute: 5 }');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByRole('row', { name: 'limits.requests_per_minute 600 5' }).waitFor();
  });

  test(`a setting shows its schema and lines that change it, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/config', { theme });
    const { page } = visitor;
    await page.getByRole('button', { name: 'limits.requests_per_minute' }).click();
    const panel = page.getByRole('dialog', { name: 'Setting' });
    await panel.getByText('Requests per minute.').waitFor();
    await panel.getByText('integer').waitFor();
    await panel.getByText('at least 1', { exact: true }).waitFor();
    await panel.getByRole('textbox', { name: 'Value' }).fill('0');
    await panel.getByText(/must be .*1/).waitFor();
    assert.equal(await panel.getByRole('button', { name: 'Copy the lines' }).count(), 0);
    await panel.getByRole('textbox', { name: 'Value' }).fill('700');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await panel.getByRole('button', { name: 'Copy the lines' }).click();
    await panel.getByText('Copied').waitFor();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'limits:\n  requests_per_minute: 700\n');
    await assertSound(visitor);
    // What is allowed is offered, and what YAML would take for something else is quoted.
    await page.goto(`${gateway.url}/ui/config?open=usage.trace`);
    await panel.getByText('all, problems, none').waitFor();
    await panel.getByText('"all"', { exact: true }).waitFor();
    await page.goto(`${gateway.url}/ui/config?open=catalog.update`);
    await panel.getByRole('combobox', { name: 'Value' }).fill('off');
    await panel.getByText('update: "off"').waitFor();
    await panel.getByText('valid', { exact: true }).waitFor();
    await page.goto(`${gateway.url}/ui/config?open=keys[0].name`);
    await panel.getByText('It is an item of a list').waitFor();
    await assertSound(visitor);
  });

  test(`settings that are not set are found, and lines for them are proposed, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/config', { theme });
    const { page } = visitor;
    await page.getByRole('row', { name: /server.keep_alive/ }).waitFor();
    assert.equal(await page.getByText('server.public_url').count(), 0);
    await page.getByRole('searchbox').fill('public base url of the gateway');
    await page.getByText('1 like that is not set.').waitFor();
    await assertSound(visitor);
    await page.getByRole('button', { name: 'Show it' }).click();
    await page.getByRole('row', { name: /^server.public_url Public base URL of the gateway.* not set$/ }).waitFor();
    await page.getByRole('searchbox').fill('');
    const rows = page.getByRole('region', { name: 'Settings' }).locator('tbody tr');
    await rows.filter({ hasText: 'limits.tokens_per_minute' }).first().waitFor();
    const names = await rows.locator('td:first-child').allInnerTexts();
    // Once each, those of a section together, and none of what is set in parts.
    assert.equal(new Set(names).size, names.length);
    assert.ok(Math.abs(names.indexOf('limits.tokens_per_minute') - names.indexOf('limits.requests_per_minute')) < 3);
    for (const name of ['providers', 'keys', 'callbacks.secret_file']) assert.ok(!names.includes(name), name);
    for (const name of ['tags', 'default_model', 'usage.export.folder']) assert.ok(names.includes(name), name);
    await assertSound(visitor);
    await page.getByRole('button', { name: 'server.public_url' }).click();
    const panel = page.getByRole('dialog', { name: 'Setting' });
    await panel.getByText('not set').waitFor();
    await panel.getByRole('textbox', { name: 'Value' }).fill('https://gw.example.com');
    await panel.getByText('server:\n  public_url: "https://gw.example.com"').waitFor();
    await panel.getByText('valid', { exact: true }).waitFor();
    await page.waitForURL(/all=true/);
  });

  test(`endpoints, gateways and the store are described, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/health', { theme });
    const { page } = visitor;
    const endpoint = page.getByRole('row', { name: /^sandbox\/echo/ });
    await endpoint
      .getByRole('img', { name: /sandbox\/echo: 100 % of \d+ attempts of the last day succeeded/ })
      .waitFor();
    assert.match(await endpoint.innerText(), /100 %\s+100 %\s+100 %/);
    const busy = page.getByRole('row', { name: /^local\/m/ });
    await busy.getByText('and 2 before').click();
    assert.equal((await busy.innerText()).match(/overloaded/g)?.length, 3);
    assert.equal(await page.getByText('gives no sign').count(), 0);
    const replica = page.getByRole('region', { name: 'Gateways that run' }).getByRole('row').nth(1);
    assert.match(
      await replica.innerText(),
      new RegExp(`answers this page\\s+gateway\\s+${version.replaceAll('.', '\\.')}`),
    );
    const store = visitor.page.getByRole('region', { name: 'Store' });
    await store.getByText('SQLite').waitFor();
    await store.getByText('working').waitFor();
    await assertSound(visitor);
  });
}

test('cooldowns, and limits that an upstream told, are shown', async () => {
  const limited = await startUpstream(({ headers }, response) => {
    const isRefused = headers.authorization?.endsWith('refused');
    response.setHeader('x-ratelimit-limit-requests', '1200');
    response.setHeader('x-ratelimit-remaining-requests', '7');
    if (!isRefused) response.setHeader('retry-after', '300');
    answerJson(response, { error: { message: 'Not now.' } }, isRefused ? 401 : 429);
  });
  const provider = (key: string) =>
    `{ type: openai-compatible, base_url: "${limited.url}/v1", api_key: ${key}, models: [{ id: m }] }`;
  const gateway = await startGatewayForOperators(`providers: { a: ${provider('x')}, b: ${provider('refused')} }`);
  try {
    for (const model of ['a/m', 'b/m']) await (await ask(gateway, KEY, model)).text();
    const visitor = await signInAsAdmin(browser, gateway, '/ui/health');
    const { page } = visitor;
    const row = page.getByRole('row', { name: /^a.m/ });
    await row.getByText('in cooldown', { exact: true }).waitFor();
    await row.getByText(/^(?:2\d\d|300) s$/).waitFor();
    await row.getByText('7 of 1,200 requests left').waitFor();
    await page.getByRole('row', { name: /^b.m/ }).getByText('credential in cooldown', { exact: true }).waitFor();
    await assertSound(visitor);
  } finally {
    await Promise.all([gateway.close(), limited.close()]);
  }
});

test('of many settings all can be shown', async () => {
  const aliases = Array.from({ length: 600 }, (_, index) => `alias-${index}: sandbox/echo`).join(', ');
  const many = await startGatewayForOperators(`aliases: { ${aliases} }`);
  try {
    const visitor = await signInAsAdmin(browser, many, '/ui/config');
    const { page } = visitor;
    const rows = page.getByRole('region', { name: 'Settings' }).locator('tbody tr');
    const all = Number(
      /of (\d+)/.exec(
        await page
          .locator('[data-spoken]')
          .getByText(/^\d+ of \d+$/)
          .innerText(),
      )?.[1],
    );
    assert.ok(all > 600);
    assert.equal(await rows.count(), 500);
    await page.getByText(`500 of ${all} are shown.`).waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('are shown.').waitFor({ state: 'detached' });
    assert.equal(await rows.count(), all);
    await assertSound(visitor);
  } finally {
    await many.close();
  }
});

test('what changed and what needs a restart is said', async () => {
  gateway.reload(`admin: { token: ${TOKEN}, port: 0 }\ncallbacks: { secret: ${SECRET}x }`);
  const visitor = await signInAsAdmin(browser, gateway, '/ui/config');
  await visitor.page.getByText('A restart is needed for callbacks').waitFor();
  await visitor.page.getByRole('row', { name: /callbacks.secret whse… .*another secret/ }).waitFor();
  await assertSound(visitor);
});

test('the store tells its last backup', async (context) => {
  let store: Store | undefined;
  const own = await startGatewayWithPages(`admin: { token: ${TOKEN}, port: 0 }`, {
    wrapStore(opened) {
      store = opened;
      return opened;
    },
  });
  context.after(() => own.close());
  const visitor = await signInAsAdmin(browser, own, '/ui/health');
  const card = visitor.page.getByRole('region', { name: 'Store' });
  await card.getByText('none is known').waitFor();
  await store?.call('noteMoment', { name: 'backup', at: Date.parse('2026-11-02T03:04:05Z') });
  await card.locator('time[datetime="2026-11-02T03:04:05.000Z"]').waitFor();
  assert.equal(await card.getByText('none is known').count(), 0);
  await assertSound(visitor);
});
