/**
 * States of every page: loading while the answers of the gateway are held, the error and its retry while they are cut off,
 * empty, and filled; without a fault and accessible in both themes. On SQLite and on PostgreSQL.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { createVideoClock, eventually, videoClient } from '../../test/gateway/video-client.ts';
import { providePostgres, type TestDatabase } from '../../test/store/postgres-server.ts';
import { type Receiver, startReceiver } from '../../test/webhooks/receiver.ts';
import { type Answers, interceptAnswers, removeCuts, tryAgain, withoutCuts } from './answers.ts';
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

/** What is checked of a page in each of its states. */
interface Looks {
  sound(visitor: Visit, byAllRules?: Theme): Promise<void>;
  fits(page: Page): Promise<void>;
}

const THOROUGH: Looks = { sound: soundInBothThemes, fits: fitsNarrowWindows };
const NO_LOOKS: Looks = { sound: async () => undefined, fits: async () => undefined };

/** A gateway with something on every page, and one that was not used. On SQLite they have a store each, and on PostgreSQL a database. */
interface Pair {
  filled: TestGateway;
  unused: TestGateway;
}

let browser: Browser;
let receiver: Receiver;
let pair: Pair;

before(async () => {
  [browser, receiver] = await Promise.all([openBrowser(), startReceiver()]);
});
after(() => Promise.all([browser.close(), receiver.close()]));

async function startPair(databases: readonly TestDatabase[]): Promise<Pair> {
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

for (const engine of ['SQLite', 'PostgreSQL'] as const) {
  describe(`on ${engine}`, () => {
    let databases: TestDatabase[] = [];
    before(async () => {
      if (engine === 'PostgreSQL') databases = await Promise.all([providePostgres(), providePostgres()]);
      pair = await startPair(databases);
    });
    after(async () => {
      await Promise.all([pair.filled.close(), pair.unused.close()]);
      for (const database of databases) await database.close();
    });
    // Looks are the same on both.
    const looks = engine === 'SQLite' ? THOROUGH : NO_LOOKS;

    describe('a page of operators', () => {
      statesOf({ ...OPERATOR_PAGES, ...FILTERED_PAGES }, (gateway) => signInAsAdmin(browser, gateway), looks);
    });

    describe('a page of the holder of a key', () => {
      statesOf(HOLDER_PAGES, (gateway) => signInWithKey(browser, gateway, KEY), looks);
    });

    describe('a page without a session', () => {
      statesOf(VISITOR_PAGES, ({ url }) => visit(browser, `${url}/ui`), looks);
    });

    test('all pages wait for their session and ask again, and so does the login', () => waitsForSession(looks));
    test('what the gateway refuses is shown with the id of the request', () => showsRefusal(looks));
  });
}

async function waitsForSession({ sound }: Looks): Promise<void> {
  const visitor = await visit(browser, `${pair.filled.url}/ui`);
  const { page, faults } = visitor;
  const answers = await interceptAnswers(page, '**/ui/session');
  answers.hold();
  await page.reload({ waitUntil: 'commit' });
  await showsLoading(visitor, sound);
  await failsAndRetries(visitor, answers, sound);
  await page.getByLabel(/API key/).fill(KEY);
  await sound(visitor);
  answers.hold();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Signing in …' }).waitFor();
  await sound(visitor);
  await answers.cut();
  await page.getByRole('alert').getByText('The gateway does not answer').waitFor();
  removeCuts(visitor);
  await sound(visitor);
  await answers.pass();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'My key' }).waitFor();
  assert.deepEqual(faults, []);
}

async function showsRefusal({ sound }: Looks): Promise<void> {
  const visitor = await signInAsAdmin(browser, pair.filled);
  const { page } = visitor;
  const answered = page.waitForResponse(/deliveries\/no-such-task$/);
  await page.goto(`${pair.filled.url}/ui/webhooks?open=no-such-task`);
  const response = await answered;
  assert.equal(response.status(), 404);
  const { error } = (await response.json()) as { error: { message: string } };
  const notice = page.getByRole('dialog', { name: 'Webhook' }).getByRole('alert');
  await notice.getByText(error.message).waitFor();
  const id = response.headers()['x-polygate-request-id'] ?? 'none';
  await notice.getByText(id, { exact: true }).waitFor();
  visitor.faults.length = 0; // The browser itself writes the status 404 to the console.
  await sound(visitor);
}

function statesOf(
  pages: Record<string, PageStates>,
  signIn: (gateway: TestGateway) => Promise<Visit>,
  { sound, fits }: Looks,
): void {
  let used: Visit;
  let fresh: Visit;
  before(async () => {
    [used, fresh] = [await signIn(pair.filled), await signIn(pair.unused)];
  });
  after(() => Promise.all([used, fresh].map(({ page }) => page.context().close())));
  for (const [name, { path, filled: content, empty, emptyPath }] of Object.entries(pages)) {
    test(`${name}: loading, failed, filled and empty`, async () => {
      const { page } = used;
      const answers = await interceptAnswers(page);
      answers.hold();
      await page.goto(pair.filled.url + path);
      await showsLoading(used, sound);
      await failsAndRetries(used, answers, sound);
      await content(page).waitFor();
      // The browser may have written the last ones late.
      removeCuts(used);
      await sound(used, 'light');
      await fits(page);
      if (empty === undefined) return;
      const other = emptyPath ? used : fresh;
      await other.page.goto(emptyPath ? pair.filled.url + emptyPath : pair.unused.url + path);
      await other.page.getByText(empty).first().waitFor();
      await sound(other);
    });
  }
}

async function showsLoading(visitor: Visit, sound: Looks['sound']): Promise<void> {
  await visitor.page.locator('[data-spoken]').getByText('Loading').first().waitFor();
  await countsNothingUnknown(visitor.page);
  await sound(visitor);
}

/** A list that is not known has no number of rows. */
async function countsNothingUnknown(page: Page): Promise<void> {
  assert.equal(await page.getByText('0 of 0').count(), 0);
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

/** Until all notices of errors are gone. */
async function failsAndRetries(visitor: Visit, answers: Answers, sound: Looks['sound']): Promise<void> {
  const { page } = visitor;
  await answers.cut();
  await page.getByRole('alert').getByText('The gateway does not answer').first().waitFor();
  await page.getByRole('button', { name: 'Try again' }).first().waitFor();
  await countsNothingUnknown(page);
  // Pages that ask again by themselves are cut off meanwhile, too.
  await sound(withoutCuts(visitor));
  await answers.pass();
  await tryAgain(page);
  removeCuts(visitor);
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
