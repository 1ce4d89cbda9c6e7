/** Windows of tests: open pages go on asking the gateway and drawing, beside all tests that come after theirs. */

import { afterEach, beforeEach } from 'node:test';
import type { BrowserContext } from 'playwright-core';

/** Of the test that runs; outside of tests there are none. */
let opened: BrowserContext[] | undefined;

// Programs that are no tests open windows, too: hooks would make them tests.
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  beforeEach(() => {
    opened = [];
  });
  afterEach(async () => {
    const contexts = opened ?? [];
    opened = undefined;
    await Promise.all(contexts.map((context) => context.close()));
  });
}

/** Closes it with its pages when the test ends that runs now. What hooks open before tests, hooks have to close. */
export function closeAfterTest(context: BrowserContext): void {
  opened?.push(context);
}
