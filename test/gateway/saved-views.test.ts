/** Saved views over HTTP: shared by operators, apart for each key, within bounds, by the roles of sessions. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { problems } from '../../src/core/json/check.ts';
import type { Json } from '../../src/core/json/json.ts';
import { oneView, viewList } from '../../src/http/admin/schema.ts';
import { createLoginCode } from '../../src/http/sessions/login-code.ts';
import type { Store } from '../../src/store/store.ts';
import { type Browser, openBrowser } from './browser.ts';
import { KEY, sendRaw, startTestGateway, type TestGateway } from './harness.ts';

const TOKEN = 'admin-token-0123456789-0123456789';
const OTHER_KEY = 'sk-other-gateway-key-0123456789';
const READER_KEY = 'sk-reader-gateway-key-0123456789';
const ADMIN = '/admin/v1/views';
const SELF = '/v1/self/views';
const VIEW = { name: 'Teams', address: '/use?by=tag:team' };

let gateway: TestGateway;
let store: Store;

before(async () => {
  gateway = await startTestGateway(`admin: { token: ${TOKEN}, port: 0 }`, {
    keys: [`{ name: other, key: ${OTHER_KEY} }`, `{ name: reader, key: ${READER_KEY}, read_only: true }`],
    wrapStore: (opened) => (store = opened),
  });
});
after(() => gateway.close());

async function send(method: string, path: string, body?: Json, credential = TOKEN) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const { status, text: answer } = await sendRaw(credential === TOKEN ? gateway.adminUrl : gateway.url, {
    ...{ method, path },
    headers: {
      authorization: `Bearer ${credential}`,
      ...(text !== undefined && { 'content-length': String(Buffer.byteLength(text)) }),
    },
    body: text,
  });
  return { status, json: JSON.parse(answer) };
}

async function sessionOf(role: 'admin' | 'viewer' | 'key'): Promise<Browser> {
  const browser = openBrowser(gateway.url);
  const author = { actor: 'command line' } as const;
  const code = role === 'key' ? '' : (await createLoginCode(store, { role, author, now: Date.now() })).code;
  assert.equal((await browser.login(role === 'key' ? { key: KEY } : { code })).status, 201);
  return browser;
}

describe('saved views', () => {
  test('are made, listed, replaced and deleted', async () => {
    const made = await send('PUT', `${ADMIN}/teams`, VIEW);
    assert.equal(made.status, 200);
    assert.deepEqual(problems(oneView, made.json), []);
    const { updated_at, ...rest } = made.json.data;
    assert.deepEqual([rest, Number.isFinite(Date.parse(updated_at))], [{ id: 'teams', ...VIEW }, true]);
    const list = await send('GET', ADMIN);
    assert.deepEqual(problems(viewList, list.json), []);
    assert.deepEqual(list.json.data, [made.json.data]);
    await send('PUT', `${ADMIN}/teams`, { ...VIEW, name: 'All teams' });
    assert.equal((await send('GET', `${ADMIN}/teams`)).json.data.name, 'All teams');
    assert.deepEqual((await send('DELETE', `${ADMIN}/teams`)).json, { deleted: true });
    assert.deepEqual(
      [(await send('GET', `${ADMIN}/teams`)).status, (await send('DELETE', `${ADMIN}/teams`)).status],
      [404, 404],
    );
  });

  test('of a key are its own', async () => {
    assert.equal((await send('PUT', `${SELF}/one`, VIEW, KEY)).status, 200);
    await send('PUT', `${ADMIN}/two`, VIEW);
    const ids = async (path: string, credential: string) =>
      (await send('GET', path, undefined, credential)).json.data.map(({ id }: Json) => id);
    assert.deepEqual(
      [await ids(SELF, KEY), await ids(SELF, OTHER_KEY), await ids(ADMIN, TOKEN)],
      [['one'], [], ['two']],
    );
    assert.equal((await send('GET', `${SELF}/one`, undefined, KEY)).json.data.name, VIEW.name);
    for (const method of ['GET', 'DELETE'])
      assert.equal((await send(method, `${SELF}/one`, undefined, OTHER_KEY)).status, 404);
    assert.equal((await send('PUT', `${SELF}/one`, VIEW, READER_KEY)).status, 403);
    assert.equal((await send('DELETE', `${SELF}/one`, undefined, KEY)).status, 200);
    await send('DELETE', `${ADMIN}/two`);
  });

  test('of a key go with it', async () => {
    const { data, key } = (await send('POST', '/admin/v1/keys', { name: 'leaves' })).json;
    assert.equal((await send('PUT', `${SELF}/one`, VIEW, key)).status, 200);
    const views = () => store.call('listSavedViews', { owner: data.hash });
    assert.equal((await views()).length, 1);
    assert.equal((await send('DELETE', `/admin/v1/keys/${data.hash}`)).status, 200);
    assert.deepEqual(await views(), []);
  });

  test('are refused by the name of the field', async () => {
    const wrong: [path: string, body: Json, param: string][] = [
      ['id', {}, 'name'],
      ['id', { ...VIEW, name: '' }, 'name'],
      ['id', { ...VIEW, name: ' Teams' }, 'name'],
      ['id', { ...VIEW, name: 'a\u0000b' }, 'name'],
      ['id', { ...VIEW, name: 'a\nb' }, 'name'],
      ['id', { ...VIEW, name: 'x'.repeat(61) }, 'name'],
      ['id', { ...VIEW, address: '//evil.example' }, 'address'],
      ['id', { ...VIEW, address: 'https://evil.example' }, 'address'],
      ['id', { ...VIEW, address: '/use#code=x' }, 'address'],
      ['id', { ...VIEW, address: '/use?\u0000' }, 'address'],
      ['id', { ...VIEW, address: `/use?${'x'.repeat(2000)}` }, 'address'],
      ['id', { ...VIEW, more: 1 }, 'more'],
      ['i%20d', VIEW, 'id'],
      ['x'.repeat(65), VIEW, 'id'],
    ];
    for (const [id, body, param] of wrong) {
      for (const [base, credential] of [
        [ADMIN, TOKEN],
        [SELF, KEY],
      ] as const) {
        const { status, json } = await send('PUT', `${base}/${id}`, body, credential);
        assert.deepEqual([status, json.error.param], [400, param], `${base} ${id} ${JSON.stringify(body)}`);
      }
    }
    assert.equal((await send('PUT', `${SELF}/id`, undefined, KEY)).status, 400);
    await send('PUT', `${ADMIN}/one`, { ...VIEW, name: 'Ω'.repeat(60) });
    const twice = await send('PUT', `${ADMIN}/two`, { ...VIEW, name: 'Ω'.repeat(60) });
    assert.deepEqual([twice.status, twice.json.error.param], [400, 'name']);
    await send('DELETE', `${ADMIN}/one`);
  });

  test('are changed by sessions of admins and keys, and read by those of viewers', async () => {
    const [admin, viewer, holder] = await Promise.all([sessionOf('admin'), sessionOf('viewer'), sessionOf('key')]);
    assert.equal((await admin.send('PUT', `${ADMIN}/one`, { body: VIEW })).status, 200);
    assert.equal((await viewer.send('GET', ADMIN)).json.data.length, 1);
    assert.equal((await viewer.send('PUT', `${ADMIN}/one`, { body: VIEW })).status, 403);
    assert.equal((await viewer.send('DELETE', `${ADMIN}/one`)).status, 403);
    for (const method of ['GET', 'DELETE']) assert.equal((await holder.send(method, `${ADMIN}/one`)).status, 403);
    assert.equal((await holder.send('PUT', `${SELF}/one`, { body: VIEW })).status, 200);
    assert.equal((await holder.send('GET', SELF)).json.data.length, 1);
    const foreign = { body: VIEW, headers: { origin: 'https://evil.example' } };
    assert.equal((await admin.send('PUT', `${ADMIN}/two`, foreign)).status, 403);
    assert.equal((await admin.send('GET', ADMIN)).json.data.length, 1);
  });
});
