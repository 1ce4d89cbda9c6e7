/** Pages by keyboard alone: letters of all pages and lists, and the way to what a page is for. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Locator } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import {
  adminOf,
  ask,
  assertSound,
  downloadedRows,
  openBrowser,
  signInAsAdmin,
  startGatewayForOperators,
  type Visit,
  visit,
} from './browser.ts';
import { button, focused, heading, pressOn, tabTo, typeInto } from './by-keyboard.ts';

const PAGES = [
  ['r', 'Requests'],
  ['u', 'Use and cost'],
  ['k', 'Keys'],
  ['t', 'Tags'],
  ['p', 'Playground'],
  ['v', 'Videos'],
  ['w', 'Webhooks'],
  ['e', 'Explain'],
  ['h', 'Health'],
  ['c', 'Configuration'],
  ['m', 'Models'],
  ['n', 'Setup'],
  ['s', 'Settings'],
] as const;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
  for (const session of ['agent-1', 'agent-2', 'agent-2'])
    assert.equal((await ask(gateway, KEY, 'sandbox/echo', { 'x-session-id': session })).status, 200);
});
after(() => Promise.all([browser.close(), gateway.close()]));

const operator = (path: string): Promise<Visit> => signInAsAdmin(browser, gateway, path);

async function holder(key = KEY): Promise<Visit> {
  const visitor = await visit(browser, `${gateway.url}/ui`);
  await visitor.page.getByLabel(/API key/).fill(key);
  await visitor.page.keyboard.press('Enter');
  await heading(visitor.page, 'My key');
  visitor.faults.length = 0;
  return visitor;
}

describe('letters', () => {
  test('g and a letter lead to every page of the rail', async () => {
    const visitor = await operator('/ui/settings');
    const { page } = visitor;
    const rail = page.getByRole('navigation').getByRole('link');
    assert.equal(await rail.count(), PAGES.length);
    for (const [letter, title] of PAGES) {
      await page.keyboard.press('g');
      await page.keyboard.press(letter);
      await heading(page, title);
    }
    assert.deepEqual(visitor.faults, []);
    const own = await holder();
    for (const [letter, title] of [
      ['r', 'Requests'],
      ['k', 'My key'],
    ] as const) {
      await own.page.keyboard.press('g');
      await own.page.keyboard.press(letter);
      await heading(own.page, title);
    }
  });

  test('p pauses the list of requests, and lets it go on', async () => {
    const { page } = await operator('/ui/requests');
    await page.getByRole('row', { name: /sandbox.tools/ }).waitFor();
    await page.keyboard.press('p');
    await page.waitForURL(/paused=true/);
    await button(page, 'Go on').waitFor();
    const ended = page.getByRole('region', { name: 'Requests' }).locator('tr[aria-rowindex]');
    const count = await ended.count();
    assert.equal((await ask(gateway, KEY)).status, 200);
    await page.keyboard.press('p');
    await button(page, 'Pause').waitFor();
    await ended.nth(count).waitFor();
    assert.doesNotMatch(page.url(), /paused/);
    // What is typed is text.
    await page.keyboard.press('f');
    await page.keyboard.type('p');
    await button(page, 'Pause').waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Filter' }).inputValue(), 'p');
  });

  test('j and k move an open panel with the list, and Esc gives the focus back', async () => {
    const visitor = await operator('/ui/requests?paused=true');
    const { page } = visitor;
    const { data } = await adminOf(gateway)('GET', '/requests?limit=3');
    const ids: string[] = data.map(({ id }: { id: string }) => id);
    await page.getByRole('row', { name: /sandbox.tools/ }).waitFor();
    const panel = page.getByRole('dialog', { name: 'Request' });
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await panel
      .getByText(ids[0] ?? '')
      .first()
      .waitFor();
    for (const [letter, id] of [
      ['j', ids[1]],
      ['j', ids[2]],
      ['k', ids[1]],
    ] as const) {
      await page.keyboard.press(letter);
      await panel
        .getByText(id ?? '')
        .first()
        .waitFor();
      assert.match(page.url(), new RegExp(`open=${id}`));
    }
    await assertSound(visitor);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    assert.equal(await page.evaluate<string>("document.activeElement.closest('tr')?.tagName"), 'TR');
  });

  test('j and k move in the list of conversations, and Enter opens one', async () => {
    const visitor = await operator('/ui/requests?view=sessions&paused=true');
    const { page } = visitor;
    const [second, first] = ['agent-1', 'agent-2'].map((name) => button(page, name));
    await second?.waitFor();
    const has = async (target: Locator | undefined) => assert.ok(target && (await focused(page, target)));
    await page.keyboard.press('j');
    await has(first);
    await page.keyboard.press('j');
    await has(second);
    await page.keyboard.press('k');
    await has(first);
    await page.keyboard.press('Enter');
    await page.waitForURL(/session=agent-2/);
    await page
      .getByRole('row', { name: /sandbox.echo/ })
      .nth(1)
      .waitFor();
    assert.deepEqual(visitor.faults, []);
  });

  test('e saves the table of use, and that of webhooks', async () => {
    const { page } = await operator('/ui/use');
    await page.getByRole('row', { name: /^total/i }).waitFor();
    const rows = await downloadedRows(page, () => page.keyboard.press('e'));
    assert.ok(rows.length > 0 && rows.every((row) => Number(row.requests) > 0), JSON.stringify(rows));
    await page.goto(`${gateway.url}/ui/webhooks`);
    await page.getByText('No webhooks yet').waitFor();
    const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('e')]);
    assert.equal(file.suggestedFilename(), 'webhooks.csv');
  });
});

describe('by keyboard alone', () => {
  test('a key is made', async () => {
    const { page } = await operator('/ui/keys');
    await pressOn(page, button(page, 'Create a key'));
    const form = page.getByRole('dialog', { name: 'Create a key' });
    await typeInto(page, form.getByLabel('Name'), 'by-keyboard');
    await pressOn(page, button(form, 'Create'));
    const made = page.getByRole('dialog', { name: 'The key by-keyboard' });
    await made.getByText(/^sk-/).first().waitFor();
    await pressOn(page, button(made, 'I have the key'));
    await page.getByRole('row', { name: /by-keyboard/ }).waitFor();
  });

  test('a video is asked for', async () => {
    const { page } = await holder();
    await page.keyboard.press('g');
    await page.keyboard.press('v');
    await heading(page, 'Videos');
    await pressOn(page, button(page, 'Ask for a video'));
    const form = page.getByRole('dialog', { name: 'Ask for a video' });
    await typeInto(page, form.getByLabel('Prompt'), 'A kite');
    await pressOn(page, button(form, 'Ask for the video'));
    await page.getByRole('dialog', { name: 'Video' }).getByText('A kite').first().waitFor();
  });

  test('the signature of a webhook is checked', async () => {
    const { page } = await operator('/ui/webhooks');
    await pressOn(page, button(page, 'Check a signature'));
    const form = page.getByRole('dialog', { name: 'Check a signature' });
    await typeInto(page, form.getByLabel('Body'), '{}');
    await typeInto(page, form.getByLabel('Secret'), 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=');
    await pressOn(page, button(form, 'Check'));
    await form.getByText('absent').first().waitFor();
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
  });

  test('a setting is found and opened, and a text is checked', async () => {
    const { page } = await operator('/ui/config');
    await button(page, 'server.port').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('server.port');
    await page.waitForURL(/find=server.port/);
    await pressOn(page, button(page, 'server.port'));
    const panel = page.getByRole('dialog', { name: 'Setting' });
    await panel.getByRole('textbox', { name: 'Value' }).waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await typeInto(page, page.getByRole('textbox', { name: 'Configuration' }), 'server: { prot: 1 }');
    await pressOn(page, button(page, 'Check'));
    await page.getByText('did you mean port').waitFor();
  });

  test('the health of endpoints is shown as a command, with fewer columns', async () => {
    const { page } = await operator('/ui/health');
    const table = page.getByRole('region', { name: 'Endpoints' });
    await table.getByRole('row', { name: /sandbox.echo/ }).waitFor();
    await pressOn(page, button(page, 'Copy as').first());
    await page.getByRole('dialog', { name: 'The same in a terminal' }).getByText('polygate top --once').waitFor();
    await page.keyboard.press('Escape');
    const columns = table.getByRole('columnheader');
    const count = await columns.count();
    await pressOn(page, page.getByRole('combobox', { name: 'Columns of Endpoints' }));
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await columns.nth(count - 1).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
  });

  test('a route is explained, with a policy', async () => {
    const { page } = await operator('/ui/explain');
    await page.getByRole('row', { name: /^1 sandbox\/echo/ }).waitFor();
    await typeInto(page, page.getByLabel(/^Policy/), '{"ignore": ["sandbox"]}');
    await page
      .getByText(/is in ignore|ignore/)
      .nth(1)
      .waitFor();
    await pressOn(page, button(page, 'the rule'));
    await page.locator('li:focus').waitFor();
  });

  test('a session is ended, and a theme is chosen', async () => {
    const other = await holder();
    const { page } = await operator('/ui/settings');
    const row = page.getByRole('row', { name: /^key test/ }).first();
    await row.waitFor();
    const rows = page.getByRole('region', { name: 'Open sessions' }).getByRole('row');
    const count = await rows.count();
    await pressOn(page, button(row, 'End'));
    await rows.nth(count - 1).waitFor({ state: 'detached' });
    await pressOn(page, button(page, 'Dark'));
    assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
    await other.page.close();
  });

  test('a first key is made in the setup, and a program is chosen', async () => {
    const { page } = await operator('/ui/setup');
    await typeInto(page, page.getByLabel('Or make one, named'), 'first');
    await page.keyboard.press('Enter');
    await page.getByText('Shown once and stored only as a hash.').waitFor();
    await pressOn(page, button(page, 'Anthropic'));
    await page.getByText('from anthropic import Anthropic').waitFor();
  });

  test('the holder of a key shows the secret of its webhooks, and opens a request', async () => {
    const { key } = await adminOf(gateway)('POST', '/keys', { name: 'holder' });
    assert.equal((await ask(gateway, key)).status, 200);
    const { page } = await holder(key);
    const newest = page.getByRole('region', { name: 'Newest requests' }).getByRole('row').nth(1).getByRole('link');
    await newest.waitFor();
    const secret = page.getByRole('region', { name: 'Webhook secret' });
    await tabTo(page, newest);
    await pressOn(page, button(secret, 'Reveal'));
    await secret.getByText(/^whsec_/).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await heading(page, 'Requests');
    await page.getByRole('row', { name: /sandbox.echo/ }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Request' }).getByText('sandbox/').first().waitFor();
  });
});
