/**
 * Journeys over all pages, on one gateway with SQLite, and with PostgreSQL on one and on two: one does, the other shows. Then
 * every page at the second of two gateways, in the dark theme.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import type { Browser, Page } from 'playwright-core';
import type { Json } from '../../src/core/json/json.ts';
import { moneyOf } from '../../src/core/money.ts';
import { answerJson, KEY, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import { eventually, videoClient } from '../../test/gateway/video-client.ts';
import { providePostgres, type TestDatabase } from '../../test/store/postgres-server.ts';
import { type Receiver, startReceiver } from '../../test/webhooks/receiver.ts';
import {
  adminOf,
  ask,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayWithPages,
  TOKEN,
  type Visit,
  visit,
} from './browser.ts';
import { type ObjectStore, startObjectStore } from './object-store.ts';
import { HOLDER_PAGES, OPERATOR_PAGES, type PageStates } from './page-states.ts';
import { playRange } from './player.ts';

const CA = join(import.meta.dirname, '../../test/net/fixtures/test-only-ca.pem');
const SECRET = 'whsec_c2VjcmV0IG9mIHRoaXMgdGVzdCBmaWxlIG9ubHkhISE=';
const CALLBACKS = `callbacks: { secret: ${SECRET}, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`;
/** All gateways of a database have the same key. */
const KEY_OF_ALL = Buffer.from('encryption-key-of-these-replicas').toString('base64');
const PRICE = '0.000005';
const HOUR_MS = 3_600_000;
/** The thread that delivers has the lowest priority, and starts with the first webhook. */
const FIRST_DELIVERY = { timeout: 90_000 };
/** One provider is overloaded, so that requests fall back; a request of another model has a price. */
const yamlWith = (overloaded: string, bucket: string) => `admin: { token: ${TOKEN}, port: 0 }
${CALLBACKS}
videos: { mirror: s3, s3: { endpoint: "${bucket}", bucket: videos, access_key_id: a, secret_access_key: s } }
encryption: { key: ${KEY_OF_ALL} }
providers: { busy: { type: openai-compatible, base_url: "${overloaded}/v1", api_key: x, models: [{ id: m, pricing: { prompt: "${PRICE}", completion: "0" } }] } }
models:
  demo/house: { endpoints: [{ provider: busy, model: m }, { provider: sandbox, model: echo, priority: 1 }] }
  house/priced: { endpoints: [{ provider: sandbox, model: echo, pricing: { prompt: "0", completion: "0", request: "0.40" } }] }`;

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
let overloaded: TestUpstream;
let objects: ObjectStore;
let yaml = '';
/** Tasks whose webhooks are refused. */
const refused = new Set<string>();

before(async () => {
  [browser, objects, receiver, overloaded] = await Promise.all([
    openBrowser(),
    startObjectStore(),
    startReceiver((response, { body }) => {
      const isRefused = [...refused].some((task) => body.includes(task));
      response.writeHead(isRefused ? 503 : 204).end();
    }),
    startUpstream((_call, response) => answerJson(response, { error: { message: 'Busy.' } }, 503)),
  ]);
  yaml = yamlWith(overloaded.url, objects.url);
});
after(() => Promise.all([browser, objects, receiver, overloaded].map((one) => one.close())));

for (const { engine, replicas } of SETUPS) {
  describe(`on ${engine}, ${replicas === 1 ? 'one gateway' : 'two gateways'}`, () => {
    let database: TestDatabase | undefined;
    let gateways: TestGateway[] = [];
    /** Looked at, and asked. They are one where there is only one. */
    let here: TestGateway;
    let there: TestGateway;
    let visitor: Visit;
    let page: Page;
    let boat: string;

    before(async () => {
      database = engine === 'PostgreSQL' ? await providePostgres() : undefined;
      for (let index = 0; index < replicas; index++) {
        gateways.push(
          await startGatewayWithPages(yaml, {
            postgres: database?.url,
            keys: [`{ name: boats, key: ${KEY}-of-boats, tags: { team: search } }`],
          }),
        );
      }
      here = gateways[0] as TestGateway;
      there = gateways.at(-1) as TestGateway;
      // It is made while the first tests run.
      boat = (await videoClient(there).create({ prompt: 'A paper boat' })).id;
      visitor = await signInAsAdmin(browser, here, '/ui/requests');
      page = visitor.page;
    });
    after(async () => {
      for (const gateway of gateways) await gateway.close();
      gateways = [];
      await database?.close();
      await page.context().close();
    });

    test('a request appears by itself, with its conversation, and its fallback is in the waterfall', async () => {
      await page.getByText('No requests yet').waitFor();
      assert.equal((await ask(there, KEY, 'demo/house', { 'x-session-id': 'paper-boats' })).status, 200);
      const row = page.getByRole('row', { name: /sandbox.echo .*2 attempts/ });
      await row.getByRole('button').press('Enter');
      const panel = page.getByRole('dialog', { name: 'Request' });
      await panel.getByText(/Answered by sandbox.echo .* attempt 2 after/).waitFor();
      await panel.getByRole('img', { name: /503/ }).first().waitFor();
      await panel.getByRole('heading', { name: 'Candidates' }).waitFor();
      await assertSound(visitor);
      await page.goto(`${here.url}/ui/requests?view=sessions`);
      await page.getByRole('row', { name: /paper-boats/ }).waitFor();
      await assertSound(visitor);
    });

    test('a link opens one session at every gateway, and leads to the first request; the end is one everywhere', async () => {
      const url = await page.evaluate<string>(MAKE_LINK);
      const newcomer = await visit(browser, url.replace(here.url, there.url).replace('/ui#', '/ui/setup#'));
      const { page: setup } = newcomer;
      await setup.getByRole('main').getByText('Waiting for a request').waitFor();
      await setup.getByRole('button', { name: 'Test sandbox' }).click();
      await setup
        .getByRole('main')
        .getByText(/It answers: \d+ models/)
        .waitFor();
      await assertSound(newcomer);
      await setup.getByLabel('Or make one, named').fill('newcomer');
      await setup.getByRole('button', { name: 'Make a key' }).click();
      const shown = setup.getByText(/^sk-pg-\S+$/).first();
      const secret = await shown.innerText();
      await setup.getByRole('button', { name: 'LangChain' }).click();
      await setup.getByText(secret).nth(1).waitFor();
      await eventually({}, async () => (await ask(here, secret)).status === 200);
      await setup
        .getByRole('main')
        .getByText(/It has come: sandbox.echo, completed/)
        .waitFor();
      await assertSound(newcomer);
      await setup.getByRole('link', { name: 'See how it was routed' }).click();
      const panel = setup.getByRole('dialog', { name: 'Request' });
      await panel.getByText(/Answered by sandbox.echo/).waitFor();

      const late = await visit(browser, url);
      await late.page.getByRole('alert').getByText('wrong, or no longer valid').waitFor();
      // A cookie is of a host, whatever the port.
      await setup.goto(`${here.url}/ui/health`);
      await setup.getByRole('region', { name: 'Store' }).getByText(engine).waitFor();
      await setup.getByRole('button', { name: 'Sign out' }).click();
      await setup.getByLabel(/API key/).waitFor();
      await setup.goto(`${there.url}/ui/keys`);
      await setup.getByLabel(/API key/).waitFor();
      await Promise.all([newcomer, late].map((one) => one.page.context().close()));
    });

    test('a key is made, used, counted, reaches its budget, and is revoked', async () => {
      await page.goto(`${here.url}/ui/keys?create=true`);
      await page.getByLabel('Name', { exact: true }).fill('laptop');
      await page.getByLabel('Monthly budget').fill('0.50');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      const shown = page.getByRole('dialog').getByText(/^sk-pg-\S+$/);
      const secret = await shown.first().innerText();
      await eventually({}, async () => (await ask(there, secret, 'house/priced')).status === 200);
      await page.locator('[data-spoken]').filter({ hasText: 'Its first request has come.' }).waitFor();
      await page.getByRole('button', { name: 'I have the key' }).click();
      const refusal = await ask(there, secret, 'house/priced');
      assert.equal(refusal.status, 402, await refusal.text());
      const bar = { name: /^80 % of the budget this month is spent/ };
      await page.goto(`${here.url}/ui/keys`);
      await page.getByRole('row').filter({ hasText: 'laptop' }).getByRole('img', bar).waitFor();
      const holder = await signInWithKey(browser, there, secret, '/ui/key');
      await holder.page.getByRole('region', { name: 'Limits' }).getByRole('img', bar).waitFor();

      // A video is a record when it ends.
      await videoClient(there).until(boat, 'completed');
      await page.goto(`${here.url}/ui/use?by=key&metric=requests`);
      await page.getByRole('row', { name: /^laptop 1 / }).waitFor();
      await page.getByRole('row', { name: /^test \d/ }).waitFor();
      await assertSound(visitor);
      await assertSumsAgree(page, there);
      await page.getByRole('button', { name: 'Views', exact: true }).click();
      const views = page.getByRole('dialog', { name: 'Saved views' });
      await views.getByLabel('Name of what is shown now').fill('Requests by key');
      await page.keyboard.press('Enter');
      await views.getByRole('button', { name: 'Requests by key', exact: true }).waitFor();

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

    test('a video is played with a range, and one that runs is cancelled', async () => {
      const client = videoClient(there);
      await client.until(boat, 'completed');
      await playRange(page, () => page.goto(`${here.url}/ui/videos?open=${boat}`));
      const { id } = await client.create({ prompt: 'hang', callback_url: callbackUrl() });
      await page.goto(`${here.url}/ui/videos?open=${id}`);
      await page.getByRole('button', { name: 'Cancel' }).click();
      await client.until(id, 'cancelled');
      await page.goto(`${here.url}/ui/webhooks?open=${id}`);
      await page
        .getByRole('dialog', { name: 'Webhook' })
        .getByText('acknowledged, 204')
        .first()
        .waitFor(FIRST_DELIVERY);
      assert.deepEqual(visitor.faults, []);
    });

    test('a webhook fails until nothing tries any more, is sent again, and its signature is checked', async () => {
      const client = videoClient(there);
      const { id } = await client.create({ prompt: 'hang', callback_url: callbackUrl() });
      refused.add(id);
      await client.send('POST', `/v1/videos/${id}/cancel`);
      await page.goto(`${here.url}/ui/webhooks`);
      const row = page
        .getByRole('row', { name: /127.0.0.1/ })
        .filter({ has: page.getByRole('img', { name: /refused/ }) });
      await row.getByRole('img', { name: /^1: refused, 503; (.*; )?one to come$/ }).waitFor(FIRST_DELIVERY);
      // As after its last attempt, which would be half an hour later.
      await change(here, database, `UPDATE delivery SET begun = 11 WHERE task_id = '${id}'`);
      await change(here, database, `UPDATE job SET due_at = 0 WHERE kind = 'webhook' AND ref = '${id}-cancelled'`);
      await row.getByText('exhausted').waitFor();
      await page.reload();
      const figures = page.getByRole('region', { name: 'Receivers' }).getByRole('button', { name: /127.0.0.1/ });
      await figures.getByText('50.0 %').waitFor();
      await figures.getByText('1 of 2 delivered').waitFor();
      await figures.getByText(/^failing since /).waitFor();
      await assertSound(visitor);

      await row.getByRole('button').press('Enter');
      const panel = page.getByRole('dialog', { name: 'Webhook' });
      const again = panel.getByRole('button', { name: 'Send it again' });
      await again.click();
      await panel.getByRole('listitem').filter({ hasText: 'replay' }).getByText('refused, 503').waitFor();
      await assertSound(visitor);
      refused.delete(id);
      await again.click();
      await panel.getByRole('listitem').filter({ hasText: 'replay' }).getByText('acknowledged, 204').waitFor();
      await panel.getByText('delivered', { exact: true }).waitFor();

      const sent = receiver.received.at(-1);
      assert.ok(sent);
      assert.ok(sent.body.includes(id));
      const names = ['x-service-signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature'];
      await panel.getByRole('button', { name: 'Check a signature' }).click();
      await panel.getByLabel('Body').fill(sent.body.toString());
      await panel.getByLabel('Headers').fill(names.map((name) => `${name}: ${sent.headers[name]}`).join('\n'));
      await panel.getByLabel('Secret').fill(SECRET);
      await panel.getByRole('button', { name: 'Check', exact: true }).click();
      await panel.getByText('valid', { exact: true }).nth(1).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('img', { name: /^1: refused, 503; .*\d: refused, 503; \d: acknowledged, 204$/ }).waitFor();
      await page.reload();
      await figures.getByText('100 %').waitFor();
      assert.equal(await figures.getByText(/failing since/).count(), 0);
      await assertSound(visitor);
    });

    if (replicas > 1) {
      describe('at the second gateway, in the dark theme', () => {
        let operator: Visit;
        let holder: Visit;
        const options = { theme: 'dark' } as const;

        before(async () => {
          operator = await signInAsAdmin(browser, there, '/ui', options);
          holder = await signInWithKey(browser, there, KEY, '/ui', options);
        });
        after(() => Promise.all([operator, holder].map((one) => one.page.context().close())));

        const pages = [
          ...Object.entries<PageStates>(OPERATOR_PAGES).map((entry) => ({ entry, visitorOf: () => operator })),
          ...Object.entries(HOLDER_PAGES).map((entry) => ({ entry, visitorOf: () => holder })),
        ];
        for (const {
          entry: [name, { path, filled }],
          visitorOf,
        } of pages) {
          test(`${name}, filled`, async () => {
            const one = visitorOf();
            await one.page.goto(there.url + path);
            await filled(one.page).waitFor();
            await assertSound(one);
          });
        }

        test('changes of prices, saved views and the contents of a key are there, too', async () => {
          // The prices of before were seen with the list of models.
          for (const gateway of gateways) gateway.reload(yaml.replace(PRICE, '0.000004'));
          await operator.page.goto(`${there.url}/ui/models?open=busy/m`);
          const model = operator.page.getByRole('dialog', { name: 'busy/m' });
          await model.getByText(/^Changed .*: input \$5\.00 → \$4\.00$/).waitFor();
          await assertSound(operator);
          await operator.page.goto(`${there.url}/ui/settings`);
          await operator.page.getByRole('button', { name: 'Requests by key', exact: true }).waitFor();
          await operator.page.goto(`${there.url}/ui/use`);
          await operator.page.getByRole('button', { name: 'Views', exact: true }).click();
          await operator.page.getByRole('button', { name: 'Requests by key', exact: true }).click();
          await operator.page.waitForURL(/metric=requests/);
          await holder.page.goto(`${there.url}/ui/key`);
          const newest = holder.page.getByRole('region', { name: 'Newest requests' });
          await newest.getByRole('row', { name: /sandbox.echo/ }).waitFor();
          await holder.page
            .getByRole('region', { name: 'Use by model' })
            .getByRole('cell', { name: 'sandbox/echo' })
            .waitFor();
          assert.deepEqual([...operator.faults, ...holder.faults], []);
        });
      });
    }
  });
}

function callbackUrl(): string {
  return `https://127.0.0.1:${receiver.port}/hook`;
}

/** The table that is shown, its file, the report of the API at another gateway, and the records add up to the same. */
async function assertSumsAgree(page: Page, other: TestGateway): Promise<void> {
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'CSV' }).click()]);
  const [head = '', ...lines] = readFileSync(await file.path(), 'utf8')
    .trimEnd()
    .split('\r\n');
  const columnOf = (name: string) => lines.map((line) => line.split(',')[head.split(',').indexOf(name)] || '0');
  const ask = adminOf(other);
  const { total } = await ask('GET', `/usage?by=key&from=${new Date(Date.now() - 24 * HOUR_MS).toISOString()}`);
  const records: Json[] = (await ask('GET', '/requests?limit=200')).data;
  const shown = await page
    .getByRole('row', { name: /^Total/ })
    .getByRole('cell')
    .allInnerTexts();
  const sumOf = (costs: string[]) => costs.reduce((sum, cost) => sum + moneyOf(cost), 0n);
  const cost = sumOf(records.map((record) => record.cost ?? '0'));
  assert.ok(cost > 0n);
  assert.deepEqual([sumOf(columnOf('cost')), moneyOf(total.cost)], [cost, cost]);
  assert.ok(
    shown.some((text) => text.startsWith('$') && moneyOf(text.slice(1)) === cost),
    shown.join(' '),
  );
  const count = columnOf('requests').reduce((sum, text) => sum + Number(text), 0);
  // The one video is used, too, and is in a list of its own.
  const all = records.length + 1;
  assert.deepEqual([count, total.requests, shown[1]], [all, all, String(all)]);
}

/** Of the state of gateways, beside them. */
async function change({ folder }: TestGateway, database: TestDatabase | undefined, statement: string): Promise<void> {
  if (database === undefined) {
    const state = new DatabaseSync(join(folder, 'state.db'), { timeout: 5000 });
    state.exec(statement);
    state.close();
    return;
  }
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(statement);
  await client.end();
}
