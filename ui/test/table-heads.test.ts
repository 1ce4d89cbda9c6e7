/** Heads of tables: in view while the page scrolls, in tables that fit, that scroll to the side, that have a height, and in panels. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import type { Json } from '../../src/core/json/json.ts';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { eventually } from '../../test/gateway/video-client.ts';
import { adminOf, ask, assertSound, openBrowser, settled, signInAsAdmin, startGatewayForOperators } from './browser.ts';

const WIDE = 1280;
const NARROW = 390;
/** So low that every table is higher. */
const HEIGHT = 200;
const PATHS = {
  requests: '/ui/requests?paused=true',
  use: '/ui/use?by=model&second=key',
  keys: '/ui/keys',
  health: '/ui/health',
  configuration: '/ui/config',
  models: '/ui/models',
  'models side by side': '/ui/models?compare=sandbox/echo,sandbox/tools,sandbox/reasoner',
  explain: '/ui/explain?model=house/all',
};

const ENDPOINTS = ['echo', 'tools', 'reasoner'].map((model) => `{ provider: sandbox, model: ${model} }`).join(', ');

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([
    openBrowser(),
    startGatewayForOperators(`models: { house/all: { endpoints: [${ENDPOINTS}] } }`),
  ]);
  const admin = adminOf(gateway);
  for (const name of ['ana', 'ben', 'cleo', 'dora']) await admin('POST', '/keys', { name });
  for (const session of ['one', 'two', 'three', 'four', 'five']) {
    await (await ask(gateway, KEY, 'house/all', { 'x-session-id': session })).text();
  }
});
after(() => Promise.all([browser.close(), gateway.close()]));

interface Place {
  /** Of the table. */
  top: number;
  head: number;
  /** Whether the point in the middle of its first cell shows the head and nothing else. */
  isOnTop: boolean;
  /** Whether the table is wider than its region. */
  scrolls: boolean;
}

/** Runs in the page: places of a table and its head from the top of what scrolls, once the row before the last is at the top. */
const PLACE = `async (table) => {
  const panel = table.closest('[role=dialog]')?.querySelector('.overflow-y-auto');
  const rows = table.querySelectorAll('tbody tr');
  const edge = panel?.getBoundingClientRect().top ?? 0;
  (panel ?? window).scrollBy(0, rows[rows.length - 2].getBoundingClientRect().top - edge - 20);
  await new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)));
  const cell = table.querySelector('thead th');
  const { top, left, height } = cell.getBoundingClientRect();
  return {
    top: table.getBoundingClientRect().top - edge,
    head: top - edge,
    isOnTop: cell.contains(document.elementFromPoint(left + 4, top + height / 2)),
    scrolls: table.parentElement.scrollWidth > table.parentElement.clientWidth,
  };
}`;

const ROUNDING = 1.5;

/**
 * Of the first table with a selector, which must be above the edge of what scrolls, once the page has the rest of its data and
 * the table knows that it has to scroll.
 */
async function assertHeadInView(page: Page, table: string, name: string): Promise<Place> {
  const place = await settled(
    () => page.evaluate<Place>(`(${PLACE})(document.querySelector('${table}'))`),
    ({ top, head, isOnTop }) => top < -5 && Math.abs(head) <= ROUNDING && isOnTop,
  );
  assert.ok(place.top < -5, `${name}: the table begins at ${place.top}`);
  assert.ok(Math.abs(place.head) <= ROUNDING, `${name}: the head is at ${place.head}`);
  assert.ok(place.isOnTop, `${name}: something is above the head`);
  return place;
}

interface Box {
  x: number;
  y: number;
  height: number;
}

/** Boxes of elements at one moment: read one after the other, they would be those of several frames. */
async function boxesOf(page: Page, ...locators: Locator[]): Promise<Box[]> {
  const elements = await Promise.all(locators.map((locator) => locator.elementHandle()));
  return page.evaluate((all: Json[]) => all.map((one) => one.getBoundingClientRect().toJSON()), elements as Json[]);
}

/** Lets a page that was scrolled draw itself. */
const settle = (page: Page) =>
  page.evaluate('new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)))');

const TABLE = 'table.data';
const tableOf = (page: Page) => page.locator(TABLE).first();

for (const [name, path] of Object.entries(PATHS)) {
  test(`the head stays in view: ${name}`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, path);
    const { page } = visitor;
    for (const width of [WIDE, NARROW]) {
      await page.setViewportSize({ width, height: HEIGHT });
      await tableOf(page).locator('tbody tr').nth(1).waitFor();
      await assertHeadInView(page, TABLE, `${name} at ${width} px`);
    }
    await assertSound(visitor);
  });
}

test('the head of a table that scrolls to the side goes along with its columns, by keyboard too', async () => {
  const { page } = await signInAsAdmin(browser, gateway, PATHS.requests, { width: NARROW });
  await page.setViewportSize({ width: NARROW, height: HEIGHT });
  const region = page.getByRole('region', { name: 'Requests' });
  await region.getByRole('row').nth(5).waitFor();
  const place = await assertHeadInView(page, TABLE, 'requests');
  assert.ok(place.scrolls);
  await page.evaluate("document.querySelector('[aria-label=Requests][tabindex]').focus({ preventScroll: true })");
  const head = region.getByRole('columnheader').nth(2);
  const cell = region.getByRole('row').nth(5).getByRole('cell').nth(2);
  const before = await head.boundingBox();
  await page.keyboard.press('ArrowRight');
  const isMoved = async () => ((await head.boundingBox())?.x ?? 0) < (before?.x ?? 0);
  await eventually({}, isMoved);
  await settle(page);
  const [moved, below] = await boxesOf(page, head, cell);
  assert.ok(moved && below && before && moved.x < before.x && Math.abs(moved.x - below.x) <= 1);
  assert.ok(Math.abs(moved.y) <= ROUNDING);
  // Nothing is moved at the beginning of the page.
  await page.evaluate('scrollTo(0, 0)');
  await settle(page);
  const [first, box] = await boxesOf(page, region.getByRole('columnheader').first(), region);
  assert.ok(first && box && Math.abs(first.y - box.y) <= ROUNDING);
});

for (const width of [WIDE, NARROW]) {
  test(`a row that has the focus is not below the head at ${width} px`, async () => {
    const { page } = await signInAsAdmin(browser, gateway, PATHS.models, { width });
    await page.setViewportSize({ width, height: HEIGHT });
    await tableOf(page).locator('tbody tr').nth(6).waitFor();
    for (let count = 0; count < 7; count++) await page.keyboard.press('j');
    await page.evaluate(
      "document.activeElement.closest('tr').previousElementSibling.scrollIntoView({ block: 'start' })",
    );
    await page.evaluate('scrollBy(0, 20)');
    for (let count = 0; count < 4; count++) {
      await page.keyboard.press('k');
      // The head follows a frame after the page has scrolled.
      await settle(page);
      const [head, row] = await boxesOf(
        page,
        tableOf(page).locator('thead th').first(),
        page.locator('tbody button:focus'),
      );
      assert.ok(head && row && row.y >= head.y + head.height, `${row?.y} is below ${head?.y}`);
    }
  });

  test(`the head of a table in a panel stays at the edge of the panel at ${width} px`, async () => {
    const { page } = await signInAsAdmin(browser, gateway, PATHS.requests, { width });
    await page.setViewportSize({ width, height: HEIGHT });
    await page.getByRole('region', { name: 'Requests' }).getByRole('button').first().click();
    const panel = page.getByRole('dialog');
    await panel.getByRole('region', { name: 'Candidates' }).getByRole('row').nth(2).waitFor();
    await assertHeadInView(page, '[role=dialog] [aria-label=Candidates] table', 'candidates');
  });

  test(`the head of the figures of a chart stays in view at ${width} px`, async () => {
    const { page } = await signInAsAdmin(browser, gateway, PATHS.use, { width });
    await page.setViewportSize({ width, height: HEIGHT });
    await page.getByRole('button', { name: /table/i }).click();
    const region = page.getByRole('region', { name: 'Figures of the chart' });
    await region.waitFor();
    async function scroll(): Promise<Box | undefined> {
      await page.evaluate(`{
        const region = document.querySelector('[aria-label="Figures of the chart"]');
        region.scrollTo(0, 200);
        scrollBy(0, region.getBoundingClientRect().top + 60);
      }`);
      await settle(page);
      return (await boxesOf(page, region.locator('thead th').first()))[0];
    }
    const isInView = (box?: Box) => box !== undefined && Math.abs(box.y) <= ROUNDING;
    const head = await settled(scroll, isInView);
    assert.ok(isInView(head), `the head is at ${head?.y}`);
  });
}
