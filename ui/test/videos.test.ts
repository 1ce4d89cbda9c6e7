/** Videos and webhooks: a gallery with a player, attempts, replay, and a signature that is checked in the browser. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Locator } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { createVideoClock, eventually, videoClient } from '../../test/gateway/video-client.ts';
import { type Receiver, startReceiver } from '../../test/webhooks/receiver.ts';
import {
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayWithPages,
  type Theme,
  TOKEN,
} from './browser.ts';
import { playRange } from './player.ts';

const CA = join(import.meta.dirname, '../../test/net/fixtures/test-only-ca.pem');
const SECRET = 'whsec_c2VjcmV0IG9mIHRoaXMgdGVzdCBmaWxlIG9ubHkhISE=';
const CALLBACKS = `{ secret: ${SECRET}, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`;
const YAML = `admin: { token: ${TOKEN}, port: 0 }\ncallbacks: ${CALLBACKS}`;

let browser: Browser;
let gateway: TestGateway;
let receiver: Receiver;
let finished: string;
let hanging: string;

before(async () => {
  receiver = await startReceiver();
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayWithPages(YAML, { clock: createVideoClock() })]);
  const client = videoClient(gateway);
  const callback_url = `https://127.0.0.1:${receiver.port}/hook`;
  finished = (await client.create({ prompt: 'A paper boat', callback_url, seed: 7 })).id;
  await client.until(finished, 'completed');
  hanging = (await client.create({ prompt: 'hang' })).id;
  await client.until((await client.create({ prompt: 'fail' })).id, 'failed');
  await eventually(gateway, () => receiver.received.length > 0);
});
after(() => Promise.all([browser.close(), gateway.close(), receiver.close()]));

for (const theme of ['light', 'dark'] satisfies Theme[]) {
  test(`videos are a gallery with first frames, a player and filters, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/videos', { theme });
    const { page } = visitor;
    const card = page.getByRole('button', { name: /A paper boat/ });
    await card.locator('img').waitFor();
    await page
      .getByRole('button', { name: /hang/ })
      .getByText(/in progress|queued/)
      .waitFor();
    await showsProgress(page.getByRole('button', { name: /hang/ }));
    await assertSound(visitor);
    const figures = page.locator('dl').first();
    await figures.getByText('On the way').waitFor();
    assert.match(
      (await figures.innerText()).replaceAll(/\s+/g, ' '),
      /Videos 3 tasks On the way 1 0 queued, 1 in progress Completed 1 33 % Failed 1 33 %/,
    );
    for (const view of ['grid', 'list']) {
      await page.getByRole('button', { name: view, exact: true }).click();
      const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('e')]);
      const lines = readFileSync(await file.path(), 'utf8')
        .trimEnd()
        .split('\r\n');
      assert.deepEqual([lines.length, lines[0]?.startsWith('id,status,model,prompt,')], [4, true], view);
    }
    await page.getByRole('row', { name: /A paper boat completed test sandbox.video 1 / }).waitFor();
    await page.getByRole('row', { name: /hang in progress [1-9]\d? % / }).waitFor();
    await assertSound(visitor);
    await playRange(page, () => page.goto(`${gateway.url}/ui/videos?open=${finished}`));
    const panel = page.getByRole('dialog', { name: 'Video' });
    await panel.getByText('accepted', { exact: true }).waitFor();
    await assertSound(visitor);
  });
}

test('buttons of a video stay where they are while its bytes and its webhook arrive', async () => {
  const { page } = await signInAsAdmin(browser, gateway);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await page.route(/\/content\?|\/deliveries\?/, async (route) => {
    await released;
    await route.continue();
  });
  await page.goto(`${gateway.url}/ui/videos?open=${finished}`);
  const panel = page.getByRole('dialog', { name: 'Video' });
  const places = async () =>
    Promise.all(
      ['Again with changes', 'Delete …', 'Copy as'].map((name) => panel.getByRole('button', { name }).boundingBox()),
    );
  await panel.getByRole('button', { name: 'Delete …' }).waitFor();
  const before = await places();
  release();
  await panel.getByRole('link', { name: 'Webhook', exact: true }).waitFor();
  await eventually({}, () => page.evaluate<boolean>('document.querySelector("video").videoWidth > 0'));
  assert.deepEqual(await places(), before);
});

for (const [theme, width] of [
  ['light', 1280],
  ['dark', 360],
] as const) {
  test(`a video is asked for again with changes, in the ${theme} theme, ${width} wide`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, `/ui/videos?open=${finished}`, { theme, width });
    const { page } = visitor;
    await page.getByRole('button', { name: 'Again with changes' }).click();
    const form = page.getByRole('dialog', { name: 'Again with changes' });
    await form.getByRole('combobox', { name: 'Key that pays' }).getByText('as test').waitFor();
    assert.deepEqual(
      await Promise.all(
        ['Prompt', 'Seconds', 'Seed', 'Resolution', 'Aspect ratio', 'Size'].map((label) =>
          form.getByLabel(new RegExp(`^${label}`)).inputValue(),
        ),
      ),
      ['A paper boat', '1', '7', '480p', '16:9', ''],
    );
    await assertSound(visitor);
    await assertFits(page);
    await form.getByLabel(/^More fields/).fill('[1]');
    await form.getByRole('button', { name: 'Ask for the video' }).click();
    await form.getByText('It must be a JSON object.').waitFor();
    await form.getByLabel(/^More fields/).fill('{ "metadata": { "of": "the boat" } }');
    await form.getByLabel(/^Resolution/).fill('481p');
    await form.getByRole('button', { name: 'Ask for the video' }).click();
    await form
      .getByRole('alert')
      .getByText(/resolution/)
      .waitFor();
    visitor.faults.length = 0;
    await form.getByLabel(/^Resolution/).fill('480p');
    await form.getByLabel(/^Prompt/).fill(`A paper ship, ${theme}`);
    await form.getByLabel(/^Seed/).fill('8');
    await form.getByRole('button', { name: 'Ask for the video' }).click();
    const panel = page.getByRole('dialog', { name: 'Video' });
    await panel.getByText(`A paper ship, ${theme}`).waitFor();
    const id = new URL(page.url()).searchParams.get('open') ?? '';
    assert.notEqual(id, finished);
    const { body } = await videoClient(gateway).send('GET', `/v1/videos/${id}`);
    assert.deepEqual(
      [body.prompt, body.seconds, body.seed, body.resolution, body.aspect_ratio, body.metadata, body.model],
      [`A paper ship, ${theme}`, '1', 8, '480p', '16:9', { of: 'the boat' }, 'sandbox/video'],
    );
    await videoClient(gateway).until(id, 'completed');
    await videoClient(gateway).send('DELETE', `/v1/videos/${id}`);
    await assertSound(visitor);
  });
}

test('a webhook is offered where there is one', async () => {
  const silent = (await videoClient(gateway).create({ prompt: 'A kite without a callback' })).id;
  await videoClient(gateway).until(silent, 'completed');
  const { page } = await signInAsAdmin(browser, gateway, `/ui/videos?open=${finished}`);
  const panel = page.getByRole('dialog', { name: 'Video' });
  await panel.getByRole('link', { name: 'Webhook', exact: true }).waitFor();
  const [looked] = await Promise.all([
    page.waitForResponse(/\/deliveries\?search=/),
    page.goto(`${gateway.url}/ui/videos?open=${silent}`),
  ]);
  await looked.finished();
  await panel.getByText('A kite without a callback').waitFor();
  assert.equal(await panel.getByRole('link', { name: 'Webhook', exact: true }).count(), 0);
  await videoClient(gateway).send('DELETE', `/v1/videos/${silent}`);
});

test('a video that runs is cancelled and deleted, and filters are in the address', async () => {
  const visitor = await signInAsAdmin(browser, gateway, `/ui/videos?open=${hanging}`);
  const { page } = visitor;
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page
    .getByRole('button', { name: /Being cancelled|Delete/ })
    .first()
    .waitFor();
  await videoClient(gateway).until(hanging, 'cancelled');
  // Pressed twice, it asks and is closed again.
  await page.getByRole('button', { name: 'Delete …' }).press('Enter');
  await page.keyboard.press('Enter');
  assert.equal((await videoClient(gateway).send('GET', `/v1/videos/${hanging}`)).status, 200);
  await page.getByRole('button', { name: 'Delete …' }).click();
  await page.getByRole('button', { name: 'Delete the video and its files' }).click();
  await page.getByRole('dialog', { name: 'Video', exact: true }).waitFor({ state: 'hidden' });
  await page.getByRole('combobox', { name: 'Status' }).click();
  await page.getByRole('option', { name: 'failed' }).click();
  await page.waitForURL(/status=failed/);
  await page.getByRole('button', { name: /A paper boat/ }).waitFor({ state: 'detached' });
  await page.goto(`${gateway.url}/ui/videos?status=expired`);
  await page.getByText('No video is like that').waitFor();
  await assertSound(visitor);
});

for (const theme of ['light', 'dark'] satisfies Theme[]) {
  test(`a webhook shows its attempts, is sent again, and its signature is checked, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/webhooks', { theme });
    const { page } = visitor;
    const row = page.getByRole('row', { name: /completed/ });
    await row.getByRole('img', { name: /1: acknowledged, 204/ }).waitFor();
    await page.getByRole('button', { name: /127.0.0.1.*100 %/ }).waitFor();
    await page.getByRole('combobox', { name: 'Last attempt' }).click();
    await page.getByRole('option', { name: 'no answer in time' }).click();
    await page.waitForURL(/outcome=timeout/);
    await page.getByText('No webhook is like that').waitFor();
    await page.getByRole('combobox', { name: 'Last attempt' }).click();
    await page.getByRole('option', { name: 'acknowledged' }).click();
    await row.waitFor();
    await assertSound(visitor);
    await row.getByRole('button').press('Enter');
    const panel = page.getByRole('dialog', { name: 'Webhook' });
    if (theme === 'light') {
      await panel.getByRole('button', { name: 'Send it again' }).click();
      await panel.getByText('with the same bytes').waitFor();
      await eventually({}, () => receiver.received.length > 1);
    }
    await panel.getByRole('button', { name: 'Check a signature' }).click();
    const [sent] = receiver.received;
    const names = ['x-service-signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature'];
    const headers = names.map((name) => `${name}: ${sent?.headers[name]}`).join('\n');
    await panel.getByLabel('Headers').fill(headers);
    await panel.getByLabel('Secret').fill(SECRET);
    await panel.getByRole('button', { name: 'Check', exact: true }).click();
    await panel.getByText('valid', { exact: true }).first().waitFor();
    await assertSound(visitor);
    await panel.getByLabel('Body').fill('{"event":"video.generation.passed"}');
    await panel.getByRole('button', { name: 'Check', exact: true }).click();
    await panel
      .getByText(/differs from what was sent at character 28/)
      .first()
      .waitFor();
    await assertSound(visitor);
  });
}

test('a signature is checked with the secret of the key whose webhook it is', async () => {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const request = { method: 'POST', headers, body: JSON.stringify({ name: 'signs' }) };
  const made = await fetch(`${gateway.adminUrl}/admin/v1/keys`, request);
  const { key } = (await made.json()) as { key: string };
  const client = videoClient(gateway, key);
  const callback_url = `https://127.0.0.1:${receiver.port}/own`;
  const { id } = await client.create({ prompt: 'A kite', callback_url });
  await client.until(id, 'completed');
  const visitor = await signInAsAdmin(browser, gateway, `/ui/webhooks?open=${id}`);
  const { page } = visitor;
  const panel = page.getByRole('dialog', { name: 'Webhook' });
  await panel.getByText('acknowledged, 204').first().waitFor();
  await panel.getByRole('button', { name: 'Check a signature' }).click();
  await panel.getByRole('button', { name: 'Use the secret of its key' }).click();
  await eventually({}, async () => (await panel.getByLabel('Secret').inputValue()).startsWith('whsec_'));
  await panel.getByRole('button', { name: 'Check', exact: true }).click();
  await panel.getByText('valid', { exact: true }).first().waitFor();
  await panel.getByRole('button', { name: 'Headers' }).click();
  const sent = await panel.getByText(/webhook-signature: /).innerText();
  const body = String(receiver.received.find((one) => one.body.includes(id))?.body);
  // Without the webhook, of a key that is chosen.
  await page.goto(`${gateway.url}/ui/webhooks?check=true`);
  const form = page.getByRole('dialog', { name: 'Check a signature' });
  await form.getByLabel('Body').fill(body);
  await form.getByLabel('Headers').fill(sent);
  assert.equal(await form.getByRole('button', { name: 'Use the secret of its key' }).count(), 0);
  await form.getByRole('combobox', { name: 'Key that signs' }).click();
  await page.getByRole('option', { name: 'signs' }).click();
  await form.getByRole('button', { name: 'Use the secret of its key' }).click();
  await eventually({}, async () => (await form.getByLabel('Secret').inputValue()).startsWith('whsec_'));
  await form.getByRole('button', { name: 'Check', exact: true }).click();
  await form.getByText('valid', { exact: true }).nth(1).waitFor();
  await assertSound(visitor);
});

test('the holder of a key sees own videos and webhooks, plays one, and asks for another', async () => {
  const visitor = await signInWithKey(browser, gateway, KEY);
  const { page } = visitor;
  await playRange(page, () => page.goto(`${gateway.url}/ui/videos?open=${finished}`));
  await page.getByRole('button', { name: 'Again with changes' }).click();
  const form = page.getByRole('dialog', { name: 'Again with changes' });
  assert.equal(await form.getByRole('combobox', { name: 'Key that pays' }).count(), 0);
  await form.getByLabel(/^Prompt/).fill('A ferry');
  await form.getByRole('button', { name: 'Ask for the video' }).click();
  await page.getByRole('dialog', { name: 'Video' }).getByText('A ferry').waitFor();
  await page.goto(`${gateway.url}/ui/videos?open=${finished}`);
  await page.getByRole('link', { name: 'Webhook', exact: true }).click();
  await page.getByRole('dialog', { name: 'Webhook' }).getByText('acknowledged, 204').first().waitFor();
  await page.getByRole('dialog', { name: 'Webhook' }).getByText('"event"').waitFor();
  await assertSound(visitor);
});

test('without videos and webhooks the pages say how the first one comes', async () => {
  const empty = await startGatewayWithPages(YAML);
  try {
    const visitor = await signInAsAdmin(browser, empty, '/ui/videos');
    await visitor.page.getByText('No videos yet').waitFor();
    await assertSound(visitor);
    await visitor.page.getByRole('link', { name: 'Webhooks' }).click();
    await visitor.page.getByText('No webhooks yet').waitFor();
    await assertSound(visitor);
  } finally {
    await empty.close();
  }
});

/** The bar says the same as the per cent. */
async function showsProgress(card: Locator): Promise<void> {
  const bar = card.getByRole('progressbar', { name: 'Progress' });
  await eventually({}, async () => (await bar.getAttribute('value')) !== '0');
  assert.equal(await card.getByText(/^\d+ %$/).innerText(), `${await bar.getAttribute('value')} %`);
}
