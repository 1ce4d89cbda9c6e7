/** Content that moves while a page loads, as browsers measure it: whoever is about to click something must find it there. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { eventually, videoClient } from '../../test/gateway/video-client.ts';
import { type Receiver, startReceiver } from '../../test/webhooks/receiver.ts';
import {
  ask,
  openBrowser,
  settled,
  signInAsAdmin,
  signInWithKey,
  startGatewayWithPages,
  TOKEN,
  type Visit,
} from './browser.ts';
import { FILTERED_PAGES, HOLDER_PAGES, OPERATOR_PAGES, type PageStates } from './page-states.ts';

/** Above it a page is no longer good, by the threshold of Web Vitals. */
const MAX_SHIFT = 0.1;
/** A phone, where what comes above moves most, and a wide window. */
const WIDTHS = [390, 1440];
/** Answers of the gateway come one after the other. */
const BETWEEN_ANSWERS_MS = 40;
/** After the last answer. */
const QUIET_MS = 250;
const CONVERSATIONS = 7;
const CA = join(import.meta.dirname, '../../test/net/fixtures/test-only-ca.pem');
const CALLBACKS = `{ secret: whsec_c2VjcmV0IG9mIHRoaXMgdGVzdCBmaWxlIG9ubHkhISE=, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`;

/** Opened rows load, too. */
const OPERATOR_PANELS = {
  'an opened model': panel('/ui/models?open=sandbox/echo', 'Parameters'),
  'an opened tag': panel('/ui/tags?open=team%3Dsearch', 'Budgets'),
  'an opened endpoint': panel('/ui/health?open=sandbox/echo', 'Success'),
};

/** Runs in the page before its scripts. */
const OBSERVE = `globalThis.shifts = [];
new PerformanceObserver((list) => globalThis.shifts.push(...list.getEntries())).observe({ type: 'layout-shift', buffered: true });`;
/** What moved, after no input, the largest first. */
const SHIFTS = `globalThis.shifts.filter(({ hadRecentInput }) => !hadRecentInput)
  .toSorted((one, other) => other.value - one.value)
  .map(({ value, sources }) => ({ value, moved: sources.map(({ node }) => node?.textContent?.slice(0, 60) ?? '') }))`;

let browser: Browser;
let receiver: Receiver;
let gateway: TestGateway;

before(async () => {
  [browser, receiver] = await Promise.all([openBrowser(), startReceiver()]);
  gateway = await startGatewayWithPages(`admin: { token: ${TOKEN}, port: 0 }\ncallbacks: ${CALLBACKS}`, {
    keys: [`{ name: boats, key: ${KEY}-of-boats, tags: { team: search }, budgets: { month: "3" } }`],
  });
  for (let index = 0; index < 20; index++) {
    const key = index % 2 === 0 ? KEY : `${KEY}-of-boats`;
    await ask(gateway, key, 'sandbox/echo', { 'x-session-id': `paper-boats-${index % CONVERSATIONS}` });
  }
  const client = videoClient(gateway);
  const { id } = await client.create({
    prompt: 'A paper boat',
    callback_url: `https://127.0.0.1:${receiver.port}/hook`,
  });
  await client.until(id, 'completed');
  await eventually(gateway, () => receiver.received.length > 0);
});
after(() => Promise.all([browser.close(), gateway.close(), receiver.close()]));

for (const width of WIDTHS) {
  test(`pages of operators stay in place at ${width} pixels`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/settings', { width });
    await staysInPlace(visitor, { ...OPERATOR_PAGES, ...FILTERED_PAGES, ...OPERATOR_PANELS });
  });

  test(`pages of the holder of a key stay in place at ${width} pixels`, async () => {
    await staysInPlace(await signInWithKey(browser, gateway, KEY, '/ui/settings', { width }), HOLDER_PAGES);
  });
}

function panel(path: string, heading: string): PageStates {
  return { path, filled: (page) => page.getByRole('dialog').getByText(heading).first() };
}

async function staysInPlace({ page, faults }: Visit, pages: Record<string, PageStates>): Promise<void> {
  await page.addInitScript(OBSERVE);
  const asked = new Set<string>();
  await page.route(/\/(?:admin\/)?v1\//, async (route) => {
    // What is asked again comes at once: lists of requests do so all the time.
    const isNew = !asked.has(route.request().url());
    asked.add(route.request().url());
    if (isNew) await pause(BETWEEN_ANSWERS_MS * asked.size);
    await route.continue().catch(() => undefined);
  });
  const moved: Record<string, unknown> = {};
  for (const [name, { path, filled }] of Object.entries(pages)) {
    asked.clear();
    await page.goto(gateway.url + path);
    await filled(page).waitFor();
    await settled(
      () => page.locator('.skeleton').count(),
      (count) => count === 0,
    );
    await pause(QUIET_MS);
    const shifts = await page.evaluate<{ value: number; moved: string[] }[]>(SHIFTS);
    const sum = shifts.reduce((total, { value }) => total + value, 0);
    if (sum > MAX_SHIFT) moved[name] = { sum, shifts };
  }
  assert.deepEqual(moved, {});
  assert.deepEqual(faults, []);
}
