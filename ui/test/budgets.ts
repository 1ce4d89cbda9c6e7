/**
 * `node ui/test/budgets.ts`: times of the pages in Chromium against their budgets, medians of several rounds: the first
 * paint of a browser without a cache, and a change between pages whose data are there. Sizes are measured by
 * `scripts/ui-sizes.mjs`, times of the API over millions of records by `bench/million-requests.ts`.
 */

import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { ask, openBrowser, signInAsAdmin, startGatewayForOperators, visit } from './browser.ts';

const ROUNDS = 7;
const BUDGETS_MS = { 'first paint, without a cache': 800, 'change of page, data there': 150 };
const PAGES = ['Models', 'Keys', 'Use and cost'];

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

const [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
try {
  for (let index = 0; index < 50; index++) await ask(gateway, KEY);
  const times = {
    'first paint, without a cache': await firstPaints(browser, gateway),
    'change of page, data there': await changes(browser, gateway),
  };
  for (const [name, values] of Object.entries(times)) {
    const budget = BUDGETS_MS[name as keyof typeof BUDGETS_MS];
    const median = values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
    process.stdout.write(
      `${name}: ${median.toFixed(0)} ms, at most ${Math.max(...values).toFixed(0)} (budget ${budget})\n`,
    );
    if (!(median <= budget)) process.exitCode = 1;
  }
} finally {
  await Promise.all([browser.close(), gateway.close()]);
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
  return times;
}
