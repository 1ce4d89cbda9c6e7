/** Ranges of time on the pages of use, of requests and of a key: one picker, zones, zoom by drag, and figures that lead to their requests. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { zoneOffsets } from '../../src/usage/zone.ts';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { formatMoment, momentsOf, spanBetween, spanOf } from '../src/spans.ts';
import {
  adminOf,
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayForOperators,
  type Theme,
} from './browser.ts';

const ZONE = 'Europe/Berlin';
const HOUR_MS = 3_600_000;
const DAY_HOURS = 24;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
  assert.ok(!(await askForFailure()).ok);
});
after(() => Promise.all([browser.close(), gateway.close()]));

test('days begin at the midnight of their zone, also where the clock is changed', () => {
  const now = Date.parse('2026-10-26T12:30:00Z');
  const { from, to, step, zone } = spanOf({ range: '7d', zone: ZONE }, now);
  assert.deepEqual([from.toISOString(), to.toISOString()], ['2026-10-19T22:00:00.000Z', '2026-10-26T23:00:00.000Z']);
  assert.deepEqual([step, zone], ['day', ZONE]);
  const moments = momentsOf({ from, to, step, zone });
  assert.deepEqual(
    [moments.length, moments[0], moments.at(-1)],
    [7, '2026-10-20T00:00:00.000Z', '2026-10-26T00:00:00.000Z'],
  );
  const sunday = spanBetween({ from, to, step, zone }, '2026-10-25T00:00:00.000Z', '2026-10-25T00:00:00.000Z');
  assert.equal((Date.parse(sunday.to) - Date.parse(sunday.from)) / HOUR_MS, 25);
  // Hours of sums are those of UTC: one in which a day begins is of the day before.
  assert.equal(spanOf({ range: 'month', zone: 'Asia/Kolkata' }, now).from.toISOString(), '2026-09-30T19:00:00.000Z');
});

/** Some change their clocks at midnight, one by half an hour, and some never. */
const ZONES = [
  'Pacific/Kiritimati',
  'America/St_Johns',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'America/Santiago',
  'America/Havana',
  'Atlantic/Azores',
  'Asia/Beirut',
];

test('days have the hours that the gateway sums up in them, also where there is no midnight', () => {
  const [first, end] = [Date.UTC(2026, 0, 2), Date.UTC(2026, 11, 30)];
  for (const zone of ZONES) {
    const offsets = zoneOffsets(zone, first / HOUR_MS - 3 * DAY_HOURS, end / HOUR_MS + DAY_HOURS);
    const dayOf = (hour: number) => {
      const minutes = offsets.findLast(({ fromHour }) => fromHour <= hour)?.minutes ?? 0;
      return new Date(hour * HOUR_MS + minutes * 60_000).toISOString().slice(0, 10);
    };
    // Those around a change of the clock.
    const days = [first, ...offsets.slice(1).map(({ fromHour }) => fromHour * HOUR_MS)].flatMap((at) =>
      [-1, 0, 1].map((count) => new Date(at + count * DAY_HOURS * HOUR_MS).toISOString().slice(0, 10)),
    );
    const span = { from: new Date(0), to: new Date(end), step: 'day', zone } as const;
    for (const day of days) {
      const { from, to } = spanBetween(span, day, day);
      const [begin, last] = [Date.parse(from) / HOUR_MS, Date.parse(to) / HOUR_MS - 1];
      assert.deepEqual([begin, last].map(dayOf), [day, day], zone);
      assert.notEqual(dayOf(begin - 1), day, zone);
      assert.notEqual(dayOf(last + 1), day, zone);
    }
  }
});

test('steps follow the length of a span', () => {
  const now = Date.parse('2026-11-23T12:30:30Z');
  const lengths = { '15m': 15, '1h': 60, '24h': 24, '7d': 7, '30d': 30, month: 23 } as const;
  for (const [range, length] of Object.entries(lengths))
    assert.equal(momentsOf(spanOf({ range: range as keyof typeof lengths }, now)).length, length, range);
  const own = (from: string, to?: string) => spanOf({ range: '1h', from, to }, now);
  assert.equal(own('2026-11-23T12:00:00Z').step, 'minute');
  assert.equal(own('2026-11-21T12:00:00Z').step, 'hour');
  assert.equal(own('2026-11-01', '2026-11-20').step, 'day');
  const years = own('2024-02-10', '2026-11-20');
  assert.deepEqual([years.step, momentsOf(years).length], ['month', 34]);
  assert.equal(formatMoment(momentsOf(years)[0] ?? '', years), 'Feb 2024');
  assert.deepEqual(momentsOf(own('2026-11-20', '2026-11-01')), [], 'the gateway says what is wrong');
});

test('a range that was typed stays when its zone is chosen', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/requests', { zone: ZONE });
  await page.getByRole('button', { name: 'custom' }).click();
  await page.getByLabel(`From (${ZONE})`).fill('2026-01-01T00:00');
  await page.getByRole('button', { name: 'UTC', exact: true }).click();
  assert.equal(await page.getByLabel('From (UTC)').inputValue(), '2026-01-01T00:00');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL(/from=2026-01-01T00/);
  // What was set is the same moment in another zone.
  await page.getByRole('button', { name: ZONE }).click();
  assert.equal(await page.getByLabel(`From (${ZONE})`).inputValue(), '2026-01-01T01:00');
});

test('a year of five digits is refused where it is typed', async () => {
  const { page, faults } = await signInAsAdmin(browser, gateway, '/ui/requests');
  await page.getByRole('button', { name: 'custom' }).click();
  const from = page.getByLabel('From (UTC)');
  await from.fill('12026-01-01T00:00');
  await page.getByLabel('To (UTC)').fill('2026-01-01T00:00');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.locator('input:invalid:focus').waitFor();
  assert.deepEqual(faults, []);
  await from.fill('2025-01-01T00:00');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL(/from=2025-01-01/);
});

for (const [theme, width] of [
  ['light', 1280],
  ['dark', 360],
] satisfies [Theme, number][]) {
  test(`use is shown of any time, and its figures lead to their requests, ${theme}, ${width} wide`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/use', { theme, width, zone: ZONE });
    const { page } = visitor;
    await page.getByRole('row', { name: /^Total 4 1 / }).waitFor();
    for (const [name, words] of [
      ['15m', 'minute'],
      ['1h', 'minute'],
      ['7d', 'day'],
      ['this month', 'day'],
      ['24h', 'hour'],
    ] as const) {
      await page.getByRole('button', { name, exact: true }).click();
      await page.getByRole('heading', { name: `Cost per ${words}` }).waitFor();
      await page.getByRole('row', { name: /^Total 4 1 / }).waitFor();
      await page.waitForURL(new RegExp(`range=${name.replace('this ', '')}`));
    }
    await page.getByRole('button', { name: ZONE }).click();
    await page.waitForURL(/zone=Europe(%2F|\/)Berlin/);
    await assertSound(visitor);
    await assertFits(page);

    await page.getByRole('button', { name: 'custom' }).click();
    await page.getByLabel(`From (${ZONE})`).fill('2026-01-01T00:00');
    await page.getByLabel(`To (${ZONE})`).fill('2025-12-31T00:00');
    await page.getByText('The beginning must be before the end.').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Show', exact: true }).isDisabled());
    await page.getByLabel(`To (${ZONE})`).fill('2026-01-03T00:00');
    await assertSound(visitor);
    await assertFits(page);
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('No requests in this time').waitFor();
    const { searchParams } = new URL(page.url());
    assert.equal(searchParams.get('from'), '2025-12-31T23:00:00.000Z');
    assert.equal(searchParams.get('to'), '2026-01-02T23:00:00.000Z');
    assert.equal(searchParams.get('range'), null);

    await page.getByRole('button', { name: '1h', exact: true }).click();
    const echo = page.getByRole('row', { name: /^sandbox.echo/ });
    await echo.waitFor();
    assert.equal(new URL(page.url()).searchParams.get('from'), null);
    await echo.getByRole('link', { name: '2', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
    await page
      .getByRole('row', { name: /sandbox.echo/ })
      .first()
      .waitFor();
    const asked = new URL(page.url()).searchParams;
    assert.equal(asked.get('model'), 'sandbox/echo');
    assert.equal(
      (Date.parse(asked.get('started_to') ?? '') - Date.parse(asked.get('started_from') ?? '')) / HOUR_MS,
      1,
    );
    // With that of the head.
    assert.equal(await page.getByRole('region', { name: 'Requests' }).getByRole('row').count(), 3);
    await page.goBack();
    await page
      .getByRole('row', { name: /^Total/ })
      .getByRole('link', { name: '1', exact: true })
      .first()
      .click();
    await page.getByRole('row', { name: /sandbox.faulty/ }).waitFor();
    assert.equal(await page.getByRole('region', { name: 'Requests' }).getByRole('row').count(), 2);
    await assertSound(visitor);
    await assertFits(page);
  });
}

test('a drag over bars shows their time, and a click on a part of one filters', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/use?range=1h&metric=requests');
  const { page } = visitor;
  const part = page.locator('svg [data-series="sandbox/echo"]').first();
  await part.waitFor();
  const chart = page.locator('svg:has([data-series])').first();
  const box = await chart.boundingBox();
  assert.ok(box);
  const middle = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width / 2, middle);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, middle);
  // The end beside the drawing is the last bar.
  await page.mouse.move(box.x + box.width + 20, middle);
  await page.mouse.up();
  await page.waitForURL(/from=/);
  const { searchParams } = new URL(page.url());
  const minutes = (Date.parse(searchParams.get('to') ?? '') - Date.parse(searchParams.get('from') ?? '')) / 60_000;
  assert.ok(minutes >= 25 && minutes <= 35, `${minutes} minutes`);
  await page.getByRole('heading', { name: 'Requests per minute' }).waitFor();
  await page.getByRole('row', { name: /^Total 4 / }).waitFor();
  await page.goBack();
  await page.waitForURL((url) => url.searchParams.get('from') === null);
  await part.click();
  await page.waitForURL(/model=sandbox(%2F|\/)echo/);
  await page.getByRole('button', { name: 'model: sandbox/echo' }).waitFor();
  await page.getByRole('row', { name: /^Total 2 / }).waitFor();
  assert.match(page.url(), /by=key/);
  await assertSound(visitor);
});

test('a time with more requests than are added up by the minute is shown by the hour', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/settings');
  const { page } = visitor;
  const error = { code: 'invalid_request', param: 'from', message: 'from must be later: these are too many.' };
  await page.route('**/admin/v1/usage?*', (route) =>
    new URL(route.request().url()).searchParams.get('by')?.startsWith('minute')
      ? route.fulfill({ status: 400, json: { error } })
      : route.continue(),
  );
  await page.goto(`${gateway.url}/ui/use?range=15m`);
  await page.getByRole('heading', { name: 'Cost per hour' }).waitFor();
  await page.getByRole('row', { name: /^Total 4 1 / }).waitFor();
});

for (const [theme, width] of [
  ['dark', 1280],
  ['light', 360],
] satisfies [Theme, number][]) {
  test(`requests are those of a time, shown by the clock of its zone, ${theme}, ${width} wide`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/requests', { theme, width, zone: ZONE });
    const { page } = visitor;
    const row = page.getByRole('row', { name: /sandbox.tools/ });
    await row.waitFor();
    const local = await clockIn(page, ZONE);
    assert.equal(local.shown, local.expected);
    await page.getByRole('button', { name: 'UTC' }).click();
    await page.waitForURL(/zone=UTC/);
    const utc = await clockIn(page, 'UTC');
    assert.equal(utc.shown, utc.expected);
    await page.getByRole('button', { name: '15m', exact: true }).click();
    await page.locator('dl').getByText('Requests', { exact: true }).waitFor();
    await row.waitFor();
    // What comes meanwhile is of this time, too.
    assert.equal((await ask(gateway, await otherKey(`late-${width}`), 'sandbox/reasoner')).status, 200);
    await page.getByRole('row', { name: new RegExp(`late-${width}`) }).waitFor();
    await assertSound(visitor);
    await assertFits(page);
    await page.goto(`${gateway.url}/ui/requests?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z&zone=UTC`);
    await page
      .getByText(/No request/)
      .first()
      .waitFor();
    assert.equal(await page.getByLabel('From (UTC)').inputValue(), '2026-01-01T00:00');
    assert.equal(await row.count(), 0);
    await page.getByRole('button', { name: 'any time' }).click();
    await row.waitFor();
  });
}

test('the holder of a key sees the own use by the minute, of any time, and the requests behind it', async () => {
  const secret = await otherKey('holder');
  for (const model of ['sandbox/echo', 'sandbox/reasoner'])
    assert.equal((await ask(gateway, secret, model)).status, 200);
  const visitor = await signInWithKey(browser, gateway, secret, '/ui/key?range=15m', { width: 360, zone: ZONE });
  const { page } = visitor;
  await page.getByRole('img', { name: /Cost per minute/ }).waitFor();
  await page.getByRole('row', { name: /^sandbox.reasoner 1 / }).waitFor();
  await page.getByRole('button', { name: '30d', exact: true }).click();
  await page.getByRole('img', { name: /Cost per day/ }).waitFor();
  await page.getByRole('button', { name: ZONE }).click();
  await page.waitForURL(/zone=/);
  await page.getByRole('row', { name: /^sandbox.reasoner 1 / }).waitFor();
  await assertSound(visitor);
  await assertFits(page);
  await page.getByRole('link', { name: '2', exact: true }).first().click();
  await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
  await page.getByRole('row', { name: /sandbox.reasoner/ }).waitFor();
  assert.equal(await page.getByRole('region', { name: 'Requests' }).getByRole('row').count(), 3);
});

function askForFailure(): Promise<Response> {
  const messages = [{ role: 'user', content: 'status 400' }];
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'sandbox/faulty', messages });
  return fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body });
}

async function otherKey(name: string): Promise<string> {
  return (await adminOf(gateway)('POST', '/keys', { name })).key;
}

/** What the first row shows, and what the clock of the zone showed then. */
async function clockIn(page: Page, zone: string): Promise<{ shown: string | null; expected: string }> {
  const time = page.getByRole('region', { name: 'Requests' }).locator('time').first();
  const [at, shown] = [await time.getAttribute('datetime'), await time.textContent()];
  return { shown, expected: new Date(at ?? '').toLocaleTimeString('en-US', { timeZone: zone, hour12: false }) };
}
