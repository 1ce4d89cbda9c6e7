/** Models at an address for operators alone: listed and called by their sessions, and by nothing else. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { createLoginCode } from '../../src/http/sessions/login-code.ts';
import type { Store } from '../../src/store/store.ts';
import { type Browser, openBrowser } from './browser.ts';
import { KEY, sendRaw, startTestGateway, type TestGateway } from './harness.ts';

const TOKEN = 'admin-token-0123456789-0123456789';
const PUBLIC_URL = 'https://gw.example.com';
const OTHER_KEY = 'sk-test-of-other-addresses-0123456789';
const LIST = '/v1/models';
/** A call in each protocol. */
const CALLS: Record<string, Json> = {
  '/v1/chat/completions': { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] },
  '/anthropic/v1/messages': { model: 'sandbox/echo', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] },
  '/gemini/v1beta/models/sandbox/echo:generateContent': { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  '/v1/responses': { model: 'sandbox/echo', input: 'Hello', store: false },
};
const HEADERS = { 'anthropic-version': '2023-06-01' };

let gateway: TestGateway;
let store: Store;
let hash: string;

before(async () => {
  const yaml = `admin: { token: ${TOKEN}, port: 0 }\nserver: { public_url: ${PUBLIC_URL} }`;
  gateway = await startTestGateway(yaml, {
    keys: [`{ name: elsewhere, key: ${OTHER_KEY}, cidrs: [192.0.2.0/24] }`],
    wrapStore(opened) {
      store = opened;
      return opened;
    },
  });
  hash = await hashOf('test');
});
after(() => gateway.close());

async function signIn(role: 'admin' | 'viewer'): Promise<Browser> {
  const { code } = await createLoginCode(store, { role, author: { actor: 'command line' }, now: Date.now() });
  const browser = openBrowser(gateway.adminUrl);
  assert.equal((await browser.login({ code })).status, 201);
  return browser;
}

async function hashOf(name: string): Promise<string> {
  const { json } = await (await signIn('admin')).send('GET', '/admin/v1/keys');
  return json.data.find((key: Json) => key.name === name).hash;
}

describe('at the address of operators', () => {
  test('an admin calls models in every protocol as a key, with its limits and records', async () => {
    const admin = await signIn('admin');
    for (const [path, body] of Object.entries(CALLS)) {
      const headers = { ...HEADERS, 'x-polygate-key': hash, 'x-polygate-capture': '1' };
      const answer = await admin.send('POST', path, { body, headers });
      assert.equal(answer.status, 200, `${path} ${answer.text}`);
      const id = answer.headers['x-polygate-request-id'];
      const seen = await admin.send('GET', `/admin/v1/requests/${id}`);
      assert.deepEqual([seen.status, seen.json.data.key_hash], [200, hash], path);
      const capture = await admin.send('GET', `/admin/v1/captures/${answer.headers['x-polygate-capture']}`);
      assert.equal(capture.status, 200, path);
    }
  });

  test('an admin asks for a video as a key, and nobody else does', async () => {
    const admin = await signIn('admin');
    const models = await admin.send('GET', '/v1/videos/models');
    assert.ok(models.json.data.some(({ id }: Json) => id === 'sandbox/video'));
    const body = { model: 'sandbox/video', prompt: 'A kite', seconds: 1, resolution: '480p' };
    const made = await admin.send('POST', '/v1/videos', { body, headers: { 'x-polygate-key': hash } });
    assert.equal(made.status, 202, made.text);
    const { json } = await admin.send('GET', `/admin/v1/videos/${made.json.id}`);
    assert.deepEqual([json.data.prompt, json.data.key], ['A kite', hash]);
    assert.equal((await admin.send('POST', '/v1/videos', { body })).status, 403, 'without a key that pays');
    const named = { headers: { 'x-polygate-key': hash }, body };
    assert.equal((await (await signIn('viewer')).send('POST', '/v1/videos', named)).status, 403);
    assert.equal((await send('/v1/videos', { authorization: `Bearer ${KEY}` }, body)).status, 401);
    assert.equal((await send('/v1/videos', { authorization: `Bearer ${TOKEN}` }, body)).status, 403);
  });

  test('a call names an active key, whose allowed addresses count', async () => {
    const admin = await signIn('admin');
    const call = (headers: Record<string, string>) =>
      admin.send('POST', '/v1/chat/completions', { body: CALLS['/v1/chat/completions'], headers });
    const unnamed = await call({});
    assert.deepEqual([unnamed.status, unnamed.json.error.param], [403, 'x-polygate-key']);
    assert.equal((await call({ 'x-polygate-key': await hashOf('elsewhere') })).status, 403);
  });

  test('a body is as large as at the address of clients, and one of the admin API is not', async () => {
    const admin = await signIn('admin');
    const content = 'x'.repeat(300_000);
    const body = { model: 'sandbox/echo', messages: [{ role: 'user', content }] };
    const headers = { 'x-polygate-key': hash };
    assert.equal((await admin.send('POST', '/v1/chat/completions', { body, headers })).status, 200);
    assert.equal((await admin.send('POST', '/admin/v1/keys', { body: { name: content } })).status, 413);
  });

  test('operators list models, by session and by token', async () => {
    for (const role of ['admin', 'viewer'] as const) {
      const { status, json } = await (await signIn(role)).send('GET', LIST);
      assert.equal(status, 200);
      assert.ok(json.data.some(({ id }: Json) => id === 'sandbox/echo'));
      assert.equal((await (await signIn(role)).send('GET', '/openapi.json')).status, 200);
    }
    assert.equal((await send(LIST, { authorization: `Bearer ${TOKEN}` })).status, 200);
  });

  test('a viewer calls no model, and neither does a page of another origin', async () => {
    for (const [path, body] of Object.entries(CALLS)) {
      const headers = { ...HEADERS, 'x-polygate-key': hash };
      assert.equal((await (await signIn('viewer')).send('POST', path, { body, headers })).status, 403, path);
      const admin = await signIn('admin');
      for (const foreign of [{ origin: 'https://evil.example' }, { 'x-polygate-ui': undefined }]) {
        assert.equal((await admin.send('POST', path, { body, headers: { ...headers, ...foreign } })).status, 403, path);
      }
    }
  });

  test('no key is accepted, in any header or parameter, and the token calls no model', async () => {
    for (const [path, body] of Object.entries(CALLS)) {
      const refused = { ...HEADERS, 'x-polygate-key': hash };
      for (const [name, value] of [
        ['authorization', `Bearer ${KEY}`],
        ['x-api-key', KEY],
        ['x-goog-api-key', KEY],
      ] as const) {
        assert.equal((await send(path, { ...refused, [name]: value }, body)).status, 401, path);
      }
      assert.equal((await send(`${path}?key=${KEY}`, refused, body)).status, 401, path);
      assert.equal((await send(path, { ...refused, authorization: `Bearer ${TOKEN}` }, body)).status, 403, path);
      assert.equal((await send(path, refused, body)).status, 401, path);
    }
    for (const path of [LIST, '/anthropic/v1/models', '/gemini/v1beta/models', '/openapi.json']) {
      assert.equal((await send(path, { 'x-api-key': KEY })).status, 401, path);
      assert.equal((await send(path, {})).status, 401, path);
    }
  });

  test('a key has no session, also with the cookie of one that it opened at the address of clients', async () => {
    const refused = await openBrowser(gateway.adminUrl).login({ key: KEY });
    assert.deepEqual([refused.status, refused.json.error.param], [403, 'key']);
    const plain = await startTestGateway(`admin: { token: ${TOKEN}, port: 0 }`);
    try {
      const holder = openBrowser(plain.url);
      assert.equal((await holder.login({ key: KEY })).status, 201);
      const there = openBrowser(plain.adminUrl);
      there.cookie = holder.cookie;
      assert.equal((await there.send('GET', '/ui/session')).json.data.role, 'nobody');
      assert.equal((await there.send('GET', LIST)).status, 401);
      const body = CALLS['/v1/chat/completions'];
      assert.equal((await there.send('POST', '/v1/chat/completions', { body })).status, 401);
    } finally {
      await plain.close();
    }
  });

  test('nothing else of keys is there: own videos, stored responses, own requests', async () => {
    const admin = await signIn('admin');
    for (const path of ['/v1/videos', '/v1/responses/resp_1', '/v1/self/requests', '/v1/key', '/metrics']) {
      const { status } = await admin.send('GET', path);
      assert.ok(status === 404 || status === 405, `${path} ${status}`);
    }
  });

  test('the session tells the address of clients', async () => {
    const { json } = await (await signIn('admin')).send('GET', '/ui/session');
    assert.deepEqual([json.data.serves_keys, json.data.clients_url], [false, PUBLIC_URL]);
    const plain = await startTestGateway(`admin: { token: ${TOKEN}, port: 0 }`);
    try {
      const { json: local } = await openBrowser(plain.adminUrl).send('GET', '/ui/session');
      assert.equal(local.data.clients_url, plain.url);
    } finally {
      await plain.close();
    }
  });

  test('there are no models where the dashboard is off', async () => {
    const off = await startTestGateway(`admin: { token: ${TOKEN}, port: 0 }\nui: { enabled: false }`);
    try {
      const { status } = await sendRaw(off.adminUrl, {
        method: 'GET',
        path: LIST,
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      assert.equal(status, 404);
    } finally {
      await off.close();
    }
  });
});

function send(path: string, headers: Record<string, string>, body?: Json) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const own: Record<string, string> =
    text === undefined ? {} : { 'content-type': 'application/json', 'content-length': `${text.length}` };
  return sendRaw(gateway.adminUrl, {
    method: body ? 'POST' : 'GET',
    path,
    headers: { ...own, ...headers },
    body: text,
  });
}
