/** What goes with a question of the playground: pictures, tools with their results, a schema, earlier turns, parameters as JSON. */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import {
  assertFits,
  assertSound,
  openBrowser,
  settled,
  signInAsAdmin,
  startGatewayForOperators,
  THEMES,
  type Theme,
} from './browser.ts';

const WIRES = ['chat', 'messages', 'generate', 'responses'] as const;
/** One pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

async function open(wire: string, models: string, theme: Theme = 'light') {
  const visitor = await signInAsAdmin(browser, gateway, `/ui/playground?wire=${wire}&models=${models}`, { theme });
  return { visitor, page: visitor.page };
}

async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel('User', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

const cardOf = (page: Page, model: string) => page.getByRole('region', { name: model, exact: true });

for (const wire of WIRES) {
  test(`a picture, earlier turns, and the results of tools reach the model over ${wire}`, async () => {
    const { visitor, page } = await open(wire, 'sandbox/echo', wire === 'messages' ? 'dark' : 'light');
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Image' }).click();
    await (await chooser).setFiles({ name: 'dot.png', mimeType: 'image/png', buffer: PNG });
    await page.getByRole('img', { name: 'dot.png' }).waitFor();
    await page.getByLabel('Keep the conversation').check();
    await send(page, 'What is it?');
    const echo = cardOf(page, 'sandbox/echo');
    await echo.getByText(`[image image/png, ${PNG.length} bytes]`).first().waitFor();
    await echo.getByText(/\d out/).waitFor();
    assert.equal(await page.getByRole('img', { name: 'dot.png' }).count(), 0, 'it was sent');
    await send(page, 'And now?');
    const earlier = echo.getByRole('list', { name: 'Earlier turns' });
    await earlier.getByText('What is it? with dot.png').waitFor();
    await earlier.getByText('And now?').waitFor();
    await echo.getByText(/\d out/).waitFor();
    assert.equal(await earlier.getByRole('listitem').count(), 3);
    await assertSound(visitor);
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.getByText('Nothing was asked yet').waitFor();
    await page.goto(`${gateway.url}/ui/playground?wire=${wire}&models=sandbox/tools`);
    await page.getByRole('button', { name: 'Tools' }).click();
    await page.getByLabel('Keep the conversation').check();
    await send(page, 'How is the weather in Oslo?');
    const tools = cardOf(page, 'sandbox/tools');
    await tools.getByRole('region', { name: 'Tool call get_weather' }).waitFor();
    await tools.getByText(/\d out/).waitFor();
    await page.getByPlaceholder(/The result of the tools/).waitFor();
    await send(page, 'sunny, 20 degrees');
    await tools.getByText(/get_weather answered: .*sunny, 20 degrees/).waitFor();
    await assertSound(visitor);
  });

  test(`an answer fits the schema, and parameters are JSON of the protocol, over ${wire}`, async () => {
    const { visitor, page } = await open(wire, 'sandbox/echo');
    await page.getByRole('button', { name: 'Schema' }).click();
    await page.getByLabel('Max tokens').fill('300');
    await page.getByLabel('Temperature').fill('0.5');
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    const parameters = page.getByLabel('Parameters as JSON');
    const given = JSON.parse(await parameters.inputValue());
    const expected = {
      chat: { max_completion_tokens: 300, temperature: 0.5 },
      messages: { max_tokens: 300, temperature: 0.5 },
      generate: { generationConfig: { maxOutputTokens: 300, temperature: 0.5 } },
      responses: { max_output_tokens: 300, temperature: 0.5 },
    };
    assert.deepEqual(given, expected[wire]);
    await send(page, 'Rivers?');
    const card = cardOf(page, 'sandbox/echo');
    await card.getByText(/\d out/).waitFor();
    const text = (await card.locator('p[aria-busy=false]').textContent()) ?? '';
    assert.ok(Array.isArray(JSON.parse(text).rivers), text);
    await card.getByRole('button', { name: 'Code' }).click();
    await card.getByText(/300/).first().waitFor();
    await parameters.fill('{"max_');
    await page
      .getByRole('alert')
      .getByText(/More fields are no JSON object/)
      .waitFor();
    await assertSound(visitor);
  });
}

test('a question that no model answered comes back, so that it can be sent again', async () => {
  const { page } = await open('chat', 'sandbox/echo,sandbox/reasoner');
  const user = page.getByPlaceholder(/^Ask something/);
  const problem = { status: 503, json: { error: { message: 'Overloaded.', code: 'overloaded' } } };
  await page.getByLabel('Keep the conversation').check();
  await page.route('**/v1/chat/completions', (route) => route.fulfill(problem));
  await send(page, 'A long question');
  await cardOf(page, 'sandbox/reasoner').getByText('Overloaded.').waitFor();
  await settled(
    () => user.inputValue(),
    (text) => text !== '',
  );
  assert.equal(await user.inputValue(), 'A long question');
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Send' }).click();
  await cardOf(page, 'sandbox/echo').getByText('A long question').waitFor();
  await cardOf(page, 'sandbox/reasoner')
    .getByText(/\d out/)
    .waitFor();
  assert.equal(await user.inputValue(), '');
});

test('what is typed while pictures are read, or while a question waits to be sent, stays', async () => {
  const { page } = await open('chat', 'sandbox/echo');
  const user = page.getByPlaceholder(/^Ask something/);
  // A disk that is slow.
  await page.evaluate(`{
    const read = FileReader.prototype.readAsDataURL;
    FileReader.prototype.readAsDataURL = function (file) { setTimeout(() => read.call(this, file), 500); };
  }`);
  await user.fill('Before');
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Image' }).click();
  await (await chooser).setFiles({ name: 'slow.png', mimeType: 'image/png', buffer: PNG });
  await user.fill('Typed meanwhile');
  await page.getByRole('button', { name: 'Tools' }).click();
  await page.getByRole('img', { name: 'slow.png' }).waitFor();
  assert.equal(await user.inputValue(), 'Typed meanwhile');
  await page.getByRole('textbox', { name: /^Tools/ }).waitFor();

  await page.route('**/openapi.json', async (route) => {
    await setTimeout(1000);
    await route.continue();
  });
  await page.goto(`${gateway.url}/ui/playground`);
  await page.getByLabel('Keep the conversation').check();
  await user.fill('Sent');
  await user.press('Control+Enter');
  await user.fill('The next question');
  await cardOf(page, 'sandbox/echo')
    .getByText(/\d out/)
    .waitFor();
  assert.equal(await user.inputValue(), 'The next question');
});

test('a picture that cannot be read is said', async () => {
  const { page } = await open('chat', 'sandbox/echo');
  const folder = await mkdtemp(join(tmpdir(), 'polygate-picture-'));
  const file = join(folder, 'gone.png');
  await writeFile(file, PNG);
  await page.getByLabel('User', { exact: true }).fill('What is it?');
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Image' }).click();
  await page.evaluate(`{
    const read = FileReader.prototype.readAsDataURL;
    FileReader.prototype.readAsDataURL = function (file) { setTimeout(() => read.call(this, file), 500); };
  }`);
  await (await chooser).setFiles(file);
  await rm(folder, { recursive: true });
  await page
    .getByRole('alert')
    .getByText(/cannot be read/)
    .waitFor();
});

test('each of several models goes on with its own answers', async () => {
  const { page } = await open('chat', 'sandbox/echo,sandbox/reasoner');
  await page.getByLabel('Keep the conversation').check();
  await send(page, 'first words');
  for (const model of ['sandbox/echo', 'sandbox/reasoner'])
    await cardOf(page, model)
      .getByText(/\d out/)
      .waitFor();
  await send(page, 'second words');
  for (const model of ['sandbox/echo', 'sandbox/reasoner']) {
    const card = cardOf(page, model);
    await card.getByRole('list', { name: 'Earlier turns' }).getByText('first words').first().waitFor();
    await card.getByText(/\d out/).waitFor();
    await card.getByRole('button', { name: 'Code' }).first().waitFor();
  }
});

for (const theme of THEMES) {
  test(`tools, a schema and a picture fit a narrow screen, and what is wrong is said, in the ${theme} theme`, async () => {
    const { visitor, page } = await open('messages', 'sandbox/echo', theme);
    await page.getByRole('button', { name: 'Tools' }).click();
    await page.getByRole('button', { name: 'Schema' }).click();
    await page.getByRole('textbox', { name: /^Tools/ }).fill('[{"parameters": {}}]');
    await page.getByRole('alert').getByText('The tools are no JSON list: tool 1 must have a name').waitFor();
    await assertSound(visitor);
    await page.setViewportSize({ width: 360, height: 900 });
    await assertFits(page);
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Image' }).click();
    const files = Array.from({ length: 5 }, (_, index) => ({
      name: `${index}.png`,
      mimeType: 'image/png',
      buffer: PNG,
    }));
    await (await chooser).setFiles(files);
    await page.getByText(/Up to 4 pictures/).waitFor();
    // They are read after the message is shown.
    const pictures = page.getByRole('img', { name: /^\d\.png$/ });
    await pictures.nth(3).waitFor();
    assert.equal(await pictures.count(), 4);
    await assertFits(page);
  });
}
