/** Requests that are more than the gateway reads at once: their sums, and conversations further back. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { ask, assertSound, downloadedRows, openBrowser, signInAsAdmin, startGatewayForOperators } from './browser.ts';

const EARLIER = 40;
/** As many as are read at once. */
const LATER = 5000;
const SENDERS = 16;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
  const failed = await ask(gateway, KEY, 'sandbox/faulty', {}, 'status 500');
  assert.ok(!failed.ok);
  await send('agent-earlier', EARLIER);
  await send('agent-later', LATER - EARLIER / 2);
  await send('agent-earlier', EARLIER / 2);
});
after(() => Promise.all([browser.close(), gateway.close()]));

async function send(session: string, count: number): Promise<void> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'x-session-id': session };
  const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] });
  let left = count;
  const sendSome = async () => {
    while (left-- > 0) {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body });
      assert.equal(response.status, 200);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sendSome));
}

test('sums are of all of them, by whole hours', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests?paused=true');
  const { page } = visitor;
  const figure = page.locator('dl > div', { hasText: /^Requests/ });
  await figure.getByText(/^since /).waitFor();
  const all = new Intl.NumberFormat('en').format(LATER + EARLIER + 4);
  assert.match(await figure.innerText(), new RegExp(`^Requests\\s+${all}\\s+since `));
  await page
    .getByText(new RegExp(`^p95 .* of all ${all}$`))
    .first()
    .waitFor();
  await assertSound(visitor);
});

test('one that failed among thousands is not shown as none', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/requests?paused=true&range=24h');
  const figure = page.locator('dl > div', { has: page.getByText('Failed', { exact: true }) }).first();
  await figure.getByText('> 99.9 % answered').waitFor();
  await figure.getByText('< 0.1 %').waitFor();
  await page.goto(`${gateway.url}/ui/use?metric=requests`);
  await page.getByRole('row', { name: /^sandbox.faulty 1 1 .* < 0\.1 %/ }).waitFor();
  await page.getByRole('row', { name: /^sandbox.echo .* > 99\.9 %/ }).waitFor();
});

test('a conversation has the sums of the requests that were looked at, and of earlier ones at a click', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests?view=sessions&paused=true');
  const { page } = visitor;
  const turns = (session: string, count: number) =>
    page
      .getByRole('row', { name: new RegExp(`${session} \\S+ sandbox.echo ${count.toLocaleString('en')} `) })
      .waitFor();
  await turns('agent-earlier', EARLIER / 2);
  await page.getByText('Made of the newest 5,000 requests of a day.').waitFor();
  await page.locator('[data-spoken]').getByText('2 of 2', { exact: true }).waitFor();
  // The file has them all, whatever is shown.
  const saved = await downloadedRows(page, () => page.keyboard.press('e'));
  assert.deepEqual(
    saved.map(({ session, requests }) => [session, requests]),
    [
      ['agent-earlier', String(EARLIER + EARLIER / 2)],
      ['agent-later', String(LATER - EARLIER / 2)],
    ],
  );
  await page.getByRole('button', { name: 'Look further back' }).click();
  await turns('agent-earlier', EARLIER + EARLIER / 2);
  await turns('agent-later', LATER - EARLIER / 2);
  assert.equal(await page.getByText(/Made of the newest/).count(), 0);
  await assertSound(visitor);
});
