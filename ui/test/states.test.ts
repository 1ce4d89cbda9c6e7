/**
 * States of every page: loading while the answers of the gateway are held, the error and its retry while they are cut off,
 * empty, and filled; without a fault and accessible in both themes.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page, Route } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { createVideoClock, eventually, videoClient } from '../../test/gateway/video-client.ts';
import { providePostgres, type TestDatabase } from '../../test/store/postgres-server.ts';
import { type Receiver, startReceiver } from '../../test/webhooks/receiver.ts';
import {
  ask,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayWithPages,
  THEMES,
  type Theme,
  TOKEN,
  type Visit,
  visit,
} from './browser.ts';
import { FILTERED_PAGES, HOLDER_PAGES, OPERATOR_PAGES, type PageStates, VISITOR_PAGES } from './page-states.ts';

const CA = join(import.meta.dirname, '../../test/net/fixtures/test-only-ca.pem');
const CALLBACKS = `callbacks: { secret: whsec_c2VjcmV0IG9mIHRoaXMgdGVzdCBmaWxlIG9ubHkhISE=, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`;

let browser: Browser;
let filled: TestGateway;
let unused: TestGateway;
let receiver: Receiver;

interface Pair {
  filled: TestGateway;
  unused: TestGateway;
}

before(async () => {
  receiver = await startReceiver();
  [browser, { filled, unused }] = await Promise.all([openBrowser(), startPair()]);
});
after(() => Promise.all([browser.close(), filled.close(), unused.close(), receiver.close()]));

/** One with something on every page, and one that was not used. On SQLite they have a store each, and on PostgreSQL a database. */
async function startPair(databases: readonly TestDatabase[] = []): Promise<Pair> {
  const yaml = `admin: { token: ${TOKEN}, port: 0 }\n${CALLBACKS}`;
  const [used, fresh] = await Promise.all([
    startGatewayWithPages(yaml, {
      clock: createVideoClock(),
      keys: [`{ name: boats, key: ${KEY}-of-boats, tags: { team: search } }`],
      postgres: databases[0]?.url,
    }),
    startGatewayWithPages(yaml, { postgres: databases[1]?.url }),
  ]);
  await ask(used, KEY, 'sandbox/echo', { 'x-session-id': 'paper-boats' });
  const client = videoClient(used);
  const { id } = await client.create({
    prompt: 'A paper boat',
    callback_url: `https://127.0.0.1:${receiver.port}/hook`,
  });
  await client.until(id, 'completed');
  await eventually(used, () => receiver.received.some(({ body }) => body.includes(id)));
  return { filled: used, unused: fresh };
}

describe('a page of operators', () => {
  statesOf({ ...OPERATOR_PAGES, ...FILTERED_PAGES }, (gateway) => signInAsAdmin(browser, gateway));
});

describe('a page of the holder of a key', () => {
  statesOf(HOLDER_PAGES, (gateway) => signInWithKey(browser, gateway, KEY));
});

describe('a page without a session', () => {
  statesOf(VISITOR_PAGES, ({ url }) => visit(browser, `${url}/ui`));
});

describe('on PostgreSQL, a page of operators', () => {
  let databases: TestDatabase[] = [];
  let pair: Pair;
  before(async () => {
    databases = await Promise.all([providePostgres(), providePostgres()]);
    pair = await startPair(databases);
  });
  after(async () => {
    await Promise.all([pair.filled.close(), pair.unused.close()]);
    for (const database of databases) await database.close();
  });
  // Nothing else differs for those who look at it.
  const options = { pairOf: () => pair, sound: async () => undefined };
  statesOf(OPERATOR_PAGES, (gateway) => signInAsAdmin(browser, gateway), options);
});

test('all pages wait for their session and ask again, and so does the login', async () => {
  const visitor = await visit(browser, `${filled.url}/ui`);
  const { page, faults } = visitor;
  const answers = await interceptAnswers(page, '**/ui/session');
  answers.hold();
  await page.reload({ waitUntil: 'commit' });
  await showsLoading(visitor);
  await failsAndRetries(visitor, answers);
  await page.getByLabel(/API key/).fill(KEY);
  await soundInBothThemes(visitor);
  answers.hold();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Signing in …' }).waitFor();
  await soundInBothThemes(visitor);
  await answers.cut();
  await page.getByRole('alert').getByText('The gateway does not answer').waitFor();
  removeCuts(faults);
  await soundInBothThemes(visitor);
  await answers.pass();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'My key' }).waitFor();
  assert.deepEqual(faults, []);
});

test('what the gateway refuses is shown with the id of the request', async () => {
  const visitor = await signInAsAdmin(browser, filled);
  const { page } = visitor;
  const answered = page.waitForResponse(/deliveries\/no-such-task$/);
  await page.goto(`${filled.url}/ui/webhooks?open=no-such-task`);
  const response = await answered;
  assert.equal(response.status(), 404);
  const { error } = (await response.json()) as { error: { message: string } };
  const notice = page.getByRole('dialog', { name: 'Webhook' }).getByRole('alert');
  await notice.getByText(error.message).waitFor();
  const id = response.headers()['x-polygate-request-id'] ?? 'none';
  await notice.getByText(id, { exact: true }).waitFor();
  visitor.faults.length = 0; // The browser itself writes the status 404 to the console.
  await soundInBothThemes(visitor);
});

type SoundCheck = (visitor: Visit, byAllRules?: Theme) => Promise<void>;

function statesOf(
  pages: Record<string, PageStates>,
  signIn: (gateway: TestGateway) => Promise<Visit>,
  { pairOf = () => ({ filled, unused }), sound = soundInBothThemes }: { pairOf?: () => Pair; sound?: SoundCheck } = {},
): void {
  let used: Visit;
  let fresh: Visit;
  before(async () => {
    const pair = pairOf();
    [used, fresh] = [await signIn(pair.filled), await signIn(pair.unused)];
  });
  for (const [name, { path, filled: content, empty, emptyPath }] of Object.entries(pages)) {
    test(`${name}: loading, failed, filled and empty`, async () => {
      const { page } = used;
      const pair = pairOf();
      const answers = await interceptAnswers(page, /\/(?:admin\/)?v1\/|\/openapi\.json|\/ui\/sessions/);
      answers.hold();
      await page.goto(pair.filled.url + path);
      await showsLoading(used, sound);
      await failsAndRetries(used, answers, sound);
      await content(page).waitFor();
      // The browser may have written the last ones late.
      removeCuts(used.faults);
      await sound(used, 'light');
      await fitsNarrowWindows(page);
      if (empty === undefined) return;
      const other = emptyPath ? used : fresh;
      await other.page.goto(emptyPath ? pair.filled.url + emptyPath : pair.unused.url + path);
      await other.page.getByText(empty).first().waitFor();
      await sound(other);
    });
  }
}

async function showsLoading(visitor: Visit, sound: SoundCheck = soundInBothThemes): Promise<void> {
  await visitor.page.locator('[data-spoken]').getByText('Loading').first().waitFor();
  await sound(visitor);
}

/** A narrow phone, and a window of 1280 pixels at 200 %. What is wider scrolls in a place of its own. */
async function fitsNarrowWindows(page: Page): Promise<void> {
  const { width: usual, height } = page.viewportSize() ?? { width: 1280, height: 900 };
  for (const width of [360, 640]) {
    await page.setViewportSize({ width, height });
    // Tables find out after a layout whether they have to scroll.
    // Not by `waitForFunction`, which evaluates text in the page, as its policy forbids.
    const widthOf = () => page.evaluate<number>('document.documentElement.scrollWidth');
    for (const end = Date.now() + 10_000; Date.now() < end && (await widthOf()) !== width; )
      await page.waitForTimeout(50);
    assert.equal(await widthOf(), width);
  }
  await page.setViewportSize({ width: usual, height });
}

/** Until all notices of errors are gone, each of which has a button that asks again. */
async function failsAndRetries(visitor: Visit, answers: Answers, sound: SoundCheck = soundInBothThemes): Promise<void> {
  const { page, faults } = visitor;
  await answers.cut();
  await page.getByRole('alert').getByText('The gateway does not answer').first().waitFor();
  const again = page.getByRole('button', { name: 'Try again' });
  await again.first().waitFor();
  // Pages that ask again by themselves are cut off meanwhile, too.
  await sound({
    page,
    get faults() {
      return faults.filter((fault) => !isCut(fault));
    },
  });
  await answers.pass();
  while ((await again.count()) > 0) {
    await again
      .first()
      .click({ timeout: 1000 })
      .catch(() => undefined);
  }
  removeCuts(faults);
}

/** The browser writes each request that was cut off to the console. */
function isCut(fault: string): boolean {
  return fault.includes('net::ERR_FAILED');
}

function removeCuts(faults: string[]): void {
  const others = faults.filter((fault) => !isCut(fault));
  faults.splice(0, faults.length, ...others);
}

/** Filled pages are checked by all rules in the dark theme in `journeys.test.ts`. The theme changes colours only. */
async function soundInBothThemes(visitor: Visit, byAllRules: Theme = 'dark'): Promise<void> {
  const { page } = visitor;
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-theme="${colorScheme}"]`).waitFor();
    await assertSound(visitor, colorScheme === byAllRules ? undefined : ['color-contrast']);
  }
}

interface Answers {
  hold(): void;
  /** Ends those that are held, and all further ones, without a response. */
  cut(): Promise<void>;
  pass(): Promise<void>;
}

/** Stands between page and gateway. Answers themselves are the gateway's. */
async function interceptAnswers(page: Page, asked: string | RegExp): Promise<Answers> {
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
