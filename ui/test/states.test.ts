/**
 * States of every page: loading while the answers of the gateway are held, the error and its retry while they are cut off,
 * empty, and filled; without a fault and accessible in both themes.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Locator, Page, Route } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { createVideoClock, eventually, videoClient } from '../../test/gateway/video-client.ts';
import { type Receiver, startReceiver } from '../../test/webhooks/receiver.ts';
import {
  ask,
  assertSound,
  openBrowser,
  signInAsAdmin,
  startGatewayWithPages,
  THEMES,
  TOKEN,
  type Visit,
  visit,
} from './browser.ts';

interface PageStates {
  /** Of the gateway with requests; an empty state of its own has a path of its own. */
  path: string;
  filled(page: Page): Locator;
  /** At a gateway without requests; at this one with a filter where there is always something. */
  empty?: string | RegExp;
  emptyPath?: string;
}

const rowOf = (name: RegExp) => (page: Page) => page.getByRole('row', { name }).first();

const FOR_ADMIN: Record<string, PageStates> = {
  Requests: { path: '/ui/requests', filled: rowOf(/sandbox.echo/), empty: '/v1/chat/completions' },
  'Requests with a filter': {
    path: '/ui/requests?protocol=chat',
    filled: rowOf(/sandbox.echo/),
    empty: 'No request is like that',
    emptyPath: '/ui/requests?status=cancelled',
  },
  Conversations: {
    path: '/ui/requests?view=sessions',
    filled: rowOf(/paper-boats/),
    empty: 'No conversation is named',
  },
  'Use and cost': { path: '/ui/use?by=model', filled: rowOf(/sandbox.echo/), empty: '/v1/chat/completions' },
  'Use with a filter': {
    path: '/ui/use?protocol=chat',
    filled: rowOf(/sandbox.echo/),
    empty: 'No request is like that in this time',
    emptyPath: '/ui/use?status=cancelled',
  },
  Keys: {
    path: '/ui/keys',
    filled: rowOf(/test/),
    empty: 'No key is like that',
    emptyPath: '/ui/keys?find=no-such-key',
  },
  Tags: { path: '/ui/tags', filled: rowOf(/search/), empty: 'No key has a tag yet' },
  Playground: {
    path: '/ui/playground',
    filled: (page) => page.getByRole('button', { name: 'Send' }),
    empty: 'Nothing was asked yet',
  },
  Videos: {
    path: '/ui/videos',
    filled: (page) => page.getByRole('button', { name: /A paper boat/ }).first(),
    empty: 'No videos yet',
  },
  Webhooks: { path: '/ui/webhooks', filled: rowOf(/127.0.0.1/), empty: 'No webhooks yet' },
  Explain: { path: '/ui/explain', filled: rowOf(/sandbox.echo/) },
  Health: { path: '/ui/health', filled: rowOf(/sandbox.echo/), empty: 'No endpoint was used in the last day' },
  Configuration: {
    path: '/ui/config',
    filled: (page) => page.getByText('server.body_limit').first(),
    empty: 'No setting is like that',
    emptyPath: '/ui/config?find=no-such-setting',
  },
  Models: {
    path: '/ui/models',
    filled: rowOf(/sandbox.echo/),
    empty: 'No model is like that',
    emptyPath: '/ui/models?find=no-such-model',
  },
  Setup: {
    path: '/ui/setup',
    filled: (page) => page.getByText('/v1/chat/completions').first(),
    empty: 'Waiting for a request',
  },
  Settings: { path: '/ui/settings', filled: rowOf(/admin/) },
};

const FOR_HOLDER: Record<string, PageStates> = {
  'My key': { path: '/ui/key', filled: rowOf(/sandbox.echo/), empty: 'No requests in this time' },
  'Own requests': { path: '/ui/requests', filled: rowOf(/sandbox.echo/), empty: 'No requests yet' },
  'Own videos': {
    path: '/ui/videos',
    filled: (page) => page.getByRole('button', { name: /A paper boat/ }).first(),
    empty: 'No videos yet',
  },
  'Own webhooks': { path: '/ui/webhooks', filled: rowOf(/127.0.0.1/), empty: 'No webhooks yet' },
};

const CA = join(import.meta.dirname, '../../test/net/fixtures/test-only-ca.pem');
const CALLBACKS = `callbacks: { secret: whsec_c2VjcmV0IG9mIHRoaXMgdGVzdCBmaWxlIG9ubHkhISE=, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`;

let browser: Browser;
let filled: TestGateway;
let unused: TestGateway;
let receiver: Receiver;

before(async () => {
  const yaml = `admin: { token: ${TOKEN}, port: 0 }\n${CALLBACKS}`;
  receiver = await startReceiver();
  [browser, filled, unused] = await Promise.all([
    openBrowser(),
    startGatewayWithPages(yaml, {
      clock: createVideoClock(),
      keys: [`{ name: boats, key: ${KEY}-of-boats, tags: { team: search } }`],
    }),
    startGatewayWithPages(yaml),
  ]);
  await ask(filled, KEY, 'sandbox/echo', { 'x-session-id': 'paper-boats' });
  const client = videoClient(filled);
  const { id } = await client.create({
    prompt: 'A paper boat',
    callback_url: `https://127.0.0.1:${receiver.port}/hook`,
  });
  await client.until(id, 'completed');
  await eventually(filled, () => receiver.received.length > 0);
});
after(() => Promise.all([browser.close(), filled.close(), unused.close(), receiver.close()]));

describe('a page of operators', () => {
  statesOf(FOR_ADMIN, ({ url }) => signInAsAdmin(browser, { url }));
});

describe('a page of the holder of a key', () => {
  statesOf(FOR_HOLDER, async ({ url }) => {
    const visitor = await visit(browser, `${url}/ui`);
    await visitor.page.getByLabel(/API key/).fill(KEY);
    await visitor.page.keyboard.press('Enter');
    await visitor.page.getByRole('heading', { name: 'My key' }).waitFor();
    visitor.faults.length = 0;
    return visitor;
  });
});

test('all pages wait for their session, and ask again', async () => {
  const visitor = await visit(browser, `${filled.url}/ui`);
  const answers = await interceptAnswers(visitor.page, '**/ui/session');
  answers.hold();
  await visitor.page.reload({ waitUntil: 'commit' });
  await showsLoading(visitor);
  await failsAndRetries(visitor, answers);
  await visitor.page.getByLabel(/API key/).waitFor();
  await soundInBothThemes(visitor);
});

function statesOf(pages: Record<string, PageStates>, signIn: (gateway: TestGateway) => Promise<Visit>): void {
  let used: Visit;
  let fresh: Visit;
  before(async () => {
    [used, fresh] = [await signIn(filled), await signIn(unused)];
  });
  for (const [name, { path, filled: content, empty, emptyPath }] of Object.entries(pages)) {
    test(`${name}: loading, failed, filled and empty`, async () => {
      const { page } = used;
      const answers = await interceptAnswers(page, /\/(?:admin\/)?v1\/|\/openapi\.json|\/ui\/sessions/);
      answers.hold();
      await page.goto(filled.url + path);
      await showsLoading(used);
      await failsAndRetries(used, answers);
      await content(page).waitFor();
      // The browser may have written the last ones late.
      removeCuts(used.faults);
      await soundInBothThemes(used);
      await fitsNarrowWindows(page);
      if (empty === undefined) return;
      const other = emptyPath ? used : fresh;
      await other.page.goto(emptyPath ? filled.url + emptyPath : unused.url + path);
      await other.page.getByText(empty).first().waitFor();
      await soundInBothThemes(other);
    });
  }
}

async function showsLoading(visitor: Visit): Promise<void> {
  await visitor.page.getByRole('status').getByText('Loading').first().waitFor();
  await soundInBothThemes(visitor);
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
async function failsAndRetries(visitor: Visit, answers: Answers): Promise<void> {
  const { page, faults } = visitor;
  await answers.cut();
  await page.getByRole('alert').getByText('The gateway does not answer').first().waitFor();
  const again = page.getByRole('button', { name: 'Try again' });
  await again.first().waitFor();
  // Pages that ask again by themselves are cut off meanwhile, too.
  await soundInBothThemes({
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

/** The theme changes colours only. */
async function soundInBothThemes(visitor: Visit): Promise<void> {
  const { page } = visitor;
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-theme="${colorScheme}"]`).waitFor();
    await assertSound(visitor, colorScheme === 'light' ? undefined : ['color-contrast']);
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
