/** What pages show and do, as commands and calls to be copied: their texts, and that they run. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import { KEY, type TestGateway } from '../../test/gateway/harness.ts';
import { createVideoClock, eventually, videoClient } from '../../test/gateway/video-client.ts';
import { startReceiver } from '../../test/webhooks/receiver.ts';
import {
  adminOf,
  ask,
  assertFits,
  assertSound,
  openBrowser,
  signInAsAdmin,
  signInWithKey,
  startGatewayForOperators,
  startGatewayWithPages,
  TOKEN,
  visit,
} from './browser.ts';

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, '../../src/main.ts');

const CA = join(import.meta.dirname, '../../test/net/fixtures/test-only-ca.pem');
const CALLBACKS = `callbacks: { secret: whsec_c2VjcmV0IG9mIHRoaXMgdGVzdCBmaWxlIG9ubHkhISE=, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`;

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  [browser, gateway] = await Promise.all([openBrowser(), startGatewayForOperators(CALLBACKS)]);
  await ask(gateway, KEY, 'sandbox/echo', { 'x-session-id': 'paper-boats' });
});
after(() => Promise.all([browser.close(), gateway.close()]));

/** Output of a text in a shell, in which `polygate` is the program of this folder with the configuration of the gateway. */
async function inShell(text: string): Promise<string> {
  const config = join(gateway.folder, 'copied.yaml');
  writeFileSync(config, `data: ${gateway.folder}\n`);
  const line = text.startsWith('polygate ')
    ? `${process.execPath} ${MAIN} ${text.slice('polygate '.length)}`
    : text.replace(/^curl /, 'curl -sS --fail-with-body ');
  const env = { ...process.env, POLYGATE_ADMIN_TOKEN: TOKEN, POLYGATE_KEY: KEY, POLYGATE_CONFIG: config };
  return (await run('sh', ['-c', line], { env })).stdout;
}

/** Texts of the dialog, the call last. */
async function copiesOf(
  page: Page,
  place: Locator = page.getByRole('main'),
): Promise<{ texts: string[]; note: string }> {
  await place.getByRole('button', { name: 'Copy as' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'The same in a terminal' });
  await dialog.locator('pre').first().waitFor();
  const texts = await dialog.locator('pre').allInnerTexts();
  const note = await dialog.locator('p.text-dim').allInnerTexts();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  return { texts, note: note.join(' ') };
}

const calledPath = (curl = '') => /^curl (?:-X \w+ )?'?https?:\/\/[^/]+([^' ]+)/.exec(curl)?.[1];

test('lists of operators are calls, and commands where there are such', async () => {
  const visitor = await signInAsAdmin(browser, gateway);
  const { page } = visitor;
  const cases: [path: string, command: string | undefined, call: string, note: RegExp][] = [
    ['models?provider=sandbox', 'polygate models --provider sandbox', '/admin/v1/models?provider=sandbox', /^$/],
    ['models?find=echo', 'polygate models', '/admin/v1/models', /no other filters/],
    [
      'videos?status=failed&key=config:test',
      'polygate videos list --status failed',
      '/admin/v1/videos?status=failed&key=config%3Atest',
      /no filter for a key/,
    ],
    ['webhooks?state=exhausted', undefined, '/admin/v1/deliveries?state=exhausted', /^$/],
    ['requests?view=sessions&model=sandbox/echo', undefined, '/admin/v1/requests/sessions?model=sandbox%2Fecho', /^$/],
    ['tags?find=team', 'polygate tags list', '/admin/v1/tags?search=team', /lists all tags/],
    ['settings', undefined, '/admin/v1/sessions', /^$/],
    ['health', 'polygate top --once', '/admin/v1/health/endpoints', /last five minutes/],
  ];
  for (const [path, command, call, note] of cases) {
    await page.goto(`${gateway.url}/ui/${path}`);
    const copies = await copiesOf(page);
    assert.deepEqual(
      [copies.texts.length === 2 ? copies.texts[0] : undefined, calledPath(copies.texts.at(-1))],
      [command, call],
    );
    assert.match(copies.note, note);
    const { data } = JSON.parse(await inShell(copies.texts.at(-1) ?? ''));
    assert.ok(Array.isArray(data), call);
    if (path.startsWith('models?p')) assert.match(await inShell(copies.texts[0] ?? ''), /sandbox\/echo/);
  }
  await assertSound(visitor);
});

test('a request, and the own key with its use, are calls', async () => {
  const { data } = await adminOf(gateway)('GET', '/requests?limit=1');
  const [{ id }] = data;
  const { page } = await signInAsAdmin(browser, gateway, `/ui/requests?open=${id}`);
  const copied = await copiesOf(page, page.getByRole('dialog', { name: 'Request' }));
  assert.equal(JSON.parse(await inShell(copied.texts[0] ?? '')).data.id, id);

  const holder = (await visit(browser, `${gateway.url}/ui/key`)).page;
  await holder.getByLabel(/API key/).fill(KEY);
  await holder.keyboard.press('Enter');
  const use = await copiesOf(holder, holder.getByRole('region', { name: 'By model' }));
  assert.match(calledPath(use.texts[0]) ?? '', /^\/v1\/self\/usage\?from=.*&by=hour%2Cmodel/);
  assert.ok(JSON.parse(await inShell(use.texts[0] ?? '')).total.requests >= 4);
  const facts = await copiesOf(holder, holder.getByRole('region', { name: 'Limits' }));
  assert.equal(JSON.parse(await inShell(facts.texts[0] ?? '')).data.name, 'test');
});

for (const [theme, width] of [
  ['light', 1280],
  ['dark', 360],
] as const) {
  test(`what is done to a key is a command and a call that do it, ${theme}, ${width} wide`, async () => {
    const name = `ci ${width}`;
    const admin = adminOf(gateway);
    const { hash } = (await admin('POST', '/keys', { name })).data;
    const visitor = await signInAsAdmin(browser, gateway, `/ui/keys?open=${hash}`, { theme, width });
    const { page } = visitor;
    const panel = page.getByRole('dialog', { name, exact: true });
    const same = async (action: string, title: string) => {
      await panel.getByRole('button', { name: action }).click();
      const dialog = page.getByRole('dialog', { name: `${title} ${name}` });
      const part = dialog.getByRole('region', { name: 'The same as' });
      const command = await part.locator('pre').innerText();
      await part.getByRole('button', { name: 'API' }).click();
      const call = await part.locator('pre').innerText();
      await assertSound(visitor);
      await assertFits(page);
      return { dialog, command, call };
    };
    const rotation = await same('Rotate …', 'Rotate');
    assert.equal(rotation.command, `polygate keys rotate 'ci ${width}' --overlap 24h`);
    await rotation.dialog.getByLabel(/^Hours/).fill('1.5');
    await rotation.dialog.getByText('{"overlap":5400}').waitFor();
    await page.keyboard.press('Escape');
    const disabling = await same('Disable …', 'Disable');
    assert.equal(disabling.command, `polygate keys disable 'ci ${width}'`);
    await disabling.dialog.getByRole('button', { name: 'Disable the key' }).click();
    const enabling = await same('Enable …', 'Enable');
    assert.equal(enabling.command, `polygate keys enable 'ci ${width}'`);
    await page.keyboard.press('Escape');
    const revocation = await same('Revoke …', 'Revoke');
    assert.equal(revocation.command, `polygate keys revoke 'ci ${width}'`);
    if (theme === 'dark') return;

    const stateOf = async () => (await admin('GET', `/keys/${hash}`)).data.state;
    assert.match(JSON.parse(await inShell(rotation.call)).key, /^sk-/);
    await inShell(enabling.call);
    assert.equal(await stateOf(), 'active');
    await inShell(disabling.call);
    assert.equal(await stateOf(), 'disabled');
    // The store of the command is the gateway's.
    await inShell(enabling.command);
    assert.match(await inShell(`polygate keys show 'ci ${width}' --json`), /"state": ?"active"/);
    await inShell(revocation.call);
    assert.equal(await stateOf(), 'revoked');
  });
}

test('limits of a tag are a call that sets them, and one that removes them', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/tags?edit=true');
  const { page } = visitor;
  const form = page.getByRole('dialog', { name: 'Limit a tag' });
  await form.getByLabel('Tag', { exact: true }).fill('team=copies');
  await form.getByLabel('Requests/min').fill('60');
  const part = form.getByRole('region', { name: 'The same as' });
  await part.getByRole('button', { name: 'API' }).click();
  await inShell(await part.locator('pre').innerText());
  await page.goto(`${gateway.url}/ui/tags?open=team%3Dcopies`);
  const panel = page.getByRole('dialog', { name: 'team=copies' });
  await panel.getByText('60', { exact: true }).waitFor();
  await panel.getByRole('button', { name: 'Remove …' }).click();
  const removal = page.getByRole('dialog', { name: 'Remove the limits of team=copies' });
  const same = removal.getByRole('region', { name: 'The same as' });
  assert.equal(await same.locator('pre').innerText(), 'polygate tags remove team=copies');
  await same.getByRole('button', { name: 'API' }).click();
  await inShell(await same.locator('pre').innerText());
  assert.equal((await adminOf(gateway)('GET', '/tags/team=copies')).data.origin, null);
  await assertSound(visitor);
});

test('several keys are a call and a command that make them, from names and from CSV', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/keys?create=several');
  const { page } = visitor;
  const form = page.getByRole('dialog', { name: 'Create several keys' });
  await form.getByLabel(/Names or CSV/).fill("ana's laptop\nben");
  const named = await copiesOf(page, form);
  await assertSound(visitor);
  const made = JSON.parse(await inShell(named.texts[1] ?? ''));
  assert.deepEqual(
    made.data.map(({ data }: { data: { name: string } }) => data.name),
    ["ana's laptop", 'ben'],
  );
  await form.getByLabel(/Names or CSV/).fill('name,owner\ncleo,Cleo $HOME\ndora,Dora');
  const listed = await copiesOf(page, form);
  assert.equal(calledPath(listed.texts[1]), '/admin/v1/keys/bulk');
  assert.match(await inShell(listed.texts[0] ?? ''), /cleo,.*sk-/);
  const { data } = await adminOf(gateway)('GET', '/keys?name=cleo');
  assert.equal(data[0].owner, 'Cleo $HOME');
});

test('a video is a call with a key, for operators too, and a webhook that is sent again is one', async () => {
  const receiver = await startReceiver();
  try {
    const visitor = await signInAsAdmin(browser, gateway, '/ui/videos');
    const { page } = visitor;
    await page.getByRole('button', { name: 'Ask for a video' }).click();
    const form = page.getByRole('dialog', { name: 'Ask for a video' });
    await form.getByLabel('Prompt').fill("A paper boat, and it's raining");
    await form.getByLabel('Seconds').fill('1');
    await form.getByLabel('More fields, as JSON').fill('{');
    assert.equal(await form.getByRole('button', { name: 'Copy as' }).count(), 0);
    const callback = `https://127.0.0.1:${receiver.port}/hook`;
    await form.getByLabel('More fields, as JSON').fill(JSON.stringify({ callback_url: callback }));
    const { texts, note } = await copiesOf(page, form);
    assert.match(note, /key that pays/);
    const { id } = JSON.parse(await inShell(texts[0] ?? ''));
    await eventually(gateway, () => receiver.received.some(({ body }) => body.includes(id)));
    assert.equal(
      (await videoClient(gateway).send('GET', `/v1/videos/${id}`)).body.prompt,
      "A paper boat, and it's raining",
    );

    await page.goto(`${gateway.url}/ui/webhooks?open=${id}`);
    const before = receiver.received.length;
    const { texts: opened } = await copiesOf(page, page.getByRole('dialog'));
    assert.deepEqual(opened.map(calledPath), [
      `/admin/v1/deliveries/${id}`,
      `/admin/v1/deliveries/${id}/body`,
      `/admin/v1/deliveries/${id}/replay`,
    ]);
    assert.equal(JSON.parse(await inShell(opened[0] ?? '')).data.task_id, id);
    assert.match(JSON.parse(await inShell(opened[1] ?? '')).data.body, new RegExp(id));
    await inShell(opened[2] ?? '');
    await eventually(gateway, () => receiver.received.length > before);

    await page.goto(`${gateway.url}/ui/videos?open=${id}`);
    const { texts: video } = await copiesOf(page, page.getByRole('dialog'));
    assert.match(await inShell(video[0] ?? ''), new RegExp(id));
    assert.equal(JSON.parse(await inShell(video[1] ?? '')).data.id, id);
    await inShell(video[2] ?? '');
    assert.equal((await videoClient(gateway).send('GET', `/v1/videos/${id}`)).status, 404);
    await assertSound(visitor);
  } finally {
    await receiver.close();
  }
});

test('an open video is a call with a key and one that cancels it', async () => {
  // Its clock stands still, so that the video stays open.
  const own = await startGatewayWithPages('', { clock: createVideoClock() });
  try {
    const { send, create } = videoClient(own);
    const { id } = await create();
    const { page } = await signInWithKey(browser, own, KEY, `/ui/videos?open=${id}`);
    const { texts } = await copiesOf(page, page.getByRole('dialog'));
    assert.deepEqual(texts.map(calledPath), [`/v1/videos/${id}`, `/v1/videos/${id}/cancel`]);
    assert.equal(JSON.parse(await inShell(texts[0] ?? '')).id, id);
    await inShell(texts[1] ?? '');
    const { status, cancel_requested: isAsked } = (await send('GET', `/v1/videos/${id}`)).body;
    assert.ok(status === 'cancelled' || isAsked, status);
  } finally {
    await own.close();
  }
});

test('the audit log, the store, the test of a provider and saved views are calls', async () => {
  const visitor = await signInAsAdmin(browser, gateway, '/ui/settings?find=session');
  const { page } = visitor;
  const log = await copiesOf(page, page.getByRole('region', { name: 'Audit log' }));
  assert.deepEqual([log.texts[0], calledPath(log.texts[1])], ['polygate audit', '/admin/v1/audit?search=session']);
  assert.match(log.note, /no search/);
  assert.match(await inShell(log.texts[0] ?? ''), /session\.open/);
  assert.match(JSON.parse(await inShell(log.texts[1] ?? '')).data[0].action, /^session/);

  await adminOf(gateway)('PUT', '/views/copied', { name: 'Copied', address: '/use' });
  await page.reload();
  const views = page.getByRole('region', { name: 'Saved views' });
  const list = await copiesOf(page, views);
  assert.equal(JSON.parse(await inShell(list.texts[0] ?? '')).data[0].id, 'copied');
  const deletion = await copiesOf(page, views.getByRole('row', { name: /^Copied/ }));
  assert.deepEqual(JSON.parse(await inShell(deletion.texts[0] ?? '')), { deleted: true });
  await assertSound(visitor);

  await page.goto(`${gateway.url}/ui/health?open=sandbox%2Fecho`);
  const endpoint = page.getByRole('dialog', { name: 'sandbox/echo' });
  await endpoint.getByRole('button', { name: 'Test sandbox' }).click();
  await endpoint.getByText(/It answers: \d+ models/).waitFor();
  const ofTest = await copiesOf(page, endpoint);
  assert.equal(JSON.parse(await inShell(ofTest.texts[0] ?? '')).data.ok, true);
  await assertSound(visitor);
  await page.goto(`${gateway.url}/ui/health`);
  const store = await copiesOf(page, page.getByRole('region', { name: 'Store' }));
  assert.equal(JSON.parse(await inShell(store.texts[0] ?? '')).data.writable, true);

  await page.goto(`${gateway.url}/ui/setup`);
  const inSetup = await copiesOf(page, page.getByRole('listitem').filter({ hasText: /^sandbox/ }));
  assert.deepEqual(inSetup.texts, ofTest.texts);
});

test('the end of a session is a call of operators, and one of its key', async () => {
  const admin = adminOf(gateway);
  const made = await admin('POST', '/keys', { name: 'left open' });
  const visits = [
    await signInWithKey(browser, gateway, made.key, '/ui/settings'),
    await signInWithKey(browser, gateway, made.key, '/ui/settings'),
  ] as const;
  const own = visits[0].page.getByRole('region', { name: 'Sessions', exact: true });
  const list = await copiesOf(visits[0].page, own);
  assert.equal(calledPath(list.texts[0]), '/v1/self/sessions');
  const { texts } = await copiesOf(visits[0].page, own.getByRole('row', { name: /this one/ }));
  assert.match(calledPath(texts[0]) ?? '', /^\/v1\/self\/sessions\/./);
  const withKey = texts[0]?.replace('$POLYGATE_KEY', made.key) ?? '';
  assert.deepEqual(JSON.parse(await inShell(withKey)), { deleted: true });
  await visits[0].page.reload();
  await visits[0].page.getByLabel(/API key/).waitFor();

  const { page } = await signInAsAdmin(browser, gateway, '/ui/settings');
  const row = page.getByRole('row', { name: /^key left open/ });
  const ofAdmin = await copiesOf(page, row);
  await inShell(ofAdmin.texts[0] ?? '');
  await visits[1].page.reload();
  await visits[1].page.getByLabel(/API key/).waitFor();
});
