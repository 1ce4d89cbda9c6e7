/** Pages over plain http that are not of this machine: browsers give them neither the clipboard nor WebCrypto. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { assertSound, openBrowser, signInAsAdmin, startGatewayForOperators, type Visit } from './browser.ts';

const NO_CLIPBOARD = "Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined });";
const NO_COMMAND = 'Document.prototype.execCommand = () => false;';
const NO_CRYPTO = "Object.defineProperty(Crypto.prototype, 'subtle', { get: () => undefined });";

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

async function openWithout(path: string, script: string): Promise<Visit> {
  const visitor = await signInAsAdmin(browser, gateway);
  await visitor.page.addInitScript(script);
  await visitor.page.goto(gateway.url + path);
  return visitor;
}

async function copyLines(page: Page): Promise<void> {
  const panel = page.getByRole('dialog', { name: 'Setting' });
  await panel.getByRole('textbox', { name: 'Value' }).fill('31s');
  await panel.getByRole('button', { name: 'Copy the lines' }).click();
}

test('a text is copied without the clipboard of the browser, in a dialog that stays open', async () => {
  const visitor = await openWithout('/ui/config?open=server.keep_alive', NO_CLIPBOARD);
  const { page } = visitor;
  await copyLines(page);
  const panel = page.getByRole('dialog', { name: 'Setting' });
  await panel.getByText('Copied', { exact: true }).waitFor();
  await panel.getByRole('textbox', { name: 'Value' }).fill('');
  await page.keyboard.press('Control+V');
  assert.match(await panel.getByRole('textbox', { name: 'Value' }).inputValue(), /server:\s*keep_alive: "?31s/);
  await assertSound(visitor);
});

test('what could not be copied is said', async () => {
  const visitor = await openWithout('/ui/config?open=server.keep_alive', NO_CLIPBOARD + NO_COMMAND);
  await copyLines(visitor.page);
  await visitor.page.getByText('Not copied', { exact: true }).waitFor();
  await assertSound(visitor);
});

test('the form says that signatures are checked only over https or on this machine', async () => {
  const visitor = await openWithout('/ui/webhooks?check=true', NO_CRYPTO);
  const form = visitor.page.getByRole('dialog', { name: 'Check a signature' });
  await form.getByRole('alert').getByText('only on pages over https').waitFor();
  assert.equal(await form.getByRole('button', { name: 'Check', exact: true }).isDisabled(), true);
  await assertSound(visitor);
});
