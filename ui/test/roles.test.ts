/** What sessions may do that only read: pages do not offer what the gateway refuses them. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { videoClient } from '../../test/gateway/video-client.ts';
import { adminOf, ask, openBrowser, signInAsAdmin, signInWithKey, startGatewayForOperators, visit } from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([
    openBrowser(),
    startGatewayForOperators('callbacks: { allow_cidrs: [127.0.0.1/32] }'),
  ]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

/** A key that may only read, after a request and a video with a webhook. */
async function makeReader(): Promise<{ key: string; hash: string; video: string }> {
  const { key, data } = await adminOf(gateway)('POST', '/keys', { name: 'reader' });
  assert.equal((await ask(gateway, key)).status, 200);
  const client = videoClient(gateway, key);
  // Nothing listens there.
  const { id } = await client.create({ prompt: 'A paper boat', duration: 1, callback_url: 'https://127.0.0.1:443/' });
  await client.until(id, 'completed');
  await adminOf(gateway)('PATCH', `/keys/${data.hash}`, { read_only: true });
  return { key, hash: data.hash, video: id };
}

async function lacks(page: Page, name: string | RegExp): Promise<void> {
  assert.equal(await page.getByRole('button', { name }).count(), 0, `there is ${name}`);
  assert.equal(await page.getByRole('link', { name }).count(), 0, `there is ${name}`);
}

test('a key that may only read is offered nothing that it may not do', async () => {
  const { key, hash, video } = await makeReader();
  const { page } = await signInWithKey(browser, gateway, key, '/ui/videos?create=true');
  await page.getByText('A paper boat').waitFor();
  await lacks(page, /^Ask for/);
  await page.goto(`${gateway.url}/ui/videos?open=${video}`);
  await page.getByRole('heading', { name: 'What was asked for' }).waitFor();
  await page.getByRole('link', { name: 'Webhook', exact: true }).waitFor();
  for (const name of ['Again with changes', 'Delete …']) await lacks(page, name);
  await page.goto(`${gateway.url}/ui/webhooks?open=${video}&tab=signature`);
  await page.getByLabel('Body').waitFor();
  for (const name of ['Send it again', /secret of/]) await lacks(page, name);
  const requests = (await adminOf(gateway)('GET', `/requests?key=${hash}`)).data;
  await page.goto(`${gateway.url}/ui/requests?open=${requests[0].id}`);
  await page.getByRole('heading', { name: 'Use and cost' }).waitFor();
  await lacks(page, 'Open in the playground');
  await cannotSend(page);
});

test('a viewer is told that it cannot send requests', async () => {
  const admin = await signInAsAdmin(browser, gateway);
  const url = await admin.page.evaluate<string>(`(async () => {
    const headers = { 'content-type': 'application/json', 'x-polygate-ui': '1' };
    const response = await fetch('/ui/session/links', { method: 'POST', headers, body: '{"role":"viewer"}' });
    return (await response.json()).data.url;
  })()`);
  const { page } = await visit(browser, url);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await cannotSend(page);
});

async function cannotSend(page: Page): Promise<void> {
  const sent: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
  await page.goto(`${gateway.url}/ui/playground`);
  await page.getByText('may only read, and cannot send requests').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Send' }).isDisabled(), true);
  await page.getByLabel('User', { exact: true }).fill('Hello');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('navigation').getByRole('link', { name: 'Models' }).click();
  await page.getByRole('heading', { name: 'Models' }).waitFor();
  assert.deepEqual(sent, []);
}
