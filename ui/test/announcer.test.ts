/** What a screen reader says of changes: one message in five seconds over the whole page, and the newest in the end. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { answerJson, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import { eventually } from '../../test/gateway/video-client.ts';
import { assertSound, openBrowser, signInAsAdmin, startGatewayForOperators } from './browser.ts';

const MODELS = 60;
/** Less than five seconds, as a busy browser shows one later than another. */
const LEAST_MS = 4500;
const REGION = '[role=status], [aria-live=polite], [role=log]';

let browser: Browser;
let gateway: TestGateway;
let upstream: TestUpstream;

before(async () => {
  upstream = await startUpstream((_call, response) => answerJson(response, {}));
  const models = Array.from(
    { length: MODELS },
    (_, index) => `{ id: m-${'abcdefghij'.slice(0, 1 + (index % 10))} ${index} }`,
  );
  const local = `{ type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [${models.join(', ')}] }`;
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators(`providers: { local: ${local} }`)]);
});
after(() => Promise.all([browser.close(), gateway.close(), upstream.close()]));

interface Message {
  at: number;
  text: string;
}

/** Notes from now on what polite regions of the page say: their words after each change. */
async function listen(page: Page): Promise<() => Promise<Message[]>> {
  await page.evaluate(`(() => {
    globalThis.messages = [];
    const said = new Map([...document.querySelectorAll('${REGION}')].map((region) => [region, region.textContent]));
    const look = () => {
      for (const region of document.querySelectorAll('${REGION}')) {
        const text = region.textContent;
        if (said.get(region) === text) continue;
        said.set(region, text);
        globalThis.messages.push({ at: performance.now(), text });
      }
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
  })()`);
  return () => page.evaluate<Message[]>('globalThis.messages');
}

function assertApart(messages: readonly Message[]): void {
  for (const [index, { at }] of messages.slice(1).entries())
    assert.ok(at - (messages[index]?.at ?? 0) >= LEAST_MS, JSON.stringify(messages));
}

for (const path of ['/ui/models', '/ui/config']) {
  test(`filters that are typed are said once in five seconds, the last count always: ${path}`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, path);
    const { page } = visitor;
    const count = page.locator('main').getByText(/^\d+ of \d+/);
    await count.waitFor();
    const messages = await listen(page);
    const field = page.getByRole('searchbox');
    const shown = new Set<string>();
    for (const text of ['m', 'mo', 'lo', 'loc', 'local', 'locals', 'e', 'ec', 'echo', 's', 'sa', 'san', 'a', 'ad']) {
      await field.fill(text);
      await page.waitForTimeout(300);
      shown.add(await count.innerText());
    }
    assert.ok(shown.size >= 4, 'the count changes');
    // On a busy machine the count follows later than that.
    await eventually({}, async () => (await messages()).at(-1)?.text === (await count.innerText()));
    const heard = await messages();
    assert.ok(heard.length < shown.size);
    assertApart(heard);
    await assertSound(visitor);
  });
}

test('a message of a dialog is said beside it, and shares the five seconds', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/tags');
  const { page } = visitor;
  await page.getByRole('button', { name: 'Copy as' }).click();
  const dialog = page.getByRole('dialog', { name: 'The same in a terminal' });
  await dialog.locator('pre').first().waitFor();
  const messages = await listen(page);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await dialog.getByRole('button', { name: 'Copy', exact: true }).first().click();
  await page.getByRole('status').getByText('Copied').waitFor({ state: 'attached' });
  const isHidden = "document.querySelector('[role=status]').closest('[inert], [aria-hidden=true]') !== null";
  assert.equal(await page.evaluate(isHidden), false);
  assertApart(await messages());
  await assertSound(visitor);
});
