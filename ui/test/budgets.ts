/**
 * `npm run test:ui -- --budgets [RECORDS [ENGINE ...]]`: all budgets of the dashboard in one table. Sizes of the files; times of
 * the pages in Chromium; scrolling in a list of 100,000 rows; what the trace of requests costs; processor time of the API's
 * questions over RECORDS (5,000,000) in each store. An engine is `sqlite` or `postgres`, or `sqlite=FOLDER` or `postgres=URL` for
 * a store that stays and is seeded only if it is empty. RECORDS 0 leaves the API out. `quick` measures sizes and times of the pages
 * alone, and takes the least of some tries: it is for machines that do other things, too.
 */

import type { Browser } from 'playwright-core';
import { measureApi } from '../../bench/dashboard/api.ts';
import { type BudgetLine, budgetTable, isKept } from '../../bench/dashboard/budget-line.ts';
import { ENGINES } from '../../bench/dashboard/stores.ts';
import { measureTraceCost } from '../../bench/dashboard/trace-cost.ts';
import { endEverything } from '../../bench/host/children.ts';
import { median } from '../../bench/measure.ts';
// @ts-expect-error A script without types.
import { measureSizes } from '../../scripts/ui-sizes.mjs';
import { PAGES_FOLDER } from '../../src/http/ui/pages.ts';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { ask, openBrowser, signInAsAdmin, startGatewayForOperators, visit } from './browser.ts';
import { addRecords, type Frames, openEmptyPage, openLongList, scrollFrames } from './long-list.ts';

const ROUNDS = 7;
const MOST_PAINT_MS = 800;
const MOST_CHANGE_MS = 150;
const PAGES = ['Models', 'Keys', 'Use and cost'];
const LONG_FRAME_MS = 50;
const TRIES = 3;

/** Runs in the page: milliseconds from a click on a link of the rail to the frame after the page has its heading. */
const CHANGE_TO = (name: string) => `new Promise((end) => {
  const link = [...document.querySelectorAll('nav a')].find((one) => one.textContent === ${JSON.stringify(name)});
  const begun = performance.now();
  const look = () => document.querySelector('h1')?.textContent === ${JSON.stringify(name)} && !document.querySelector('.skeleton')
    ? requestAnimationFrame(() => end(performance.now() - begun))
    : requestAnimationFrame(look);
  link.click();
  look();
})`;
const FIRST_PAINT = `new Promise((end) => {
  new PerformanceObserver((list) => {
    const [entry] = list.getEntriesByName('first-contentful-paint');
    if (entry) end(entry.startTime);
  }).observe({ type: 'paint', buffered: true });
})`;

const [records = '5000000', ...engines] = process.argv.slice(2);
const isQuick = records === 'quick';
const LONG_LIST = 100_000;
const lines: BudgetLine[] = measureSizes(PAGES_FOLDER).map(
  ({ name, value, most }: { name: string; value: number; most: number }) => ({
    ...{ what: `size of ${name}`, value, most, unit: 'kB' },
  }),
);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
process.on('exit', endEverything);
lines.push(...(await measurePages()));
if (!isQuick) lines.push(await measureTraceCost(say));
const stores = engines.length > 0 ? engines : ENGINES;
for (const store of Number(records) > 0 ? stores : []) {
  const [name, place] = splitOnce(store, '=');
  const engine = ENGINES.find((one) => one === name);
  if (!engine) throw new Error(`an engine is one of ${ENGINES.join(', ')}`);
  lines.push(...(await measureApi({ engine, place, count: Number(records), say })));
}
process.stdout.write(`\n${budgetTable(lines)}`);
process.exit(lines.every(isKept) ? 0 : 1);

async function measurePages(): Promise<BudgetLine[]> {
  const [browser, gateway] = await Promise.all([openBrowser({ isMeasured: true }), startGatewayForOperators()]);
  try {
    for (let index = 0; index < 50; index++) await ask(gateway, KEY);
    say('first paint');
    const paints = await firstPaints(browser, gateway);
    say('change of page');
    const times = await changes(browser, gateway);
    return [
      { ...lineOf('first contentful paint, without a cache', paints), most: MOST_PAINT_MS },
      { ...lineOf('change of page, data there', times), most: MOST_CHANGE_MS },
      ...(isQuick ? [] : [await measureScrolling(browser, gateway)]),
    ];
  } finally {
    await Promise.all([browser.close(), gateway.close()]);
  }
}

function lineOf(what: string, times: readonly number[]): Omit<BudgetLine, 'most'> {
  const note = `${isQuick ? 'least' : 'median'} of ${times.length}, at most ${Math.max(...times).toFixed(0)} ms`;
  return { what, value: isQuick ? Math.min(...times) : median(times), unit: 'ms', note };
}

/** Judged is the processor time of the page's thread: on a busy machine frames of an empty page are late, too. */
async function measureScrolling(browser: Browser, gateway: TestGateway): Promise<BudgetLine> {
  say(`list of ${LONG_LIST} rows`);
  await addRecords(gateway, LONG_LIST);
  const list = await openLongList(browser, gateway, LONG_LIST);
  const height = await list.evaluate<number>('document.documentElement.scrollHeight');
  const empty = await openEmptyPage(browser, height);
  const [tries, emptyTries]: [Frames[], Frames[]] = [[], []];
  for (let index = 0; index < TRIES; index++) {
    await list.bringToFront();
    tries.push(await scrollFrames(list));
    await empty.bringToFront();
    emptyTries.push(await scrollFrames(empty));
  }
  const value = Math.min(...tries.map(({ busy }) => busy.filter((time) => time > LONG_FRAME_MS).length));
  const least = (all: Frames[], name: keyof Frames, of: (times: number[]) => number) =>
    Math.min(...all.map((frames) => of(frames[name]))).toFixed(0);
  const about = (all: Frames[]) =>
    `${least(all, 'busy', median)} ms, at most ${least(all, 'busy', (times) => Math.max(...times))}, elapsed ${least(all, 'elapsed', median)}`;
  const note = `processor time of a frame ${about(tries)}; of an empty page ${about(emptyTries)}`;
  return {
    ...{ what: `frames over ${LONG_FRAME_MS} ms, scrolling ${LONG_LIST.toLocaleString('en')} rows`, value, most: 0 },
    ...{ unit: '', note },
  };
}

async function firstPaints(chromium: Browser, { url }: TestGateway): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { page } = await visit(chromium, `${url}/ui`);
    await page.getByLabel(/API key/).waitFor();
    times.push(await page.evaluate<number>(FIRST_PAINT));
    await page.context().close();
  }
  return times;
}

async function changes(chromium: Browser, gateway: TestGateway): Promise<number[]> {
  const { page } = await signInAsAdmin(chromium, gateway);
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of PAGES) {
      const time = await page.evaluate<number>(CHANGE_TO(name));
      await page.waitForLoadState('networkidle');
      // The first round loads scripts and data.
      if (round > 0) times.push(time);
    }
  }
  await page.context().close();
  return times;
}

/** Text before a mark, and what is after it, if it is there. */
function splitOnce(text: string, mark: string): [string, string | undefined] {
  const place = text.indexOf(mark);
  return place < 0 ? [text, undefined] : [text.slice(0, place), text.slice(place + mark.length)];
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
