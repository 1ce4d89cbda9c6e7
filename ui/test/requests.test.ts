/** Requests as they come: filters, a key's own list, and conversations with their tools. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import {
  adminOf,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayForOperators,
  THEMES,
} from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

test('filters are in the address, and what fits none is said in a sentence', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests');
  const { page } = visitor;
  await page.getByRole('textbox', { name: 'Filter' }).fill('sandbox/tools');
  await page.keyboard.press('Enter');
  await page.waitForURL(/model=sandbox/);
  await page
    .getByRole('row', { name: /sandbox.tools/ })
    .first()
    .waitFor();
  assert.equal(await page.getByRole('row', { name: /sandbox.echo/ }).count(), 0);
  await page.goto(`${gateway.url}/ui/requests?status=cancelled`);
  await page.getByText('No request is like that').waitFor();
  await assertSound(visitor);
});

test('the holder of a key sees the own requests, without a filter for keys', async () => {
  const visitor = await signInWithKey(browser, gateway, KEY, '/ui/requests');
  await visitor.page
    .getByRole('row', { name: /sandbox.tools/ })
    .first()
    .waitFor();
  assert.equal(await visitor.page.getByRole('columnheader', { name: 'Key' }).count(), 0);
  await assertSound(visitor);
});

test('an empty list that cannot be refreshed says so, and is asked again', async () => {
  const { key } = await adminOf(gateway)('POST', '/keys', { name: 'quiet' });
  const { page } = await signInWithKey(browser, gateway, key, '/ui/requests');
  await page.getByText('No requests yet').waitFor();
  await page.route(/\/self\/requests\?/, (route) => route.abort());
  const main = page.getByRole('main');
  await main.getByText(/Shown is what was there at \d/).waitFor();
  await page.unrouteAll();
  await main.getByRole('button', { name: 'Try again' }).first().click();
  await main.getByText(/Shown is what was there at/).waitFor({ state: 'detached' });
  await page.getByText('No requests yet').waitFor();
});

test('figures and a list that cannot be refreshed say from when they are by the clock of their zone', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/requests?zone=UTC', { zone: 'Asia/Kolkata' });
  await page
    .getByRole('row', { name: /sandbox.echo/ })
    .first()
    .waitFor();
  await page.route(/\/admin\/v1\/requests/, (route) => route.abort());
  const since = page.getByRole('main').getByText(/Shown is what was there at/);
  await since.nth(1).waitFor();
  const ago = [0, 1, 2].map((minutes) => new Date(Date.now() - minutes * 60_000).toISOString().slice(11, 16));
  for (const text of await since.allInnerTexts()) {
    assert.ok(
      ago.some((minute) => text.includes(`at ${minute}:`)),
      text,
    );
  }
});

test('requests of a coding agent are one line, which leads to its turns', async () => {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'x-session-id': 'agent-7' };
  const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] });
  for (let turn = 0; turn < 2; turn++) {
    assert.equal((await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })).status, 200);
  }
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests');
  const { page } = visitor;
  await page.getByRole('button', { name: 'sessions', exact: true }).click();
  const row = page.getByRole('row', { name: /agent-7 test sandbox.echo 2 0 0 — / });
  await row.waitFor();
  await assertSound(visitor);
  await row.getByRole('button').click();
  await page.waitForURL(/session=agent-7/);
  await page.getByRole('button', { name: /session: agent-7/ }).waitFor();
  await page
    .getByRole('row', { name: /sandbox.echo/ })
    .nth(1)
    .waitFor();
  await assertSound(visitor);
});

for (const theme of THEMES) {
  test(`tools that failed are in the line of a conversation and in its requests, in the ${theme} theme`, async () => {
    const session = `agent-tools-${theme}`;
    const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'No such file.', is_error: true });
    const call = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} });
    const turns = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: [call('a'), call('b')] },
      { role: 'user', content: [result('a'), result('b')] },
    ];
    for (const count of [1, 3]) {
      const response = await fetch(`${gateway.url}/anthropic/v1/messages`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
          ...{ 'anthropic-version': '2023-06-01', 'x-session-id': session },
        },
        body: JSON.stringify({ model: 'sandbox/echo', max_tokens: 50, messages: turns.slice(0, count) }),
      });
      assert.equal(response.status, 200, await response.text());
    }
    const visitor = await signInAsAdmin(browser, gateway, '/ui/requests?view=sessions', { theme });
    const { page } = visitor;
    await page.getByRole('columnheader', { name: 'Tools failed' }).waitFor();
    const line = page.getByRole('row', { name: new RegExp(`${session} test sandbox.echo 2 0 0 2 `) });
    await line.waitFor();
    await assertSound(visitor);
    await line.getByRole('button').click();
    const row = page.getByRole('row', { name: /2 tools failed/ });
    await row.waitFor();
    await row.getByRole('button').press('Enter');
    const panel = page.getByRole('dialog', { name: 'Request' });
    await panel.getByText('Tools that failed').locator('xpath=following-sibling::*[1]').getByText('2').waitFor();
    await assertSound(visitor);
  });
}
