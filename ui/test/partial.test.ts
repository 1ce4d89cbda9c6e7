/** Pages one source of which does not answer: it is named, the others stay in view, and it is asked again. On SQLite and on PostgreSQL. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { createVideoClock, videoClient } from '../../test/gateway/video-client.ts';
import { providePostgres, type TestDatabase } from '../../test/store/postgres-server.ts';
import { interceptAnswers, removeCuts, tryAgain, withoutCuts } from './answers.ts';
import {
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayWithPages,
  TOKEN,
  type Visit,
} from './browser.ts';
import { HOLDER_PAGES, OPERATOR_PAGES, type PageStates } from './page-states.ts';

const YAML = `admin: { token: ${TOKEN}, port: 0 }
callbacks: { secret: whsec_c2VjcmV0IG9mIHRoaXMgdGVzdCBmaWxlIG9ubHkhISE=, allow_cidrs: [127.0.0.1/32] }`;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  browser = await openBrowser();
});
after(() => browser.close());

for (const engine of ['SQLite', 'PostgreSQL'] as const) {
  describe(`on ${engine}`, () => {
    let database: TestDatabase | undefined;
    before(async () => {
      database = engine === 'PostgreSQL' ? await providePostgres() : undefined;
      gateway = await startGatewayWithPages(YAML, {
        clock: createVideoClock(),
        keys: [`{ name: boats, key: ${KEY}-of-boats, tags: { team: search } }`],
        postgres: database?.url,
      });
      await ask(gateway, KEY, 'sandbox/echo', { 'x-session-id': 'paper-boats' });
      const videos = videoClient(gateway);
      const { id } = await videos.create({ prompt: 'A paper boat', callback_url: 'https://127.0.0.1:8443/hook' });
      await videos.until(id, 'completed');
    });
    after(async () => {
      await gateway.close();
      await database?.close();
    });
    // Looks are the same on both.
    const isThorough = engine === 'SQLite';

    describe('a page of operators', () => {
      partialStatesOf(OPERATOR_PAGES, () => signInAsAdmin(browser, gateway), isThorough);
    });
    describe('a page of the holder of a key', () => {
      const narrow = { theme: 'dark', width: 360 } as const;
      partialStatesOf(HOLDER_PAGES, () => signInWithKey(browser, gateway, KEY, '/ui', narrow), isThorough);
    });
    test('the headline of requests says of when it is, where it was there before', showsEarlierHeadline);
  });
}

function partialStatesOf(pages: Record<string, PageStates>, signIn: () => Promise<Visit>, isThorough: boolean): void {
  let visitor: Visit;
  before(async () => {
    visitor = await signIn();
  });
  after(() => visitor.page.context().close());
  for (const [name, { path, filled, sources = [] }] of Object.entries(pages)) {
    // A browser that is cut off from a source does not see the engine behind it: one source a page is enough on the second.
    for (const { asked, notice, others = filled } of isThorough ? sources : sources.slice(0, 1)) {
      test(`${name} without ${asked.source.replaceAll('\\', '')}`, async () => {
        const { page } = visitor;
        const answers = await interceptAnswers(page, asked);
        await answers.cut();
        await page.goto(gateway.url + path);
        await notice(page).getByRole('button', { name: 'Try again' }).waitFor();
        await others(page).waitFor();
        if (isThorough) {
          await assertFits(page);
          await assertSound(withoutCuts(visitor));
        }
        await answers.pass();
        await tryAgain(page);
        await filled(page).waitFor();
        await notice(page).waitFor({ state: 'detached' });
        removeCuts(visitor);
        assert.deepEqual(visitor.faults, []);
      });
    }
  }
}

async function showsEarlierHeadline(): Promise<void> {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests');
  const { page } = visitor;
  const figure = page.getByRole('main').locator('dl').getByText('In flight');
  await figure.waitFor();
  await page.getByText(/req\/(s|min|h)/).waitFor();
  const answers = await interceptAnswers(page, /\/requests\/summary(?!.*[?&]from=)/);
  await answers.cut();
  await page
    .getByRole('main')
    .getByText(/Shown is what was there at /)
    .waitFor();
  assert.ok(await figure.isVisible());
  await assertSound(withoutCuts(visitor));
  await page.getByRole('row', { name: /sandbox.echo/ }).waitFor();
  await answers.pass();
  await page
    .getByRole('main')
    .getByText(/Shown is what was there at /)
    .waitFor({ state: 'detached' });
  removeCuts(visitor);
  assert.deepEqual(visitor.faults, []);
}
