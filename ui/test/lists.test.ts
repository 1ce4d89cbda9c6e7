/** Lists: keys are searched and paged by the gateway, columns are chosen, rows are saved as a file and shown as a command. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { Json } from '../../src/core/json/json.ts';
import type { TestGateway } from '../../test/gateway/harness.ts';
import {
  adminOf,
  ask,
  assertFits,
  assertSound,
  downloadedRows,
  openBrowser,
  settled,
  signInAsAdmin,
  startGatewayForOperators,
  THEMES,
  TOKEN,
} from './browser.ts';

/** Height of what can be clicked, at least. */
const MIN_TARGET_PX = 24;
const COUNT = 120;
/** Keys on a page of the list. */
const PAGE = 50;
/** Entries of the audit log on a page. */
const ENTRIES = 20;

let browser: Browser;
let gateway: TestGateway;
/** Hashes by name. */
const hashes = new Map<string, string>();
let secret = '';

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
  const keys = Array.from({ length: COUNT }, (_, index) => {
    const team = index % 40 === 7 ? 'ads' : 'search';
    return { name: `k-${String(index).padStart(3, '0')}`, owner: `Person ${index}`, tags: { team } };
  });
  const made = await adminOf(gateway)('POST', '/keys/bulk', { keys });
  for (const { data } of made.data) hashes.set(data.name, data.hash);
  secret = made.data[3].key;
  assert.equal((await ask(gateway, secret)).status, 200);
});
after(() => Promise.all([browser.close(), gateway.close()]));

/** Paths of the admin API that the page asks for from now on. */
function asked(page: Page): URL[] {
  const urls: URL[] = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname.startsWith('/admin/v1/')) urls.push(url);
  });
  return urls;
}

/** The count of a list as it is shown, and not as it is spoken. */
const countOf = (page: Page, text: string) => page.locator('[data-spoken]').getByText(text, { exact: true });

for (const theme of THEMES) {
  test(`keys come in pages, and the gateway looks for a text, a tag and a state, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/keys', { theme });
    const { page } = visitor;
    const count = page.locator('[data-spoken]').getByText(/ of /);
    const rows = page.getByRole('region', { name: 'Keys' }).locator('tbody tr');
    // With the key of the configuration.
    await countOf(page, `${PAGE} of ${COUNT + 1}`).waitFor();
    assert.equal(await rows.count(), PAGE);
    await assertSound(visitor);
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await countOf(page, `${2 * PAGE} of ${COUNT + 1}`).waitFor();
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await countOf(page, `${COUNT + 1} of ${COUNT + 1}`).waitFor();
    assert.equal(await page.getByRole('button', { name: 'More' }).count(), 0);
    assert.equal(new Set(await rows.locator('td:first-child').allInnerTexts()).size, COUNT + 1, 'each once');

    const urls = asked(page);
    await page.getByRole('searchbox', { name: 'Search' }).fill('person 117');
    await countOf(page, '1 of 1').waitFor();
    await rows.getByText('k-117').waitFor();
    assert.ok(urls.some(({ searchParams }) => searchParams.get('search') === 'person 117'));
    await page.getByRole('searchbox', { name: 'Search' }).fill('');
    await countOf(page, `${COUNT + 1} of ${COUNT + 1}`).waitFor();
    await page.goto(`${gateway.url}/ui/keys?tag=team%3Dads`);
    await countOf(page, '3 of 3').waitFor();
    assert.match(await count.innerText(), /3 of 3/);

    // One that is on no page yet opens by its address.
    await page.goto(`${gateway.url}/ui/keys?open=${hashes.get('k-119')}`);
    await page.getByRole('dialog', { name: 'k-119' }).getByText('Person 119').waitFor();
    await assertSound(visitor);
  });
}

for (const name of ['Keys', 'Tags', 'Models', 'Configuration', 'Videos', 'Webhooks']) {
  test(`the search of ${name} says what the list is of, also after its link in the rail and back`, async () => {
    const { page } = await signInAsAdmin(browser, gateway);
    const link = page.getByRole('banner').getByRole('link', { name, exact: true });
    const search = page.getByRole('searchbox');
    const says = async (text: string) => {
      const read = () => search.inputValue();
      assert.equal(await settled(read, (value) => value === text), text);
    };
    await link.click();
    await search.fill('no-such-thing');
    await page.waitForURL(/find=no-such-thing/);
    await link.click();
    await page.waitForURL((url) => url.search === '');
    await says('');
    await page.goBack();
    await page.waitForURL(/find=no-such-thing/);
    await says('no-such-thing');
  });
}

test('no page reads the list of keys for their names', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/settings');
  const { page } = visitor;
  await page.getByRole('row', { name: /this one/ }).waitFor();
  const urls = asked(page);
  for (const [path, shown] of [
    ['/requests', /k-003/],
    ['/use?by=key', /k-003/],
    ['/videos', /No videos yet/],
    ['/webhooks', /No webhooks yet/],
    ['/settings', /this one/],
  ] as const) {
    await page.goto(`${gateway.url}/ui${path}`);
    await page.getByText(shown).first().waitFor();
  }
  assert.deepEqual(
    urls.filter(({ pathname }) => pathname === '/admin/v1/keys').map(({ search }) => search),
    [],
  );
  assert.ok(urls.length > 0);
  await page.goto(`${gateway.url}/ui/webhooks`);
  await page.getByRole('combobox', { name: 'Key', exact: true }).click();
  await page.getByRole('combobox', { name: 'Search for Key' }).fill('k-11');
  await page.getByRole('option', { name: 'k-117' }).click();
  await page.waitForURL(new RegExp(`key=${hashes.get('k-117')}`));
  await page.getByRole('combobox', { name: 'Key', exact: true }).getByText('k-117').waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find' }).fill('k-088');
  await page.getByRole('option', { name: /k-088/ }).click();
  await page.getByRole('dialog', { name: 'k-088' }).waitFor();
  await page.goto(`${gateway.url}/ui/requests`);
  await page.getByRole('textbox', { name: 'Filter' }).fill('key:k-003');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'key: k-003' }).waitFor();
  await page.getByRole('textbox', { name: 'Filter' }).fill('key:k-00');
  await page.keyboard.press('Enter');
  await page.getByText('No key is named “k-00”').waitFor();
});

test('the history of a key goes on to its beginning', async () => {
  const hash = hashes.get('k-050') ?? '';
  const admin = adminOf(gateway);
  for (let index = 0; index < ENTRIES + 2; index++) await admin('PATCH', `/keys/${hash}`, { owner: `Next ${index}` });
  const { page } = await signInAsAdmin(browser, gateway, `/ui/keys?open=${hash}`);
  const panel = page.getByRole('dialog', { name: 'k-050' });
  const entries = panel.getByRole('listitem').filter({ hasText: 'admin' });
  await entries.first().waitFor();
  assert.equal(await entries.count(), ENTRIES);
  await panel.getByRole('button', { name: 'Older' }).click();
  await entries.filter({ hasText: 'key.create' }).waitFor();
  assert.equal(await entries.count(), ENTRIES + 3);
  assert.equal(await panel.getByRole('button', { name: 'Older' }).count(), 0);
});

for (const [theme, width] of [
  ['light', 1280],
  ['dark', 360],
] as const) {
  test(`columns are chosen with the keyboard and stay so, ${theme}, ${width} wide`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/keys', { theme, width });
    const { page } = visitor;
    const head = page.getByRole('columnheader');
    await head.getByText('Limits').waitFor();
    const names = await head.allInnerTexts();
    await page.getByRole('combobox', { name: 'Columns of Keys' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('option', { name: 'Limits' }).waitFor();
    assert.equal(await page.getByRole('option', { name: 'Name' }).count(), 0, 'the first one opens the row');
    // What the open menu covers cannot be clicked.
    await assertSound(visitor, ['color-contrast', 'aria-required-children', 'aria-input-field-name']);
    for (const option of await page.getByRole('option').all()) {
      assert.ok(((await option.boundingBox())?.height ?? 0) >= MIN_TARGET_PX);
    }
    await page.keyboard.type('Limits');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await head.getByText('Limits').waitFor({ state: 'hidden' });
    assert.deepEqual(
      (await head.allInnerTexts()).filter((name) => name !== ''),
      names.filter((name) => name !== 'Limits'),
    );
    const cells = page.locator('tbody tr').first().locator('td:visible');
    assert.equal(await cells.count(), names.length - 1);
    await assertSound(visitor);
    await assertFits(page);
    await page.reload();
    await head.getByText('Budget').waitFor();
    assert.ok(!(await head.getByText('Limits').isVisible()));
    await page.getByRole('combobox', { name: 'Columns of Keys' }).click();
    await page.getByRole('option', { name: 'Limits' }).click();
    await page.keyboard.press('Escape');
    await head.getByText('Limits').waitFor();
  });
}

test('e saves what a table shows: all requests of the filters, and the rows of other lists', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests?model=sandbox/echo');
  const { page } = visitor;
  await page.getByRole('row', { name: /k-003/ }).waitFor();
  const saved = await downloadedRows(page, () => page.keyboard.press('e'));
  const { data } = await adminOf(gateway)('GET', '/requests?model=sandbox/echo');
  const facts = ({ id, key_name: name, cost, input_tokens: input }: Json) => [id, name, cost, String(input)];
  assert.deepEqual(saved.map(facts), data.map(facts));
  assert.equal(saved.length, 3);

  // More than the page has loaded.
  await page.goto(`${gateway.url}/ui/keys`);
  await countOf(page, `${PAGE} of ${COUNT + 1}`).waitFor();
  const all = await downloadedRows(page, () => page.keyboard.press('e'));
  const names = all.map(({ name }) => name).toSorted();
  assert.deepEqual(names, ['test', ...hashes.keys()].toSorted());

  await page.goto(`${gateway.url}/ui/keys?find=k-11`);
  await countOf(page, '10 of 10').waitFor();
  const keys = await downloadedRows(page, () => page.getByRole('link', { name: 'CSV' }).click());
  assert.deepEqual(
    keys.map(({ name, owner, tags }) => [name, owner, tags]).toSorted(),
    Array.from({ length: 10 }, (_, index) => [`k-11${index}`, `Person 11${index}`, 'team=search']),
  );
  for (const [path, shown, name] of [
    ['/tags', 'team=search', 'tag'],
    ['/models', 'sandbox/echo', 'id'],
    ['/health', 'sandbox/echo', 'endpoint'],
    ['/config', 'server.port', 'path'],
    ['/settings', 'this one', 'id'],
  ] as const) {
    await page.goto(`${gateway.url}/ui${path}`);
    await page.getByText(shown).first().waitFor();
    const rows = await downloadedRows(page, () => page.locator('body').press('e'));
    assert.ok(rows.length > 0 && rows.every((row) => row[name] !== undefined), path);
  }
});

test('a list is shown as a call and as a command, which ask for the same', async () => {
  const hash = hashes.get('k-003');
  const visitor = await signInAsAdmin(browser, gateway, `/ui/requests?key=${hash}&slower_than=0`);
  const { page } = visitor;
  await page.getByRole('row', { name: /k-003/ }).waitFor();
  const dialog = page.getByRole('dialog', { name: 'The same in a terminal' });
  const texts = async () => {
    await page.getByRole('button', { name: 'Copy as' }).click();
    await dialog.locator('pre').nth(1).waitFor();
    const shown = await dialog.locator('pre').allInnerTexts();
    await assertSound(visitor);
    await page.keyboard.press('Escape');
    return shown;
  };
  const [command, curl = ''] = await texts();
  assert.equal(command, `polygate tail --key ${hash}`);
  const path = /curl '?\S+(\/admin\/v1\S+?)'? /.exec(curl)?.[1] ?? '';
  const headers = { authorization: `Bearer ${TOKEN}` };
  const answer = (await (await fetch(gateway.adminUrl + path, { headers })).json()) as Json;
  assert.deepEqual(
    answer.data.map(({ key_name: name }: Json) => name),
    ['k-003'],
  );
  await page.goto(`${gateway.url}/ui/explain?model=sandbox/echo&policy=${encodeURIComponent('{"sort":"price"}')}`);
  await page.getByRole('region', { name: 'Candidates' }).waitFor();
  const [route = '', call = ''] = await texts();
  assert.equal(route, `polygate route sandbox/echo --provider '{"sort":"price"}'`);
  assert.match(call, /-d '\{"protocol":"chat","model":"sandbox\/echo","ideal":false,"policy":\{"sort":"price"\}\}'/);
  await page.goto(`${gateway.url}/ui/keys`);
  assert.equal((await texts())[0], 'polygate keys list');
  await page.goto(`${gateway.url}/ui/config`);
  assert.match((await texts())[0] ?? '', /^polygate check/);
});
