/** Answers of a gateway, which a test holds or cuts off between it and the page. Answers themselves are the gateway's. */

import type { Page, Route } from 'playwright-core';
import type { Visit } from './browser.ts';

/** Of the API. */
const QUESTIONS = /\/(?:admin\/)?v1\/|\/openapi\.json/;

export interface Answers {
  hold(): void;
  /** Ends those that are held, and all further ones, without a response. */
  cut(): Promise<void>;
  pass(): Promise<void>;
}

export async function interceptAnswers(page: Page, asked: string | RegExp = QUESTIONS): Promise<Answers> {
  let state: 'held' | 'cut' | 'passed' = 'passed';
  let held: Route[] = [];
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.route(asked, (route) => {
    if (state === 'held') held.push(route);
    else if (state === 'cut') return route.abort();
    else return route.continue();
  });
  async function release(next: 'cut' | 'passed', end: (route: Route) => Promise<void>): Promise<void> {
    state = next;
    const routes = held;
    held = [];
    for (const route of routes) await end(route).catch(() => undefined);
  }
  return {
    hold() {
      state = 'held';
    },
    cut: () => release('cut', (route) => route.abort()),
    pass: () => release('passed', (route) => route.continue()),
  };
}

/** Until no button offers it: each notice of an error has one, and goes when its question is answered. */
export async function tryAgain(page: Page): Promise<void> {
  const again = page.getByRole('button', { name: 'Try again' });
  while ((await again.count()) > 0) {
    await again
      .first()
      .click({ timeout: 1000 })
      .catch(() => undefined);
  }
}

/** The visit without what the browser writes to the console for each request that was cut off, now and later. */
export function withoutCuts({ page, faults }: Visit): Visit {
  return {
    page,
    get faults() {
      return faults.filter((fault) => !isCut(fault));
    },
  };
}

/** Forgets what the browser wrote for requests that were cut off. */
export function removeCuts({ faults }: Visit): void {
  faults.splice(0, faults.length, ...faults.filter((fault) => !isCut(fault)));
}

function isCut(fault: string): boolean {
  return fault.includes('net::ERR_FAILED');
}
