/** Tabs, forms, programs and tables of charts are in the address: what was chosen is there again after a link is opened. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { createVideoClock, videoClient } from '../../test/gateway/video-client.ts';
import {
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayWithPages,
  TOKEN,
  visit,
} from './browser.ts';

/** More than the page shows at first. */
const RECEIVERS = 8;

let browser: Browser;
let gateway: TestGateway;
let task: string;

before(async () => {
  const yaml = `admin: { token: ${TOKEN}, port: 0 }\ncallbacks: { secret: whsec_c2VjcmV0IG9mIHRoaXMgdGVzdCBmaWxlIG9ubHkhISE=, allow_cidrs: [127.0.0.0/8] }`;
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayWithPages(yaml, { clock: createVideoClock() })]);
  await ask(gateway, KEY);
  const videos = videoClient(gateway);
  for (let index = 1; index <= RECEIVERS; index++) {
    task = (await videos.create({ prompt: `Boat ${index}`, callback_url: `https://127.0.0.${index}:8443/hook` })).id;
    await videos.until(task, 'completed');
  }
});
after(() => Promise.all([browser.close(), gateway.close()]));

/** What `act` does is in the address, and is there again without it. */
async function staysInLinks(
  page: Page,
  search: RegExp,
  act: () => Promise<void>,
  seen: () => Promise<unknown>,
): Promise<void> {
  await act();
  await page.waitForURL(search);
  await seen();
  await page.goto(page.url());
  await seen();
}

test('the tab of a webhook and the check of a signature', async () => {
  const visitor = await signInAsAdmin(browser, gateway, `/ui/webhooks?open=${task}`);
  const { page } = visitor;
  const panel = page.getByRole('dialog', { name: 'Webhook' });
  await staysInLinks(
    page,
    /tab=headers/,
    () => panel.getByRole('button', { name: 'Headers' }).click(),
    () => panel.getByText(/webhook-signature: /).waitFor(),
  );
  await panel.getByRole('button', { name: 'Close' }).click();
  await page.waitForURL((url) => !url.search.includes('tab'));
  await staysInLinks(
    page,
    /check=true/,
    () => page.getByRole('button', { name: 'Check a signature' }).click(),
    () => page.getByRole('dialog', { name: 'Check a signature' }).getByLabel('Secret').waitFor(),
  );
});

test('all receivers, and the video of a webhook', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/webhooks', { width: 360 });
  const { page } = visitor;
  const receivers = page.getByRole('region', { name: 'Receivers' }).getByRole('listitem');
  await receivers.first().waitFor();
  assert.equal(await receivers.count(), 6);
  await staysInLinks(
    page,
    /receivers=all/,
    () => page.getByRole('button', { name: `Show all ${RECEIVERS}` }).click(),
    async () => {
      await receivers.nth(RECEIVERS - 1).waitFor();
      assert.equal(await receivers.count(), RECEIVERS);
    },
  );
  await assertSound(visitor);
  await assertFits(page);
  await page.getByRole('button', { name: 'Show the busiest 6' }).click();
  await receivers.nth(RECEIVERS - 1).waitFor({ state: 'detached' });
  await page.getByRole('columnheader', { name: 'Task' }).waitFor();
  await page.getByRole('link', { name: task.slice(0, 8) }).click();
  await page.getByRole('dialog', { name: 'Video' }).getByText(`Boat ${RECEIVERS}`).waitFor();
});

test('the form that asks for a video', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/videos');
  await staysInLinks(
    page,
    /create=true/,
    () => page.getByRole('button', { name: 'Ask for a video' }).click(),
    () => page.getByRole('dialog', { name: 'Ask for a video' }).getByLabel('Prompt').waitFor(),
  );
});

test('the program of the setup and of the own key, and charts as tables', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/setup');
  await staysInLinks(
    page,
    /program=LangChain/,
    () => page.getByRole('button', { name: 'LangChain' }).click(),
    () => page.getByText('from langchain_openai import ChatOpenAI').waitFor(),
  );
  await page.goto(`${gateway.url}/ui/use`);
  await staysInLinks(
    page,
    /table=true/,
    () => page.getByRole('button', { name: 'As table' }).click(),
    () => page.getByRole('region', { name: 'Figures of the chart' }).waitFor(),
  );

  const holder = (await visit(browser, `${gateway.url}/ui/key?program=OpenCode&table=true`)).page;
  await holder.getByLabel(/API key/).fill(KEY);
  await holder.keyboard.press('Enter');
  await holder.getByText('export OPENCODE_CONFIG_CONTENT').waitFor();
  await holder.getByRole('region', { name: 'Figures of the chart' }).waitFor();
  await staysInLinks(
    holder,
    /program=Codex/,
    () => holder.getByRole('button', { name: 'Codex' }).click(),
    () => holder.getByText('codex -c model_provider=polygate').waitFor(),
  );
});
