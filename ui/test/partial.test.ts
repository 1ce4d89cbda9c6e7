/** Pages one source of which does not answer: it is named, the others stay in view, and it is asked again. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { createVideoClock, videoClient } from '../../test/gateway/video-client.ts';
import {
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayWithPages,
  TOKEN,
  type Visit,
} from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  const yaml = `admin: { token: ${TOKEN}, port: 0 }\ncallbacks: { secret: whsec_c2VjcmV0IG9mIHRoaXMgdGVzdCBmaWxlIG9ubHkhISE=, allow_cidrs: [127.0.0.1/32] }`;
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayWithPages(yaml, { clock: createVideoClock() })]);
  await ask(gateway, KEY);
  const videos = videoClient(gateway);
  const { id } = await videos.create({ prompt: 'A paper boat', callback_url: 'https://127.0.0.1:8443/hook' });
  await videos.until(id, 'completed');
});
after(() => Promise.all([browser.close(), gateway.close()]));

/** Ends the questions of a source without a response, until it is called again. */
async function cutOff({ page, faults }: Visit, isAsked: (url: URL) => boolean): Promise<() => Promise<void>> {
  await page.route(isAsked, (route) => route.abort());
  return async () => {
    await page.unroute(isAsked);
    // The browser writes each request that was cut off to the console.
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes('net::ERR_FAILED')));
  };
}

const named = (page: Page, name: string) => page.locator('[data-spoken]').filter({ hasText: name });

interface Case {
  path: string;
  /** End of the path of its question. */
  asked: string;
  name: string;
  main(page: Page): Locator;
}

const CASES: Case[] = [
  {
    path: '/ui/models',
    asked: '/models/statistics',
    name: 'Times to the first byte and tokens per second',
    main: (page) => page.getByRole('row', { name: /sandbox.echo/ }).first(),
  },
  {
    path: '/ui/models',
    asked: '/models/price-changes',
    name: 'Changes of prices',
    main: (page) => page.getByRole('row', { name: /sandbox.echo/ }).first(),
  },
  {
    path: '/ui/webhooks',
    asked: '/deliveries/receivers',
    name: 'Receivers and their success rates',
    main: (page) => page.getByRole('row', { name: /127.0.0.1/ }),
  },
  {
    path: '/ui/videos',
    asked: '/videos/summary',
    name: 'Sums of videos',
    main: (page) => page.getByRole('button', { name: /A paper boat/ }),
  },
];

for (const [index, { path, asked, name, main }] of CASES.entries()) {
  test(`${path} names ${asked} where it does not answer, and shows the others`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui', index % 2 === 0 ? {} : { theme: 'dark', width: 360 });
    const { page } = visitor;
    const mend = await cutOff(visitor, ({ pathname }) => pathname.endsWith(asked));
    await page.goto(gateway.url + path);
    const note = named(page, `${name} are missing: The gateway does not answer`);
    await note.waitFor();
    await main(page).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await assertFits(page);
    await mend();
    await note.getByRole('button', { name: 'Try again' }).click();
    await note.waitFor({ state: 'detached' });
    await assertSound(visitor);
  });
}

test('the headline of requests says whether its rates are missing, and of when it is', async () => {
  const visitor = await signInAsAdmin(browser, gateway);
  const { page } = visitor;
  const isSummary = ({ pathname }: URL) => pathname.endsWith('/requests/summary');
  let mend = await cutOff(visitor, (url) => isSummary(url) && url.searchParams.has('from'));
  await page.goto(`${gateway.url}/ui/requests`);
  const note = named(page, 'Requests a second and cost an hour are missing');
  await note.waitFor();
  const figure = page.getByRole('main').locator('dl').getByText('In flight');
  await figure.waitFor();
  await mend();
  await note.getByRole('button', { name: 'Try again' }).click();
  await note.waitFor({ state: 'detached' });
  await page.getByText(/req\/(s|min|h)/).waitFor();

  mend = await cutOff(visitor, (url) => isSummary(url) && !url.searchParams.has('from'));
  await page.getByText(/Shown is what was there at /).waitFor();
  assert.ok(await figure.isVisible());
  await page.getByRole('row', { name: /sandbox.echo/ }).waitFor();
  await mend();
  await page.getByText(/Shown is what was there at /).waitFor({ state: 'detached' });
  await assertSound(visitor);
});
