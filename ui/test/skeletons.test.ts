/** Shapes of what is to come: nothing at first, so that a quick answer does not flicker, then the shape, with motion and without. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { eventually } from '../../test/gateway/video-client.ts';
import { assertSound, openBrowser, signInAsAdmin, startGatewayForOperators } from './browser.ts';

/** Nothing is to be seen so long. */
const QUIET_MS = 149;
/** By then something is. */
const SEEN_MS = 300;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

/** Milliseconds that a shape is in the document, and how much of it is to be seen, from 0 to 1. */
type Sample = [age: number, opacity: number];

/** Runs in the page: looks at the first shape with each frame. */
const LOOK = `globalThis.samples = [];
const look = () => {
  const shape = document.querySelector('main .skeleton');
  const [motion] = shape?.getAnimations() ?? [];
  if (shape) globalThis.samples.push([motion?.currentTime ?? Infinity, Number(getComputedStyle(shape).opacity)]);
  requestAnimationFrame(look);
};
requestAnimationFrame(look);`;

for (const isMoving of [true, false]) {
  for (const path of ['/ui/health', '/ui/requests', '/ui/keys']) {
    test(`${path} shows nothing, then its shape, ${isMoving ? 'with' : 'without'} motion`, async () => {
      const visitor = await signInAsAdmin(browser, gateway, '/ui/settings', { isMoving });
      const { page } = visitor;
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route(/\/admin\/v1\//, async (route) => {
        await held;
        await route.continue();
      });
      await page.addInitScript(LOOK);
      await page.goto(gateway.url + path);
      const samples = () => page.evaluate<Sample[]>('globalThis.samples');
      await eventually({}, async () => (await samples()).some(([age, opacity]) => age >= SEEN_MS && opacity > 0.1));
      const seen = await samples();
      const early = seen.filter(([age]) => age <= QUIET_MS);
      assert.ok(early.length > 0, 'it is there before it is seen');
      assert.deepEqual(
        early.filter(([, opacity]) => opacity !== 0),
        [],
      );
      // No spinner in its place.
      assert.equal(await page.locator('main .animate-spin').count(), 0);
      assert.ok((await page.locator('main').innerText()).trim() !== '', 'the page is not blank');
      release();
      await page.locator('main .skeleton').first().waitFor({ state: 'detached' });
      if (!isMoving) await assertSound(visitor);
    });
  }
}
