/**
 * Journeys over all pages, on one gateway with SQLite, and with PostgreSQL on one and on two: one does, the other shows.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { eventually, videoClient } from '../../test/gateway/video-client.ts';
import { providePostgres, type TestDatabase } from '../../test/store/postgres-server.ts';
import { type Receiver, startReceiver } from '../../test/webhooks/receiver.ts';
import {
  ask,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayWithPages,
  TOKEN,
  type Visit,
  visit,
} from './browser.ts';

const CA = join(import.meta.dirname, '../../test/net/fixtures/test-only-ca.pem');
const CALLBACKS = `{ secret: whsec_c2VjcmV0IG9mIHRoaXMgdGVzdCBmaWxlIG9ubHkhISE=, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`;
/** All gateways of a database have the same key. */
const KEY_OF_ALL = Buffer.from('encryption-key-of-these-replicas').toString('base64');
const YAML = `admin: { token: ${TOKEN}, port: 0 }\ncallbacks: ${CALLBACKS}\nencryption: { key: ${KEY_OF_ALL} }`;

/** A link for one session of an admin. */
const MAKE_LINK = `(async () => {
  const headers = { 'content-type': 'application/json', 'x-polygate-ui': '1' };
  const response = await fetch('/ui/session/links', { method: 'POST', headers, body: '{"role":"admin"}' });
  return (await response.json()).data.url;
})()`;

const SETUPS = [
  { engine: 'SQLite', replicas: 1 },
  { engine: 'PostgreSQL', replicas: 1 },
  { engine: 'PostgreSQL', replicas: 2 },
] as const;

let browser: Browser;
let receiver: Receiver;

before(async () => {
  [browser, receiver] = await Promise.all([openBrowser(), startReceiver()]);
});
after(() => Promise.all([browser.close(), receiver.close()]));

for (const { engine, replicas } of SETUPS) {
  describe(`on ${engine}, ${replicas === 1 ? 'one gateway' : 'two gateways'}`, () => {
    let database: TestDatabase | undefined;
    let gateways: TestGateway[] = [];
    /** Looked at, and asked. They are one where there is only one. */
    let here: TestGateway;
    let there: TestGateway;
    let visitor: Visit;
    let page: Page;

    before(async () => {
      database = engine === 'PostgreSQL' ? await providePostgres() : undefined;
      for (let index = 0; index < replicas; index++) {
        gateways.push(await startGatewayWithPages(YAML, { postgres: database?.url }));
      }
      here = gateways[0] as TestGateway;
      there = gateways.at(-1) as TestGateway;
      visitor = await signInAsAdmin(browser, here, '/ui/requests');
      page = visitor.page;
    });
    after(async () => {
      for (const gateway of gateways) await gateway.close();
      gateways = [];
      await database?.close();
    });

    test('a request appears by itself, with its conversation and its routing', async () => {
      await page.getByText('No requests yet').waitFor();
      assert.equal((await ask(there, KEY, 'sandbox/echo', { 'x-session-id': 'paper-boats' })).status, 200);
      const row = page.getByRole('row', { name: /sandbox.echo/ }).first();
      await row.waitFor();
      await row.getByRole('button').press('Enter');
      await page
        .getByRole('dialog', { name: 'Request' })
        .getByText(/Answered by sandbox.echo/)
        .waitFor();
      await page.goto(`${here.url}/ui/requests?view=sessions`);
      await page.getByRole('row', { name: /paper-boats/ }).waitFor();
      await assertSound(visitor);
    });

    test('a key is made, used, counted and revoked', async () => {
      await page.goto(`${here.url}/ui/keys?create=true`);
      await page.getByLabel('Name', { exact: true }).fill('laptop');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      const secret = await page
        .getByRole('dialog')
        .getByText(/^sk-pg-\S+$/)
        .first()
        .innerText();
      await eventually({}, async () => (await ask(there, secret, 'sandbox/tools')).status === 200);
      await page.getByText('Its first request has come.').waitFor();
      await page.getByRole('button', { name: 'I have the key' }).click();
      await page.goto(`${here.url}/ui/use?by=key&metric=requests`);
      await page.getByRole('row', { name: /^laptop 1 / }).waitFor();
      await page.getByRole('row', { name: /^test 1 / }).waitFor();
      await assertSound(visitor);
      const holder = await visit(browser, `${there.url}/ui`);
      await holder.page.getByLabel(/API key/).fill(secret);
      await holder.page.keyboard.press('Enter');
      await holder.page.getByRole('heading', { name: 'My key' }).waitFor();
      await page.goto(`${here.url}/ui/keys`);
      await page.getByRole('button', { name: /laptop/ }).click();
      await page.getByRole('button', { name: 'Revoke …' }).click();
      await page.getByLabel('Type laptop').fill('laptop');
      await page.getByRole('button', { name: 'Revoke the key' }).click();
      await page.getByText('revoked', { exact: true }).first().waitFor();
      await eventually({}, async () => (await ask(there, secret)).status === 401);
      await holder.page.reload();
      await holder.page.getByLabel(/API key/).waitFor();
      await holder.page.context().close();
    });

    test('a video is made and cancelled, and a webhook is shown and sent again', async () => {
      const client = videoClient(there);
      const callback_url = `https://127.0.0.1:${receiver.port}/hook`;
      const { id } = await client.create({ prompt: 'hang', callback_url });
      await page.goto(`${here.url}/ui/videos?open=${id}`);
      await page.getByRole('button', { name: 'Cancel' }).click();
      await client.until(id, 'cancelled');
      await page.goto(`${here.url}/ui/webhooks?open=${id}`);
      const panel = page.getByRole('dialog', { name: 'Webhook' });
      await panel.getByText('acknowledged, 204').first().waitFor();
      const count = receiver.received.length;
      await panel.getByRole('button', { name: 'Send it again' }).click();
      await eventually({}, () => receiver.received.length > count);
      await assertSound(visitor);
    });

    test('a session is valid at every gateway, its link once, and its end is one everywhere', async () => {
      await page.goto(`${here.url}/ui/health`);
      await page.getByRole('region', { name: 'Store' }).getByText(engine).waitFor();
      const url = await page.evaluate<string>(MAKE_LINK);
      const other = await visit(browser, url.replace(here.url, there.url));
      await other.page.getByRole('button', { name: 'Sign out' }).waitFor();
      const late = await visit(browser, url);
      await late.page.getByRole('alert').getByText('wrong, or no longer valid').waitFor();
      // A cookie is of a host, whatever the port.
      await other.page.goto(`${here.url}/ui/keys`);
      await other.page.getByRole('row', { name: /test/ }).first().waitFor();
      await other.page.getByRole('button', { name: 'Sign out' }).click();
      await other.page.getByLabel(/API key/).waitFor();
      await other.page.goto(`${there.url}/ui/keys`);
      await other.page.getByLabel(/API key/).waitFor();
      assert.deepEqual(visitor.faults, []);
      await Promise.all([other, late].map((one) => one.page.context().close()));
    });
  });
}
