/** Setup: model servers of this machine are found on a click, or none, and what is shown when the gateway dies. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { answerJson, startUpstream, type TestGateway, type TestUpstream } from '../../test/gateway/harness.ts';
import { CLOSED_URL, OLLAMA_LIST, typesAt } from '../../test/gateway/local-types.ts';
import {
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayWithPages,
  THEMES,
  TOKEN,
} from './browser.ts';

const CLOSED = { ollama: CLOSED_URL, vllm: CLOSED_URL, 'llama-cpp': CLOSED_URL, 'lm-studio': CLOSED_URL };
const MARKUP = '<img src=x onerror=alert(1)>';

let browser: Browser;
let upstreams: TestUpstream[];

before(async () => {
  const list = { data: [...OLLAMA_LIST.data, { id: MARKUP }].reverse() };
  upstreams = await Promise.all([
    startUpstream((_call, response) => answerJson(response, list)),
    startUpstream((_call, response) => answerJson(response, {}, 401)),
  ]);
  browser = await openBrowser();
});
after(() => Promise.all([browser.close(), ...upstreams.map(({ close }) => close())]));

function start(urls: Record<string, string>): Promise<TestGateway> {
  return startGatewayWithPages(`admin: { token: ${TOKEN}, port: 0 }`, { providerTypes: typesAt(urls) });
}

for (const theme of THEMES) {
  test(`servers are looked for on a click, with the lines that add them, in the ${theme} theme`, async () => {
    const [ollama, vllm] = upstreams.map(({ url }) => url) as [string, string];
    const gateway = await start({ ...CLOSED, ollama, vllm });
    const visitor = await signInAsAdmin(browser, gateway, '/ui/setup', { theme, width: 390 });
    const { page } = visitor;
    const asked = upstreams.flatMap(({ calls }) => calls).length;
    const found = page.getByRole('region', { name: 'Local model servers' });
    await found.getByRole('button', { name: 'Look for local model servers' }).waitFor();
    assert.equal(upstreams.flatMap(({ calls }) => calls).length, asked);
    await found.getByRole('button').click();
    await found.getByText(`7 models: ollama/${MARKUP}`).waitFor();
    await found.getByText('providers:\n  ollama: {}').waitFor();
    await found.getByText(/Something answers there, perhaps not vLLM\. It answered with status 401/).waitFor();
    assert.equal(await found.getByText('LM Studio', { exact: true }).count(), 0);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await found.getByRole('button', { name: 'Copy' }).click();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'providers:\n  ollama: {}');
    await assertSound(visitor);
    await assertFits(page);
    await gateway.close();
  });
}

test('where none answers the page says how to start one, and errors can be tried again', async () => {
  const gateway = await start(CLOSED);
  const { page } = await signInAsAdmin(browser, gateway, '/ui/setup');
  const found = page.getByRole('region', { name: 'Local model servers' });
  await found.getByRole('button', { name: 'Look for local model servers' }).click();
  await found.getByText(/Nothing answers at 127\.0\.0\.1:9.*ollama serve/).waitFor();
  await gateway.close();
  await found.getByRole('button', { name: 'Look for local model servers' }).click();
  await found.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor();
});
