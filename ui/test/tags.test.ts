/** Page of tags: its four states, limits and budgets that operators set, and what leads to keys and requests of a tag. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { forecastOf, type Period, type SpentByPeriod } from '../src/periods.ts';
import {
  adminOf,
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayForOperators,
  startGatewayWithPages,
  type Theme,
  TOKEN,
  visit,
} from './browser.ts';

const LIST = '**/admin/v1/tags?*';
const KEYS = ['laptop', 'server'];
const keyOf = (name: string) => `sk-test-of-${name}-0123456789`;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  const priced =
    'providers: { sandbox: { type: sandbox, models: [{ id: echo, pricing: { prompt: "0", completion: "0.01" } }] } }';
  const yaml = `admin: { token: ${TOKEN}, port: 0 }\ntags: { env=prod: { budgets: { month: "900.00" } } }\n${priced}`;
  const keys = KEYS.map((name) => `{ name: ${name}, key: ${keyOf(name)}, tags: { team: search, env: prod } }`);
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayWithPages(yaml, { keys })]);
  for (const name of KEYS) assert.equal((await ask(gateway, keyOf(name))).status, 200);
});
after(() => Promise.all([browser.close(), gateway.close()]));

for (const [theme, width] of [
  ['light', 1280],
  ['dark', 1280],
  ['light', 390],
  ['dark', 390],
] satisfies [Theme, number][]) {
  test(`tags are loading, listed, searched and opened, ${theme}, ${width} wide`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/settings', { theme, width });
    const { page } = visitor;
    const held = Promise.withResolvers<void>();
    await page.route(LIST, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByRole('heading', { name: 'Tags', level: 1 }).waitFor();
    await page.getByRole('main').getByText('Loading').waitFor({ state: 'attached' });
    await assertSound(visitor);
    held.resolve();
    await page.getByRole('row', { name: /^env=prod 2/ }).waitFor();
    await page.getByRole('img', { name: /of the budget this month is spent/ }).waitFor();
    await assertSound(visitor);
    await assertFits(page);

    await page.getByRole('searchbox').fill('TEAM');
    await page.getByRole('main').getByText('1 of 1').waitFor();
    await page.getByRole('heading', { name: 'Tags', level: 1 }).click();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    const panel = page.getByRole('dialog', { name: 'team=search' });
    await panel.getByRole('row', { name: /^this week / }).waitFor();
    await assertSound(visitor);
    await assertFits(page);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'hidden' });
    await page.getByRole('searchbox').fill('nothing like it');
    await page.getByText('No tag is like that').waitFor();
  });
}

test('without tags the page says how a key gets one', async () => {
  const other = await startGatewayForOperators();
  try {
    const visitor = await signInAsAdmin(browser, other, '/ui/tags');
    await visitor.page.getByText('No key has a tag yet').waitFor();
    await visitor.page.getByText('polygate keys update laptop --tag team=search').waitFor();
    await assertSound(visitor);
  } finally {
    await other.close();
  }
});

test('an error is said in the words of the gateway, until the list can be read', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/settings');
  const { page, faults } = visitor;
  let fails = true;
  const error = { code: 'unavailable', message: 'The store cannot be read now.' };
  await page.route(LIST, (route) => (fails ? route.fulfill({ status: 503, json: { error } }) : route.continue()));
  await page.goto(`${gateway.url}/ui/tags`);
  await page.getByRole('alert').getByText(error.message).waitFor();
  faults.length = 0;
  await assertSound(visitor);
  fails = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('row', { name: /^team=search 2/ }).waitFor();
});

test('a budget is set, refuses, is changed beside the equal command, and removed', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/tags');
  const { page } = visitor;
  await page.getByRole('button', { name: 'Limit a tag' }).click();
  const form = page.getByRole('dialog', { name: 'Limit a tag' });
  assert.ok(await form.getByRole('button', { name: 'Save' }).isDisabled());
  await form.getByLabel('Tag').fill('team=search');
  await form.getByLabel('Total budget').fill('much');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('budgets.total must be USD').first().waitFor();
  visitor.faults.length = 0;
  await assertSound(visitor);
  await form.getByLabel('Total budget').fill('0.50');
  await form.getByLabel('Concurrent').fill('4');
  await form.getByText(/polygate tags set team=search \\\s+--concurrent 4 \\\s+--budget total=0.50/).waitFor();
  await form.getByRole('button', { name: 'Save' }).click();
  await form.waitFor({ state: 'hidden' });
  await page.getByRole('row', { name: /team=search 2 .*in all.*4 concurrent/ }).waitFor();
  assert.equal((await ask(gateway, keyOf('laptop'))).status, 402);

  await page.getByRole('button', { name: 'team=search', exact: true }).click();
  const panel = page.getByRole('dialog', { name: 'team=search' });
  await panel.getByText('tag.set').waitFor();
  await panel.getByRole('button', { name: 'Change limits and budgets …' }).click();
  const change = page.getByRole('dialog', { name: 'Limits of team=search' });
  await change.getByLabel('Total budget').fill('');
  await change.getByText(/--budget total=none/).waitFor();
  await change.getByLabel('Weekly budget').fill('80');
  await change.getByRole('button', { name: 'Save' }).click();
  await change.waitFor({ state: 'hidden' });
  await panel.getByRole('img', { name: /of the budget this week is spent/ }).waitFor();
  assert.equal((await ask(gateway, keyOf('laptop'))).status, 200);

  await panel.getByRole('button', { name: 'Remove …' }).click();
  const removal = page.getByRole('dialog', { name: 'Remove the limits of team=search' });
  await assertSound(visitor);
  await removal.getByRole('button', { name: 'Remove limits and budgets' }).click();
  await panel.getByText('No budget.').waitFor();
  await panel.getByText('tag.remove').waitFor();
  await assertSound(visitor);
});

test('a tag that is named keeps the limits and budgets that it has, but for what is changed', async () => {
  const ask = adminOf(gateway);
  await ask('PUT', '/tags/team%3Dkept', { limits: { concurrent_requests: 4 }, budgets: { month: '150.00' } });
  const { page } = await signInAsAdmin(browser, gateway, '/ui/tags?edit=true');
  const form = page.getByRole('dialog', { name: 'Limit a tag' });
  await form.getByLabel('Requests/min').fill('600');
  await form.getByLabel('Tag').fill('team=kept');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.waitFor({ state: 'hidden' });
  const { data } = await ask('GET', '/tags/team%3Dkept');
  assert.equal(data.limits.requests_per_minute, 600);
  assert.equal(data.limits.concurrent_requests, 4);
  assert.equal(Number(data.budgets.month.limit), 150);
});

test('two tabs change a tag, and each keeps what the other one changed', async () => {
  const ask = adminOf(gateway);
  await ask('PUT', '/tags/team%3Dshared', { budgets: { month: '150.00' } });
  const { page } = await signInAsAdmin(browser, gateway, '/ui/tags?open=team%3Dshared');
  await page.getByRole('button', { name: 'Change limits and budgets …' }).click();
  const form = page.getByRole('dialog', { name: 'Limits of team=shared' });
  await form.getByLabel('Requests/min').fill('600');
  await ask('PUT', '/tags/team%3Dshared', { budgets: { month: '20.00' } });
  await form.getByRole('button', { name: 'Save' }).click();
  await form.waitFor({ state: 'hidden' });
  const { data } = await ask('GET', '/tags/team%3Dshared');
  assert.deepEqual([data.limits.requests_per_minute, Number(data.budgets.month.limit)], [600, 20]);
});

test('what another operator has set of a tag meanwhile is named before it is replaced', async () => {
  const ask = adminOf(gateway);
  const path = '/tags/team%3Dcontested';
  await ask('PUT', path, { limits: { requests_per_minute: 60 }, budgets: { month: '150.00', day: '9' } });
  const { page } = await signInAsAdmin(browser, gateway, '/ui/tags?open=team%3Dcontested');
  await page.getByRole('button', { name: 'Change limits and budgets …' }).click();
  const form = page.getByRole('dialog', { name: 'Limits of team=contested' });
  const save = form.getByRole('button', { name: 'Save' });
  await form.getByLabel('Requests/min').fill('600');
  await form.getByLabel('Monthly budget').fill('20.00');
  await form.getByLabel('Daily budget').fill('3');
  // The same for the day is no contradiction.
  await ask('PUT', path, { limits: { requests_per_minute: 70 }, budgets: { day: '3' } });
  await save.click();
  const words = 'Somebody else has set limits.requests_per_minute to 70 and removed budgets.month meanwhile.';
  await form.getByRole('alert').getByText(words).waitFor();
  assert.deepEqual((await ask('GET', path)).data.limits, { requests_per_minute: 70 });
  // Once more, between the question and the change.
  await page.route(`**/admin/v1${path}`, async (route) => {
    const isChange = route.request().method() === 'PATCH';
    if (isChange) await ask('PATCH', path, { limits: { requests_per_minute: 80 } });
    await route.continue();
    if (isChange) await page.unrouteAll();
  });
  await save.click();
  await form
    .getByRole('alert')
    .getByText(/has set limits.requests_per_minute to 80 meanwhile/)
    .waitFor();
  await save.click();
  await form.waitFor({ state: 'hidden' });
  const { data } = await ask('GET', path);
  assert.deepEqual([data.limits, Number(data.budgets.month.limit)], [{ requests_per_minute: 600 }, 20]);
});

test('a tag leads to its keys and requests, and a request to those with its tags', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/tags?open=team%3Dsearch');
  const { page } = visitor;
  await page.getByRole('link', { name: 'Its keys' }).click();
  await page.getByRole('cell', { name: /laptop/ }).waitFor();
  assert.match(page.url(), /\/keys\?tag=team/);
  await page.goto(`${gateway.url}/ui/tags?open=team%3Dsearch`);
  await page.getByRole('link', { name: 'Its requests' }).click();
  await page.getByRole('button', { name: /^tag: team=search/ }).waitFor();
  await page
    .getByRole('row', { name: / laptop / })
    .first()
    .waitFor();
  await page
    .getByRole('row', { name: / server / })
    .getByRole('button')
    .click();
  const panel = page.getByRole('dialog', { name: 'Request' });
  await panel.getByRole('link', { name: 'env=prod' }).click();
  await page.getByRole('button', { name: /^tag: env=prod/ }).waitFor();
  await assertSound(visitor);
  await page.getByRole('textbox', { name: 'Filter' }).fill('tag:team=other');
  await page.keyboard.press('Enter');
  await page.getByText('No request is like that').waitFor();
  assert.match(page.url(), /tag=team%3Dother/);
  await page.getByRole('button', { name: /^tag: team=other/ }).click();
  await page.getByRole('row', { name: / server / }).waitFor();
});

test('a tag of the configuration is not changed here, and a viewer changes none', async () => {
  const admin = await signInAsAdmin(browser, gateway, '/ui/tags?open=env%3Dprod');
  await admin.page.getByText('stand in the configuration and are changed there').waitFor();
  assert.equal(await admin.page.getByRole('button', { name: /limits and budgets/ }).count(), 0);
  const url = await admin.page.evaluate<string>(`(async () => {
    const headers = { 'content-type': 'application/json', 'x-polygate-ui': '1' };
    const response = await fetch('/ui/session/links', { method: 'POST', headers, body: '{"role":"viewer"}' });
    return (await response.json()).data.url;
  })()`);
  const { page } = await visit(browser, url);
  await page.getByRole('link', { name: 'Tags' }).click();
  await page.getByRole('button', { name: 'team=search', exact: true }).click();
  await page.getByRole('link', { name: 'Its requests' }).waitFor();
  assert.equal(await page.getByRole('button', { name: /imit/ }).count(), 0);
});

for (const theme of ['light', 'dark'] satisfies Theme[]) {
  test(`the holder of a key sees what its tags share, in the ${theme} theme`, async () => {
    const visitor = await visit(browser, `${gateway.url}/ui`, { theme });
    const { page } = visitor;
    await page.getByLabel(/admin token/).fill(keyOf('server'));
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.goto(`${gateway.url}/ui/key`);
    const limits = page.getByRole('region', { name: 'Limits' });
    await limits.getByRole('heading', { name: 'Shared by all keys with env=prod' }).waitFor();
    await limits.getByRole('img', { name: /of the budget this month is spent/ }).waitFor();
    visitor.faults.length = 0;
    await assertSound(visitor);
  });
}

test('spending is carried on to the end of days, weeks and months, where enough of them has passed', () => {
  // A Wednesday.
  const noon = new Date('2026-11-18T12:00:00Z');
  const forecast = (period: Period, spent: SpentByPeriod, now = noon) => forecastOf(period, spent, now);
  assert.equal(forecast('day', { day: 3 }), 6);
  assert.equal(forecast('week', { week: 5 })?.toFixed(2), '14.00');
  assert.equal(Math.round(forecast('month', { month: 7 }) ?? 0), 12);
  assert.equal(forecast('total', { total: 3 }), undefined);
  assert.equal(forecast('day', { day: 3 }, new Date('2026-11-18T02:00:00Z')), undefined);
  assert.equal(forecast('week', { week: 3 }, new Date('2026-11-16T12:00:00Z')), undefined);
  assert.equal(forecast('week', { week: 3 }, new Date('2026-11-22T12:00:00Z'))?.toFixed(2), '3.23');
  assert.equal(forecast('month', { month: 3 }, new Date('2026-11-02T12:00:00Z')), undefined);
});

test('no forecast is below that of a shorter period within it', () => {
  const noon = new Date('2026-11-18T12:00:00Z');
  const forecasts = (spent: SpentByPeriod, now: Date) =>
    (['day', 'week', 'month'] as const).map((period) => Math.round(100 * (forecastOf(period, spent, now) ?? 0)) / 100);
  // All of it this week, then all of it today.
  assert.deepEqual(forecasts({ day: 1, week: 5, month: 5 }, noon), [2, 14, 30]);
  assert.deepEqual(forecasts({ day: 5, week: 5, month: 5 }, noon), [10, 18, 34]);
  const sunday = new Date('2026-11-22T12:00:00Z');
  assert.deepEqual(forecasts({ day: 13, week: 13, month: 13 }, sunday), [26, 26, 42]);
  assert.deepEqual(forecasts({ day: 0, week: 0, month: 7 }, noon), [0, 0, 12]);
});
