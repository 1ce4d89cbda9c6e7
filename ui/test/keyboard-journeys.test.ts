/** Use is drilled into, and a webhook is sent again, by keyboard alone. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { createVideoClock, eventually, videoClient } from '../../test/gateway/video-client.ts';
import { type Receiver, startReceiver } from '../../test/webhooks/receiver.ts';
import { ask, openBrowser, signInAsAdmin, startGatewayWithPages, TOKEN } from './browser.ts';
import { button, focused, heading, pressOn } from './by-keyboard.ts';

const CA = join(import.meta.dirname, '../../test/net/fixtures/test-only-ca.pem');
const CALLBACKS = `{ secret: whsec_c2VjcmV0IG9mIHRoaXMgdGVzdCBmaWxlIG9ubHkhISE=, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`;

let browser: Browser;
let gateway: TestGateway;
let receiver: Receiver;

before(async () => {
  receiver = await startReceiver();
  const yaml = `admin: { token: ${TOKEN}, port: 0 }\ncallbacks: ${CALLBACKS}`;
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayWithPages(yaml, { clock: createVideoClock() })]);
  assert.equal((await ask(gateway, KEY)).status, 200);
  const client = videoClient(gateway);
  const callback_url = `https://127.0.0.1:${receiver.port}/hook`;
  await client.until((await client.create({ prompt: 'A kite', callback_url })).id, 'completed');
  await eventually(gateway, () => receiver.received.length > 0);
});
after(() => Promise.all([browser.close(), gateway.close(), receiver.close()]));

test('use is drilled into from a key to its models, in another range', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/use?by=key');
  const { page } = visitor;
  await pressOn(page, button(page, 'test'));
  await page.waitForURL(/by=model/);
  await page.getByRole('row', { name: /^sandbox.echo/ }).waitFor();
  await pressOn(page, button(page.getByRole('group', { name: 'Time', exact: true }), '7d'));
  await page.waitForURL(/range=7d/);
  await page.getByRole('row', { name: /^sandbox.echo/ }).waitFor();
  assert.deepEqual(visitor.faults, []);
});

test('a webhook is opened and sent again', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/webhooks');
  const { page } = visitor;
  const row = page.getByRole('row', { name: /completed/ });
  await row.getByRole('img', { name: /1: acknowledged, 204/ }).waitFor();
  const sent = receiver.received.length;
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  const panel = page.getByRole('dialog', { name: 'Webhook' });
  await pressOn(page, button(panel, 'Send it again'));
  await panel.getByText('with the same bytes').waitFor();
  assert.equal(receiver.received.length, sent + 1);
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  await row.getByRole('img', { name: /2: acknowledged, 204/ }).waitFor();
  assert.ok(await focused(page, row.getByRole('button')));
  assert.deepEqual(visitor.faults, []);
  await page.keyboard.press('g');
  await page.keyboard.press('u');
  await heading(page, 'Use and cost');
});
