/** The browser that the tests of a process share, and its windows. */

import { after, afterEach, beforeEach } from 'node:test';
import type { Browser, BrowserContext } from 'playwright-core';

/** Windows of the test that runs; outside of tests there are none. */
let opened: BrowserContext[] | undefined;

interface SharedBrowser {
  browser: Browser;
  /** Ends its process. */
  end(): Promise<void>;
}

/** Undefined until a test needs it. */
let shared: Promise<SharedBrowser> | undefined;

// Programs that are no tests open windows, too: hooks would make them tests.
const hasTests = process.env.NODE_TEST_CONTEXT !== undefined;
if (hasTests) {
  beforeEach(() => {
    opened = [];
  });
  // Open pages go on asking the gateway and drawing, beside all tests that come after theirs.
  afterEach(async () => {
    const contexts = opened ?? [];
    opened = undefined;
    await closeAll(contexts);
  });
  after(async () => (await shared)?.end());
}

/** Closes it with its pages when the test ends that runs now. What hooks open before tests, hooks have to close. */
export function closeAfterTest(context: BrowserContext): void {
  opened?.push(context);
}

/** The start of a browser takes as long as a short test, so files of a process share one; `close` closes its windows. */
export async function sharedBrowser(launch: () => Promise<Browser>): Promise<Browser> {
  if (!hasTests) return launch();
  shared ??= launch().then(share);
  return (await shared).browser;
}

function share(browser: Browser): SharedBrowser {
  const end = browser.close.bind(browser);
  return { browser: Object.assign(browser, { close: () => closeAll(browser.contexts()) }), end };
}

async function closeAll(contexts: readonly BrowserContext[]): Promise<void> {
  await Promise.all(contexts.map((context) => context.close()));
}
