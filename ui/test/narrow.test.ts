/** The rail of pages: a line that scrolls on a narrow screen, with the page that is open in view; icons where it is folded. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import { assertSound, openBrowser, settled, signInAsAdmin, startGatewayForOperators, THEMES } from './browser.ts';

const NARROW = 360;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

const railOf = (page: Page) => page.getByRole('banner');

/** Whether the page itself scrolls to the side. */
const isTooWide = (page: Page) =>
  page.evaluate<boolean>('document.documentElement.scrollWidth > document.documentElement.clientWidth');

for (const theme of THEMES) {
  test(`on a narrow screen the rail shows the page that is open, in the ${theme} theme`, async () => {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/settings', { theme, width: NARROW });
    const { page } = visitor;
    const rail = railOf(page);
    const current = rail.locator('[aria-current=page]:visible');
    for (const [name, path] of [
      ['Settings', '/ui/settings'],
      ['Requests', '/ui/requests'],
      ['Health', '/ui/health'],
    ]) {
      await page.goto(gateway.url + path);
      await rail.getByRole('link', { name, exact: true }).and(current).waitFor();
      const box = await inView(page, current);
      assert.ok(box.x >= 0 && box.x + box.width <= NARROW, `${name} is at ${box.x}`);
      assert.equal(await isTooWide(page), false, `${path} is too wide`);
      await assertSound(visitor);
    }
    assert.ok(((await rail.boundingBox())?.height ?? 0) < 100, 'it is one line');
  });
}

test('a link of the rail is reached by keyboard on a narrow screen, and comes into view', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/use', { width: NARROW });
  const link = railOf(page).getByRole('link', { name: 'Health', exact: true });
  await link.focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/ui\/health/);
  const box = await inView(page, link);
  assert.ok(box.x >= 0 && box.x + box.width <= NARROW, `it is at ${box.x}`);
});

test('each link of the rail that has the focus is in view as a whole', async () => {
  for (const width of [320, NARROW]) {
    const { page } = await signInAsAdmin(browser, gateway, '/ui/requests', { width });
    const pages = railOf(page).getByRole('navigation');
    await pages.getByRole('link').first().focus();
    const line = await pages.boundingBox();
    const focused = page.locator('nav a:focus');
    for (let count = await pages.getByRole('link').count(); count > 0; count--) {
      const [name, box] = [await focused.textContent(), await focused.boundingBox()];
      assert.ok(line && box && box.x >= line.x && box.x + box.width <= line.x + line.width, `${name}, ${width} wide`);
      await page.keyboard.press('Tab');
    }
  }
});

test('the rail of a wide screen is folded to icons that keep their names, and stays so', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/use');
  const { page } = visitor;
  const rail = railOf(page);
  const width = async () => (await rail.boundingBox())?.width ?? 0;
  const wide = await width();
  await rail.getByRole('button', { name: 'Hide the words of the rail' }).click();
  await rail.getByRole('button', { name: 'Show the words of the rail' }).waitFor();
  assert.ok((await width()) < wide / 2);
  await rail.getByRole('link', { name: 'Requests', exact: true }).waitFor();
  await page.reload();
  await rail.getByRole('button', { name: 'Show the words of the rail' }).waitFor();
  assert.ok((await width()) < wide / 2);
  await assertSound(visitor);
});

test('a panel that covers the page keeps the focus, and gives it back to its row', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/requests', { width: NARROW });
  const { page } = visitor;
  const opener = page
    .getByRole('region', { name: 'Requests' })
    .getByRole('table', { name: 'Requests' })
    .getByRole('button')
    .first();
  await opener.focus();
  await page.keyboard.press('Enter');
  const panel = page.getByRole('dialog');
  await panel.getByRole('heading', { name: 'Candidates' }).waitFor();
  const link = panel.getByRole('link', { name: 'Explain its routing' });
  for (const key of ['Tab', 'Shift+Tab']) {
    await link.focus();
    // More than the panel has controls.
    for (let count = 0; count < 12; count++) {
      await page.keyboard.press(key);
      const place = 'document.activeElement.closest("[role=dialog]") ? "panel" : document.activeElement.localName';
      assert.match(await page.evaluate<string>(place), /^(panel|body)$/);
    }
  }
  await assertSound(visitor);
  await link.focus();
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  await opener.and(page.locator(':focus')).waitFor();
});

test('what is chosen is marked where the system chooses the colors', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/requests?status=completed');
  await page.emulateMedia({ forcedColors: 'active' });
  await page.locator('tbody').getByRole('button').first().click();
  const styleOf = (selector: string, name: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${name}')`);
  await page.locator('tr[data-open]').waitFor();
  assert.equal(await styleOf('tr[data-open]', 'outline-style'), 'solid');
  assert.equal(await styleOf('[aria-pressed=true]', 'text-decoration-line'), 'underline');
  assert.equal(await styleOf('[aria-pressed=false]', 'text-decoration-line'), 'none');
  assert.equal(await styleOf('nav [aria-current=page]', 'text-decoration-line'), 'underline');
});

/** Place of an element once it is in view, which takes a frame or two. */
async function inView(page: Page, element: ReturnType<Page['locator']>) {
  const width = await page.evaluate<number>('innerWidth');
  const box = await settled(
    () => element.boundingBox(),
    (found) => found !== null && found.x >= 0 && found.x + found.width <= width,
  );
  return box ?? { x: Number.NaN, width: 0 };
}
