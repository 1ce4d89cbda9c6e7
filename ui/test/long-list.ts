/** A list of 100,000 requests in Chromium, and how long its frames take while it scrolls. */

import type { Browser, Page } from 'playwright-core';
import { seedRecords } from '../../bench/dashboard/seed.ts';
import { openSqlite } from '../../bench/dashboard/stores.ts';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { signInAsAdmin } from './browser.ts';

const LOAD_TIMEOUT_MS = 300_000;
const PAGES_AT_A_TIME = 50;
/** Frames of one measurement that scroll by a part of the window, and that jump to another place of the list. */
const STEPS = 100;
const JUMPS = 50;
/** Fraction of the list that each jump goes on by, so that all places are reached. */
const JUMP = 0.382;

interface ApiPage {
  data: unknown[];
  next: string | null;
}

/** Puts so many records of the last 90 days into the store of a gateway that runs. */
export async function addRecords({ folder }: Pick<TestGateway, 'folder'>, count: number): Promise<void> {
  const store = openSqlite(folder);
  try {
    await seedRecords(store, { count, last: Date.now() - 60_000, say: () => {} });
  } finally {
    await store.close();
  }
}

/** Many pages of the API come at a time. */
export async function openLongList(browser: Browser, gateway: TestGateway, count: number): Promise<Page> {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/requests?paused=true');
  page.setDefaultTimeout(LOAD_TIMEOUT_MS);
  await page.getByRole('table').waitFor();
  await page.route(/\/requests\?.*after=/, async (route) => {
    const url = new URL(route.request().url());
    const headers = await route.request().allHeaders();
    const data: unknown[] = [];
    let last: ApiPage | undefined;
    for (let index = 0; index < PAGES_AT_A_TIME && last?.next !== null; index++) {
      if (last?.next) url.searchParams.set('after', last.next);
      last = (await (await fetch(url, { headers })).json()) as ApiPage;
      data.push(...(last?.data ?? []));
    }
    await route.fulfill({ json: { ...last, data } });
  });
  await scrollUntil(page, count);
  return page;
}

/** Scrolls to the end of the list, again and again, until it has so many rows. */
export async function scrollUntil(page: Page, count: number): Promise<void> {
  await page.evaluate(`new Promise((end) => {
    const look = () => {
      scrollTo(0, document.documentElement.scrollHeight);
      if (Number(document.querySelector('table').getAttribute('aria-rowcount')) > ${count}) return end();
      requestAnimationFrame(look);
    };
    look();
  })`);
}

/** Of the same height, without content. */
export async function openEmptyPage(browser: Browser, height: number): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.setContent(`<div style="height: ${height}px; background: linear-gradient(white, gray)"></div>`);
  return page;
}

/** Frames of a page that scrolls, in milliseconds: until the next one, and processor time of the page's thread. */
export interface Frames {
  elapsed: number[];
  busy: number[];
}

export async function scrollFrames(page: Page): Promise<Frames> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const busyTime = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'ThreadTime')?.value ?? Number.NaN);
  };
  const height = await page.evaluate<number>('scrollTo(0, 0) ?? document.documentElement.scrollHeight');
  const frames: Frames = { elapsed: [], busy: [] };
  let place = 0;
  for (let step = 0; step < STEPS + JUMPS; step++) {
    place = (place + JUMP) % 1;
    const move = step < STEPS ? 'scrollBy(0, innerHeight / 3)' : `scrollTo(0, ${Math.round(height * place)})`;
    const before = await busyTime();
    frames.elapsed.push(await page.evaluate<number>(FRAME_AFTER(move)));
    frames.busy.push((await busyTime()) - before);
  }
  await session.detach();
  return frames;
}

/** Runs in the page: moves at the beginning of a frame, and takes the time until the one after it. */
const FRAME_AFTER = (move: string) => `new Promise((end) => {
  requestAnimationFrame((begun) => {
    ${move};
    requestAnimationFrame((now) => end(now - begun));
  });
})`;
