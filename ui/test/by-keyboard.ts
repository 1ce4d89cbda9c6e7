/** Use of a page by its keyboard alone. */

import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';

const MAX_TABS = 150;

export const heading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { name, level: 1, exact: true }).waitFor();

export const focused = async (page: Page, target: Locator): Promise<boolean> =>
  (await target.and(page.locator(':focus')).count()) > 0;

/** Goes on by the tabulator until the element has the focus. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.first().waitFor();
  for (let count = 0; count < MAX_TABS; count++) {
    if (await focused(page, target)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`${target} cannot be reached by the keyboard`);
}

export async function pressOn(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press('Enter');
}

export async function typeInto(page: Page, target: Locator, text: string): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.insertText(text);
}

export const button = (scope: Page | Locator, name: string): Locator =>
  scope.getByRole('button', { name, exact: true });
