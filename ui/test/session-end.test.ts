/** End of a session while its page is open, and places where no secret may stay. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../test/gateway/harness.ts';
import {
  adminOf,
  ask,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayForOperators,
  TOKEN,
  visit,
} from './browser.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators()]);
});
after(() => Promise.all([browser.close(), gateway.close()]));

async function makeKey(name: string): Promise<{ key: string; hash: string }> {
  const { key, data } = await adminOf(gateway)('POST', '/keys', { name });
  assert.equal((await ask(gateway, key)).status, 200);
  return { key, hash: data.hash };
}

/** The page was not loaded again, and shows nothing of the session that ended. */
async function showsLogin(page: Page): Promise<void> {
  await page.getByLabel(/API key/).waitFor();
  assert.equal(await page.evaluate('window.wasKept'), true);
  assert.equal(await page.getByText('sandbox/echo').count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0);
}

test('an open page shows the login after an operator has ended its session, and another session sees only its own', async () => {
  const [ended, other] = [await makeKey('ended'), await makeKey('other')];
  const { page } = await signInWithKey(browser, gateway, ended.key, '/ui/requests');
  await page.getByRole('row', { name: /sandbox.echo/ }).waitFor();
  await page.evaluate('window.wasKept = true');
  const operator = await signInAsAdmin(browser, gateway, '/ui/settings');
  await operator.page
    .getByRole('row', { name: /^key ended/ })
    .getByRole('button', { name: 'End', exact: true })
    .click();
  await showsLogin(page);
  await page.getByLabel(/API key/).fill(other.key);
  await page.keyboard.press('Enter');
  await page.getByRole('row', { name: /sandbox.echo/ }).waitFor();
  assert.equal(await page.getByRole('row', { name: /sandbox.echo/ }).count(), 1);
  assert.equal(await page.evaluate('window.wasKept'), true);
});

/** In the browser of the page, as another tab does it. */
async function changeSession(page: Page, login: { token: string } | { key: string }): Promise<void> {
  const headers = { origin: gateway.url, 'x-polygate-ui': '1' };
  const response = await page.request.post(`${gateway.url}/ui/session`, { headers, data: login });
  assert.equal(response.status(), 201);
}

test('an open page becomes that of the session which another tab has opened, at the next look at it', async () => {
  const [first, second] = [await makeKey('first tab'), await makeKey('second tab')];
  const { page } = await signInWithKey(browser, gateway, first.key, '/ui/requests');
  await page.getByRole('row', { name: /sandbox.echo/ }).waitFor();
  await page.evaluate('window.wasKept = true');
  await changeSession(page, { key: second.key });
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`);
  await page.getByRole('banner').getByText('second tab').waitFor();
  await page.getByRole('row', { name: /sandbox.echo/ }).waitFor();
  assert.equal(await page.getByRole('row', { name: /sandbox.echo/ }).count(), 1, 'that of the first key is gone');
  assert.equal(await page.evaluate('window.wasKept'), true);
});

test('an open page of an operator becomes that of the key with which another tab has signed in, at its next question', async () => {
  const { key } = await makeKey('of another tab');
  const { page } = await signInAsAdmin(browser, gateway, '/ui/requests');
  await page.getByRole('row', { name: /sandbox.tools/ }).waitFor();
  await page.evaluate('window.wasKept = true');
  await changeSession(page, { key });
  await page.getByRole('banner').getByText('of another tab').waitFor();
  await page.getByRole('row', { name: /sandbox.echo/ }).waitFor();
  assert.equal(await page.getByRole('row', { name: /sandbox.tools/ }).count(), 0);
  assert.equal(await page.getByRole('alert').count(), 0);
  assert.equal(await page.evaluate('window.wasKept'), true);
});

test('an open page shows the login at its next change, after its key was revoked', async () => {
  const { key, hash } = await makeKey('revoked');
  const { page } = await signInWithKey(browser, gateway, key, '/ui/key');
  const reveal = page.getByRole('region', { name: 'Webhook secret' }).getByRole('button', { name: 'Reveal' });
  await reveal.waitFor();
  await page.evaluate('window.wasKept = true');
  await adminOf(gateway)('DELETE', `/keys/${hash}`);
  // A look of the page may be first.
  await reveal.click({ timeout: 5000 }).catch(() => undefined);
  await showsLogin(page);
});

test('a gateway that does not answer the end of a session is named, and asked again', async () => {
  const { page } = await signInWithKey(browser, gateway, (await makeKey('away')).key, '/ui/key');
  await page.route('**/ui/session', (route) => route.abort());
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('alert').getByText('The gateway does not answer').waitFor();
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByLabel(/API key/).waitFor();
});

test('no secret is stored in the browser or in an address', async () => {
  const secrets = [TOKEN];
  const operator = await visit(browser, `${gateway.url}/ui`);
  await operator.page.getByLabel(/API key/).fill(TOKEN);
  await operator.page.keyboard.press('Enter');
  await operator.page.getByRole('button', { name: 'Sign out' }).waitFor();
  await operator.page.goto(`${gateway.url}/ui/keys?create=true`);
  await operator.page.getByLabel('Name', { exact: true }).fill('kept-nowhere');
  await operator.page.getByRole('button', { name: 'Create', exact: true }).click();
  const made = operator.page.getByRole('dialog').getByText(/^sk-pg-\S+$/);
  secrets.push((await made.first().textContent()) ?? '');
  await storesNone(operator.page, secrets);
  const holder = await visit(browser, `${gateway.url}/ui`);
  const { key } = await makeKey('holder');
  secrets.push(key);
  await holder.page.getByLabel(/API key/).fill(key);
  await holder.page.keyboard.press('Enter');
  await holder.page.getByRole('button', { name: 'Reveal' }).click();
  secrets.push(
    (await holder.page
      .getByText(/^whsec_\S+$/)
      .first()
      .textContent()) ?? '',
  );
  await storesNone(holder.page, secrets);
});

async function storesNone(page: Page, secrets: readonly string[]): Promise<void> {
  const places = await page.evaluate<string>(`JSON.stringify([
    location.href, history.state, document.cookie, { ...localStorage }, { ...sessionStorage },
    performance.getEntriesByType('resource').map(({ name }) => name),
  ])`);
  assert.match(places, /polygate-rail/, 'what the page does store is looked at');
  for (const secret of secrets) {
    assert.ok(secret.length > 12);
    assert.ok(!places.includes(secret), places);
  }
}

for (const { name, path, fill, typed } of [
  {
    name: 'a new key',
    path: '/ui/keys?create=true',
    fill: (page: Page) => page.getByLabel('Name', { exact: true }).fill('typed before'),
    typed: (page: Page) => page.getByLabel('Name', { exact: true }).inputValue(),
  },
  {
    name: 'several keys',
    path: '/ui/keys?create=several',
    fill: (page: Page) => page.getByLabel(/^Names or CSV/).fill('typed before'),
    typed: (page: Page) => page.getByLabel(/^Names or CSV/).inputValue(),
  },
  {
    name: 'a playground',
    path: '/ui/playground',
    fill: (page: Page) => page.getByRole('textbox', { name: 'User' }).fill('typed before'),
    typed: (page: Page) => page.getByRole('textbox', { name: 'User' }).inputValue(),
  },
]) {
  test(`the form of ${name} keeps what was typed while its session ends, for the same operator alone`, async () => {
    const { page } = await signInAsAdmin(browser, gateway, path);
    await fill(page);
    await endSession(page);
    await page.getByText('Sign in as before').waitFor();
    await page.getByLabel(/API key/).fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out', includeHidden: true }).waitFor();
    assert.equal(await typed(page), 'typed before');
    await endSession(page);
    await page.getByLabel(/API key/).fill((await makeKey(`other than ${name}`)).key);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel(/API key/).fill(TOKEN);
    assert.equal(await page.getByText('Sign in as before').count(), 0, 'that session was ended by its holder');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out', includeHidden: true }).waitFor();
    assert.equal(await typed(page), '');
  });
}

/** Sees an empty form after it has signed in at the login that is shown. */
async function findsNothingTyped(page: Page): Promise<void> {
  await page.getByLabel(/API key/).waitFor();
  assert.equal(await page.getByText('Sign in as before').count(), 0);
  await page.getByLabel(/API key/).fill(TOKEN);
  await page.keyboard.press('Enter');
  assert.equal(await page.getByRole('textbox', { name: 'User' }).inputValue(), '');
}

const look = (page: Page) => page.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`);

test('signing out forgets what was typed in other tabs', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/playground');
  const [shown, atLogin] = [await page.context().newPage(), await page.context().newPage()];
  for (const tab of [shown, atLogin]) {
    await tab.goto(`${gateway.url}/ui/playground`);
    await tab.getByRole('textbox', { name: 'User' }).fill('typed before');
  }
  await endSession(atLogin);
  await atLogin.getByText('Sign in as before').waitFor();
  await look(page);
  await page.getByLabel(/API key/).fill(TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).click();
  for (const tab of [shown, atLogin]) {
    await look(tab);
    await findsNothingTyped(tab);
    await tab.getByRole('button', { name: 'Sign out' }).click();
  }
});

test('signing out forgets what was typed, also where the gateway does not answer after it', async () => {
  const { page } = await signInAsAdmin(browser, gateway, '/ui/playground');
  const user = page.getByRole('textbox', { name: 'User' });
  await user.fill('typed before');
  await page.route('**/ui/session', (route) => (route.request().method() === 'GET' ? route.abort() : route.continue()));
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('alert').getByText('The gateway does not answer').waitFor();
  await user.fill('typed after');
  await page.unrouteAll();
  await look(page);
  await findsNothingTyped(page);
});

test('the change of a key is open again, with what was typed, after its session has ended', async () => {
  const { hash } = await makeKey('changed');
  const { page } = await signInAsAdmin(browser, gateway, `/ui/keys?open=${hash}`);
  await page.getByRole('button', { name: 'Change …' }).click();
  const form = page.getByRole('dialog', { name: 'Change changed' });
  await form.getByLabel('Owner').fill('Ana');
  await endSession(page);
  await page.getByLabel(/API key/).fill(TOKEN);
  await page.keyboard.press('Enter');
  assert.equal(await form.getByLabel('Owner').inputValue(), 'Ana');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.waitFor({ state: 'detached' });
  assert.equal((await adminOf(gateway)('GET', `/keys/${hash}`)).data.owner, 'Ana');
  // A form that was closed is not kept.
  await page.getByRole('button', { name: 'Change …' }).click();
  await form.getByLabel('Owner').fill('Ben');
  await page.keyboard.press('Escape');
  await form.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Change …' }).click();
  assert.equal(await form.getByLabel('Owner').inputValue(), 'Ana');
});

/** As another operator does it, and until the page knows. */
async function endSession(page: Page): Promise<void> {
  const response = await page.request.delete(`${gateway.url}/ui/session`, {
    headers: { origin: gateway.url, 'x-polygate-ui': '1' },
  });
  assert.ok(response.ok());
  await look(page);
  await page.getByLabel(/API key/).waitFor();
}
