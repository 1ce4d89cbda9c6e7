/**
 * Saved views of requests and of use: named, seen in every browser of operators, or of a key; moved from the storage of a
 * browser without loss; listed and deleted in the settings.
 */

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { Json } from '../../src/core/json/json.ts';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { eventually } from '../../test/gateway/video-client.ts';
import { interceptAnswers } from './answers.ts';
import {
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayForOperators,
  THEMES,
  TOKEN,
  visit,
} from './browser.ts';

const MOST = 100;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));
afterEach(removeAllViews);

for (const theme of THEMES) {
  test(`a view is saved by a name and found again, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/use?by=tag:team&metric=tokens&range=7d', { theme });
    const { page } = visitor;
    const views = page.getByRole('button', { name: 'Views', exact: true });
    const dialog = page.getByRole('dialog', { name: 'Saved views' });
    await views.click();
    await dialog.getByLabel('Name of what is shown now').and(page.locator(':focus')).fill('Tokens by team');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Tokens by team', exact: true }).waitFor();
    await assertSound(visitor);
    await page.goto(`${gateway.url}/ui/requests?status=failed`);
    await views.click();
    assert.equal(await dialog.getByText('Tokens by team').count(), 0, 'each page has its own');
    await dialog.getByLabel('Name of what is shown now').fill('Failures');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Failures', exact: true }).waitFor();
    await page.goto(`${gateway.url}/ui/use`);
    await views.click();
    await dialog.getByRole('button', { name: 'Tokens by team', exact: true }).click();
    await page.waitForURL(/metric=tokens/);
    assert.match(decodeURIComponent(page.url()), /\/ui\/use\?(?=.*by=tag:team)(?=.*range=7d)/);
    await dialog.waitFor({ state: 'hidden' });
    await views.click();
    await dialog.getByRole('button', { name: 'Remove Tokens by team' }).click();
    await dialog.getByRole('button', { name: 'Tokens by team', exact: true }).waitFor({ state: 'detached' });
    await assertSound(visitor);
  });
}

const dialogOf = (page: Page) => page.getByRole('dialog', { name: 'Saved views' });
const openViews = (page: Page) => page.getByRole('button', { name: 'Views', exact: true }).click();

async function save(page: Page, name: string): Promise<void> {
  await openViews(page);
  await dialogOf(page).getByLabel('Name of what is shown now').and(page.locator(':focus')).fill(name);
  await page.keyboard.press('Enter');
  await dialogOf(page).getByRole('button', { name, exact: true }).waitFor();
}

async function views(method: 'GET' | 'PUT' | 'DELETE', path = '', body?: Json): Promise<Json> {
  const response = await fetch(`${gateway.adminUrl}/admin/v1/views${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}` },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert.equal(response.status, 200);
  return ((await response.json()) as Json).data;
}

async function removeAllViews(): Promise<void> {
  for (const { id } of await views('GET')) await views('DELETE', `/${id}`);
}

/** Views as versions before kept them. */
function storeInBrowser(page: Page, stored: Json): Promise<unknown> {
  return page.evaluate(`localStorage.setItem('polygate-views', ${JSON.stringify(JSON.stringify(stored))})`);
}

const storedInBrowser = async (page: Page): Promise<Json> =>
  JSON.parse(await page.evaluate<string>(`localStorage.getItem('polygate-views') ?? '[]'`));

test('a view is saved while the list of views is on its way, and replaces the one of its name once that is confirmed', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests?status=failed');
  const { page } = visitor;
  await save(page, 'Of interest');
  const list = await interceptAnswers(page, /\/v1\/views$/);
  list.hold();
  await page.goto(`${gateway.url}/ui/requests?status=completed`);
  await openViews(page);
  const dialog = dialogOf(page);
  const name = dialog.getByLabel('Name of what is shown now');
  await name.fill('Of interest');
  await page.keyboard.press('Enter');
  // The question is about the name that was saved, not about one that is typed meanwhile.
  await name.fill('Other');
  await list.pass();
  const question = dialog.getByRole('alert').filter({ hasText: 'A view of this page has this name.' });
  await question.waitFor();
  await dialog.getByRole('button', { name: 'Save', exact: true }).waitFor();
  await name.fill('Of interest');
  await question.waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  await question.waitFor();
  await assertSound(visitor);
  assert.match((await views('GET'))[0].address, /status=failed/);
  // Another name is not that of a view.
  await name.fill('Of interest 2');
  await question.waitFor({ state: 'detached' });
  await dialog.getByRole('button', { name: 'Save', exact: true }).waitFor();
  await name.fill('Of interest');
  await page.keyboard.press('Enter');
  await question.waitFor();
  const again = page.waitForRequest(/\/v1\/views$/);
  list.hold();
  await dialog.getByRole('button', { name: 'Replace', exact: true }).click();
  await eventually(gateway, async () => /status=completed/.test((await views('GET'))[0].address));
  assert.equal((await views('GET')).length, 1);
  // Saved, and the list is asked for again. The next name, which is typed meanwhile, stays.
  await again;
  await name.fill('New');
  await list.pass();
  await dialog.locator('button[type=submit]:enabled').waitFor();
  assert.equal(await name.inputValue(), 'New');
  // Taken in another browser since the list came.
  await views('PUT', '/other', { name: 'New', address: '/requests' });
  await name.focus();
  await page.keyboard.press('Enter');
  await dialog.getByRole('alert').waitFor();
  await dialog.getByRole('button', { name: 'New', exact: true }).waitFor();
  await page.keyboard.press('Enter');
  await question.waitFor();
});

test('an operator finds a view in another browser, a viewer too, and the holder of a key does not', async () => {
  const first = await signInAsAdmin(browser, gateway, '/ui/requests?status=failed');
  await save(first.page, 'Failures of all');
  const second = await signInAsAdmin(browser, gateway, '/ui/requests');
  await openViews(second.page);
  await dialogOf(second.page).getByRole('button', { name: 'Failures of all', exact: true }).click();
  await second.page.waitForURL(/status=failed/);
  const url = await second.page.evaluate<string>(`(async () => {
    const headers = { 'content-type': 'application/json', 'x-polygate-ui': '1' };
    const response = await fetch('/ui/session/links', { method: 'POST', headers, body: '{"role":"viewer"}' });
    return (await response.json()).data.url;
  })()`);
  const viewer = await visit(browser, url);
  await viewer.page.getByRole('button', { name: 'Sign out' }).waitFor();
  await viewer.page.goto(`${gateway.url}/ui/requests`);
  await openViews(viewer.page);
  await dialogOf(viewer.page).getByRole('button', { name: 'Failures of all', exact: true }).waitFor();
  assert.equal(
    await dialogOf(viewer.page)
      .getByRole('button', { name: /^Remove/ })
      .count(),
    0,
  );
  await dialogOf(viewer.page).getByLabel('Name of what is shown now').fill('Own');
  await viewer.page.keyboard.press('Enter');
  await dialogOf(viewer.page).getByText('in this browser', { exact: true }).waitFor();
  await dialogOf(viewer.page).getByLabel('Name of what is shown now').fill('Own');
  await viewer.page.keyboard.press('Enter');
  await dialogOf(viewer.page).getByRole('button', { name: 'Replace', exact: true }).waitFor();
  await assertSound(viewer);
  const holder = await signInWithKey(browser, gateway, KEY, '/ui/requests');
  await openViews(holder.page);
  await dialogOf(holder.page).getByText('Views are kept for the key').waitFor();
  assert.equal(await dialogOf(holder.page).getByText('Failures of all').count(), 0);
});

test('the holder of a key finds an own view in another browser', async () => {
  const first = await signInWithKey(browser, gateway, KEY, '/ui/requests?status=completed');
  await save(first.page, 'Completed');
  await assertSound(first);
  const second = await signInWithKey(browser, gateway, KEY, '/ui/settings');
  await second.page.getByRole('row', { name: /^Completed Requests / }).waitFor();
  await second.page.getByRole('button', { name: 'Delete Completed' }).click();
  await second.page.getByText('No view is saved yet').waitFor();
  await assertSound(second);
  assert.deepEqual(await views('GET'), []);
});

test('views of the browser are moved once, each under a free name, and those that are refused stay', async () => {
  const own = [
    { name: 'Same', address: '/use?range=7d' },
    { name: 'Taken', address: '/use?range=30d' },
    { name: 'Too long', address: `/use?tag=${'x'.repeat(2000)}` },
    { name: 'New', address: '/requests?status=failed' },
  ];
  await views('PUT', '/same', own[0]);
  await views('PUT', '/taken', { name: 'Taken', address: '/use?range=1h' });
  const visitor = await signInAsAdmin(browser, gateway, '/ui/keys');
  const { page } = visitor;
  await storeInBrowser(page, own);
  await page.goto(`${gateway.url}/ui/settings`);
  await page.getByRole('row', { name: /^Taken 2 Use and cost / }).waitFor();
  await page.getByRole('row', { name: /^Too long Use and cost in this browser/ }).waitFor();
  assert.deepEqual(
    (await views('GET')).map(({ name, address }: Json) => [name, address]),
    [
      ['New', '/requests?status=failed'],
      ['Same', '/use?range=7d'],
      ['Taken', '/use?range=1h'],
      ['Taken 2', '/use?range=30d'],
    ],
  );
  assert.deepEqual(await storedInBrowser(page), [own[2]]);
  await page.reload();
  await page.getByRole('row', { name: /^Taken 2 / }).waitFor();
  assert.equal((await views('GET')).length, 4);
  // What the gateway refused, at each load, is in the console of the browser.
  await eventually(gateway, () => visitor.faults.length === 2);
  visitor.faults.length = 0;
  await assertSound(visitor);
  await page.getByRole('button', { name: 'Delete Too long' }).click();
  await page.getByRole('row', { name: /^Too long/ }).waitFor({ state: 'detached' });
  assert.deepEqual(await storedInBrowser(page), []);
  await page.getByRole('button', { name: 'Taken 2', exact: true }).click();
  await page.waitForURL(/\/ui\/use\?range=30d/);
});

test('nothing is lost where no more views are kept, and the refusal is said', async () => {
  for (let count = 0; count < MOST; count++)
    await views('PUT', `/${count}`, { name: `View ${count}`, address: '/use' });
  const visitor = await signInAsAdmin(browser, gateway, '/ui/keys');
  const { page } = visitor;
  const own = [{ name: 'Mine', address: '/use?range=7d' }];
  await storeInBrowser(page, own);
  await page.goto(`${gateway.url}/ui/use?range=24h`);
  await openViews(page);
  await dialogOf(page).getByText('in this browser', { exact: true }).waitFor();
  await dialogOf(page).getByLabel('Name of what is shown now').fill('One more');
  await page.keyboard.press('Enter');
  await dialogOf(page).getByRole('alert').getByText(`At most ${MOST} views are kept`).waitFor();
  assert.deepEqual(await storedInBrowser(page), own);
  await removeAllViews();
  await page.reload();
  await openViews(page);
  await dialogOf(page).getByRole('button', { name: 'Mine', exact: true }).waitFor();
  await dialogOf(page).getByText('in this browser', { exact: true }).waitFor({ state: 'detached' });
  assert.deepEqual(await storedInBrowser(page), []);
});

test('what is no view in the storage of the browser is passed over', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/use');
  const { page } = visitor;
  for (const text of ['{', '{}', 'null', '[null, 1, {"name": "a", "address": "//evil.example"}, {"name": 1}]']) {
    await page.evaluate(`localStorage.setItem('polygate-views', ${JSON.stringify(text)})`);
    await page.reload();
    await page.getByRole('button', { name: 'Views', exact: true }).click();
    await page.getByRole('dialog', { name: 'Saved views' }).getByLabel('Name of what is shown now').waitFor();
    assert.equal(await page.getByRole('list', { name: 'Saved views' }).count(), 0);
  }
  assert.deepEqual(visitor.faults, []);
});
