/** Panel of an endpoint on the page Health: what it shows, its states, its address, and its keys. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import { eventually } from '../../test/gateway/video-client.ts';
import {
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayForOperators,
  startGatewayWithPages,
  THEMES,
  TOKEN,
} from './browser.ts';

const FAILURES = 3;

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;

before(async () => {
  upstream = await startUpstream((_call, response) => {
    response.setHeader('x-ratelimit-limit-requests', '1200');
    response.setHeader('x-ratelimit-remaining-requests', '7');
    response.setHeader('retry-after', '300');
    answerJson(response, { error: { message: 'Not now.' } }, upstream.calls.length < FAILURES ? 503 : 429);
  });
  const limited = `{ type: openai-compatible, base_url: "${upstream.url}/v1", api_keys: [x, y], models: [{ id: m }, { id: other }] }`;
  const house = '{ endpoints: [{ provider: limited, model: m }] }';
  const yaml = `providers: { limited: ${limited} }\nmodels: { house/slow: ${house} }\naliases: { slowest: house/slow }`;
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators(yaml)]);
  for (let count = 0; count < FAILURES; count++) await (await ask(gateway, KEY, 'limited/m')).text();
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

const panelOf = (page: Page, name: string) => page.getByRole('dialog', { name, exact: true });

for (const theme of THEMES) {
  test(`it has state, success, times, limits, failures and models, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/health', { theme });
    const { page } = visitor;
    // A cell without a button.
    await page
      .getByRole('row', { name: /^sandbox.echo/ })
      .getByRole('cell')
      .nth(4)
      .click();
    const echo = panelOf(page, 'sandbox/echo');
    await echo.getByText('healthy', { exact: true }).waitFor();
    await echo.getByRole('img', { name: /sandbox\/echo: 100 % of 2 attempts/ }).waitFor();
    await echo.getByRole('row', { name: '24 hours 2 0 100 %' }).waitFor();
    await echo.getByRole('row', { name: /^whole \d+ ms \d+ ms/ }).waitFor();
    await echo.getByText('It told none.').waitFor();
    await echo.getByText('None in the last day.').waitFor();
    await echo.getByRole('link', { name: 'sandbox/echo', exact: true }).waitFor();
    await page.waitForURL(/health\?open=sandbox%2Fecho$/);
    await assertSound(visitor);

    await page
      .getByRole('row', { name: /^limited.m credential 1 of 2/ })
      .getByRole('button')
      .click();
    const limited = panelOf(page, 'limited/m#1');
    await limited.getByText(/^(in cooldown|credential in cooldown|being probed|failed recently)$/).waitFor();
    await limited.getByText(/in \d+ s, at \d\d:\d\d/).waitFor();
    await limited.getByText('credential 1 of 2').waitFor();
    await limited.getByRole('row', { name: /^requests 1,200 7 — / }).waitFor();
    await limited.getByText('also slowest').waitFor();
    await limited.getByRole('link', { name: 'limited/m', exact: true }).waitFor();
    await assertSound(visitor);
    await page.setViewportSize({ width: 390, height: 900 });
    await assertFits(page);
    await assertSound(visitor);

    const code = await limited
      .getByRole('link', { name: /overloaded|rate/ })
      .first()
      .innerText();
    await limited.getByRole('link', { name: code, exact: true }).first().click();
    await page.waitForURL(/\/requests\?.*model=limited/);
    const found = new URL(page.url()).searchParams;
    assert.deepEqual(
      ['model', 'status', 'code'].map((name) => found.get(name)),
      ['limited/m', 'failed', code],
    );
    await page.getByRole('region', { name: 'Requests' }).getByRole('row').nth(1).waitFor();
  });
}

test('it is opened, changed and closed by keyboard', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/health');
  const { page } = visitor;
  await page.getByRole('row', { name: /^sandbox.tools/ }).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  const [first] = await page.getByRole('dialog').getByRole('heading').allInnerTexts();
  assert.match(first ?? '', /^limited\/m#/);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await panelOf(page, 'sandbox/echo').waitFor();
  await page.keyboard.press('k');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await panelOf(page, 'sandbox/tools').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page
    .getByRole('row', { name: /^sandbox.tools/ })
    .locator('button:focus')
    .waitFor();
  assert.equal(new URL(page.url()).search, '');
  assert.deepEqual(visitor.faults, []);
});

for (const theme of THEMES) {
  test(`it says that it loads, that it failed, and that there is no such endpoint, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui', { theme });
    const { page } = visitor;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isBroken = true;
    await page.route('**/health/endpoints', async (route) => {
      await held;
      if (isBroken) return route.fulfill({ status: 503, json: { error: { code: 'busy', message: 'Come again.' } } });
      return route.continue();
    });
    await page.goto(`${gateway.url}/ui/health?open=limited/none`);
    const panel = panelOf(page, 'limited/none');
    await panel.locator('.skeleton').first().waitFor();
    await assertSound(visitor);
    release();
    await panel.getByText('Come again.').waitFor();
    visitor.faults.length = 0;
    await assertSound(visitor);
    isBroken = false;
    await panel.getByRole('button', { name: 'Try again' }).click();
    await panel.getByText('This endpoint was not used in the last day').waitFor();
    visitor.faults.length = 0;
    await assertSound(visitor);
  });
}

test('its failed requests are those of the endpoint, by any name, and not of others of its provider', async () => {
  for (const model of ['limited/other', 'slowest']) await (await ask(gateway, KEY, model)).text();
  const { page } = await signInAsAdmin(browser, gateway, '/ui/health?open=limited%2Fm%231');
  await page.getByRole('link', { name: 'All failed requests of limited/m' }).click();
  const rows = page.getByRole('region', { name: 'Requests' }).getByRole('row', { name: /limited.m/ });
  await eventually({}, async () => (await rows.count()) === FAILURES + 1);
  assert.equal(await page.getByRole('row', { name: /limited.other/ }).count(), 0);
});

test('it says that it is what this gateway alone knows, while the store does not answer', async (context) => {
  let isAway = false;
  const own = await startGatewayWithPages(`admin: { token: ${TOKEN}, port: 0 }`, {
    wrapStore: (inner) => ({
      ...inner,
      call: (name, parameters) =>
        isAway && name === 'endpointSnapshots' ? Promise.reject(new Error('away')) : inner.call(name, parameters),
    }),
  });
  context.after(() => own.close());
  await (await ask(own, KEY)).text();
  const visitor = await signInAsAdmin(browser, own, '/ui/health?open=sandbox/echo');
  const { page } = visitor;
  const panel = panelOf(page, 'sandbox/echo');
  const notice = panel.getByText('As this gateway alone knows it: the store does not answer.');
  const ofList = page.getByText('as this gateway alone knows them: the store does not answer');
  await panel.getByText('healthy', { exact: true }).waitFor();
  assert.deepEqual([await notice.count(), await ofList.count()], [0, 0]);
  isAway = true;
  await page.reload();
  await notice.waitFor();
  await ofList.waitFor();
  await panel.getByRole('row', { name: '24 hours 1 0 100 %' }).waitFor();
  await assertSound(visitor);
  isAway = false;
  await notice.waitFor({ state: 'detached' });
});
