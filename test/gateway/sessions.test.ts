/** Sessions of the dashboard over HTTP: how they are opened, what each role may do, what other pages may not, when they end. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { createLoginCode } from '../../src/http/sessions/login-code.ts';
import type { Store } from '../../src/store/store.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { type Browser, openBrowser } from './browser.ts';
import { KEY, question, sendRaw, startTestGateway, type TestGateway } from './harness.ts';

const TOKEN = 'admin-token-0123456789-0123456789';
const HOUR_MS = 3_600_000;

interface SessionGateway extends TestGateway {
  clock: ManualClock;
  code(role?: 'admin' | 'viewer'): Promise<string>;
  /** Resolves once the store has written everything that it was asked for before. */
  written(): Promise<void>;
}

async function startSessionGateway(yaml = ''): Promise<SessionGateway> {
  let store: Store | undefined;
  const clock = createManualClock(Date.now());
  const gateway = await startTestGateway(`admin: { token: ${TOKEN}, port: 0 }\n${yaml}`, {
    clock,
    wrapStore(opened) {
      store = opened;
      return opened;
    },
  });
  async function code(role: 'admin' | 'viewer' = 'admin'): Promise<string> {
    const author = { actor: 'command line' } as const;
    return (await createLoginCode(store as Store, { role, author, now: clock.now() })).code;
  }
  async function written(): Promise<void> {
    await (store as Store).call('touchSession', { digest: '', now: clock.now() });
  }
  return Object.assign(gateway, { clock, code, written });
}

async function browserOf(gateway: SessionGateway, role: 'admin' | 'viewer' | 'key'): Promise<Browser> {
  const browser = openBrowser(gateway.url);
  const { status } = await browser.login(role === 'key' ? { key: KEY } : { code: await gateway.code(role) });
  assert.equal(status, 201);
  return browser;
}

let gateway: SessionGateway;
before(async () => {
  gateway = await startSessionGateway();
});
after(() => gateway.close());

describe('a session', () => {
  test('is opened by a code, once', async () => {
    const browser = openBrowser(gateway.url);
    const code = await gateway.code();
    const { status, json, headers } = await browser.login({ code });
    assert.equal(status, 201);
    assert.match(
      String(headers['set-cookie']),
      /^polygate=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    );
    const { id, opened_at, ends_at, admin_url, ...rest } = json.data;
    assert.equal(admin_url, gateway.adminUrl || null);
    assert.deepEqual(rest, {
      role: 'admin',
      key: null,
      serves_operators: true,
      serves_keys: true,
      clients_url: null,
    });
    assert.equal(Date.parse(ends_at) - Date.parse(opened_at), 12 * HOUR_MS);
    assert.equal((await browser.send('GET', '/ui/session')).json.data.id, id);
    assert.equal((await openBrowser(gateway.url).login({ code })).status, 401);
  });

  test('is not opened by a code after fifteen minutes', async () => {
    const code = await gateway.code();
    gateway.clock.advance(15 * 60_000);
    assert.equal((await openBrowser(gateway.url).login({ code })).status, 401);
  });

  test('is opened by the admin token and by a key', async () => {
    const admin = await openBrowser(gateway.url).login({ token: TOKEN });
    assert.equal(admin.json.data.role, 'admin');
    const own = await openBrowser(gateway.url).login({ key: KEY });
    assert.deepEqual([own.json.data.role, own.json.data.key.name], ['key', 'test']);
  });

  test('is not there for nobody, which is no failure', async () => {
    const { status, json } = await openBrowser(gateway.url).send('GET', '/ui/session');
    assert.deepEqual([status, json.data.role, json.data.id], [200, 'nobody', null]);
  });

  test('has a secret of its own, whatever the browser brings, and replaces the one before', async () => {
    const browser = openBrowser(gateway.url);
    browser.cookie = 'polygate=chosen-by-somebody-else';
    await browser.login({ code: await gateway.code() });
    assert.ok(!browser.cookie.includes('chosen'));
    const before = browser.cookie;
    await browser.login({ code: await gateway.code() });
    assert.notEqual(browser.cookie, before);
    browser.cookie = before;
    assert.equal((await browser.send('GET', '/ui/session')).json.data.role, 'nobody');
  });

  test('opens with one text', async () => {
    for (const body of [{}, { code: 'a', key: 'b' }, { code: 1 }, { password: 'x' }, { code: 'x'.repeat(301) }]) {
      assert.equal((await openBrowser(gateway.url).login(body)).status, 400, JSON.stringify(body));
    }
    const long = await openBrowser(gateway.url).login({ code: 'x'.repeat(5000) });
    assert.equal(long.status, 413);
    const headers = { 'content-length': undefined, 'transfer-encoding': 'chunked' };
    const chunked = await openBrowser(gateway.url).send('POST', '/ui/session', { body: { key: KEY }, headers });
    assert.equal(chunked.status, 413);
  });

  test('is ended by its browser', async () => {
    const browser = await browserOf(gateway, 'admin');
    const ended = await browser.send('DELETE', '/ui/session');
    assert.match(String(ended.headers['set-cookie']), /^polygate=; Path=\/; Max-Age=0;/);
    assert.equal((await browser.send('GET', '/admin/v1/keys')).status, 401);
  });

  test('ends after twelve idle hours, and seven days in all', async () => {
    const browser = await browserOf(gateway, 'admin');
    const role = async () => (await browser.send('GET', '/ui/session')).json.data.role;
    for (let hours = 0; hours < 7 * 24 - 11; hours += 11) {
      assert.equal(await role(), 'admin', `${hours}`);
      await gateway.written();
      gateway.clock.advance(11 * HOUR_MS);
    }
    assert.equal(await role(), 'admin');
    gateway.clock.advance(11 * HOUR_MS);
    assert.equal(await role(), 'nobody');
    const idle = await browserOf(gateway, 'admin');
    gateway.clock.advance(12 * HOUR_MS);
    assert.equal((await idle.send('GET', '/ui/session')).json.data.role, 'nobody');
  });

  test('is seen and ended by an admin, and in the audit log', async () => {
    const [admin, viewer] = [await browserOf(gateway, 'admin'), await browserOf(gateway, 'viewer')];
    const { id } = (await viewer.send('GET', '/ui/session')).json.data;
    const rows: Json[] = (await admin.send('GET', '/admin/v1/sessions')).json.data;
    assert.ok(rows.some((row) => row.id === id && row.role === 'viewer' && !row.current));
    assert.deepEqual(
      (await viewer.send('GET', '/admin/v1/sessions')).json.data.map((row: Json) => row.id),
      [id],
    );
    const { id: own } = (await admin.send('GET', '/ui/session')).json.data;
    assert.equal((await viewer.send('DELETE', `/admin/v1/sessions/${own}`)).status, 403);
    const foreign = { headers: { 'x-polygate-ui': undefined } };
    assert.equal((await admin.send('DELETE', `/admin/v1/sessions/${id}`, foreign)).status, 403);
    assert.deepEqual((await admin.send('DELETE', `/admin/v1/sessions/${id}`)).json, { deleted: true });
    assert.equal((await viewer.send('GET', '/admin/v1/keys')).status, 401);
    const log: Json[] = (await admin.send('GET', '/admin/v1/audit?limit=10')).json.data;
    const actions = log.map(({ action, subject }) => [action, subject]);
    assert.deepEqual(actions.slice(0, 2), [
      ['session.end', id],
      ['session.open', id],
    ]);
    assert.ok(
      log.some(
        ({ action, subject, actor }) => action === 'login.link' && subject === 'viewer' && actor === 'command line',
      ),
    );
  });

  test('is seen and ended with the admin token, without a session', async () => {
    const viewer = await browserOf(gateway, 'viewer');
    const { id } = (await viewer.send('GET', '/ui/session')).json.data;
    const ask = (method: string, path: string, token = TOKEN) =>
      sendRaw(gateway.adminUrl, { method, path, headers: { authorization: `Bearer ${token}` } });
    const { data } = JSON.parse((await ask('GET', '/admin/v1/sessions')).text);
    assert.deepEqual(
      data.filter((row: Json) => row.id === id).map(({ role, current }: Json) => [role, current]),
      [['viewer', false]],
    );
    assert.equal((await ask('DELETE', `/admin/v1/sessions/${id}`, 'wrong')).status, 401);
    assert.equal((await ask('DELETE', `/admin/v1/sessions/${id}`)).status, 200);
    assert.equal((await ask('DELETE', `/admin/v1/sessions/${id}`)).status, 404);
    assert.equal((await viewer.send('GET', '/ui/session')).json.data.role, 'nobody');
    const [last] = JSON.parse((await ask('GET', '/admin/v1/audit?limit=1')).text).data;
    assert.deepEqual([last.actor, last.action, last.subject], ['admin', 'session.end', id]);
  });

  test('makes links that open others', async () => {
    const admin = await browserOf(gateway, 'admin');
    const { status, json } = await admin.send('POST', '/ui/session/links', { body: { role: 'viewer' } });
    assert.equal(status, 201);
    const [, base, code] = /^(.*)\/ui#code=(.*)$/.exec(json.data.url) ?? [];
    assert.equal(base, gateway.url);
    assert.equal((await openBrowser(gateway.url).login({ code })).json.data.role, 'viewer');
  });
});

describe('wrong logins', () => {
  test('are told in the same words, and limited', async () => {
    const own = await startSessionGateway();
    try {
      const messages = new Set<string>();
      for (const name of ['code', 'token', 'key']) {
        const { status, json } = await openBrowser(own.url).login({ [name]: 'sk-wrong-wrong-wrong-wrong' });
        assert.equal(status, 401);
        messages.add(json.error.message);
      }
      assert.equal(messages.size, 1);
      for (let count = 3; count < 30; count++) await openBrowser(own.url).login({ code: `wrong ${count}` });
      const { status, headers } = await openBrowser(own.url).login({ code: 'wrong' });
      assert.deepEqual([status, headers['retry-after']], [429, '2']);
      // Whoever has a right one is let in.
      assert.equal((await openBrowser(own.url).login({ code: await own.code() })).status, 201);
    } finally {
      await own.close();
    }
  });
});

describe('other pages', () => {
  /** Headers of a page of another origin, or of none. */
  const FOREIGN: Record<string, string | undefined>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: undefined },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'x-polygate-ui': undefined },
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
  ];

  for (const headers of FOREIGN) {
    test(`change nothing and log nobody in: ${JSON.stringify(headers)}`, async () => {
      const browser = await browserOf(gateway, 'admin');
      const made = await browser.send('POST', '/admin/v1/keys', { body: { name: 'csrf' }, headers });
      assert.ok([403, 415].includes(made.status), `${made.status}`);
      const code = await gateway.code();
      const opened = await browser.send('POST', '/ui/session', { body: { code }, headers });
      assert.ok([403, 415].includes(opened.status), `${opened.status}`);
      assert.equal((await openBrowser(gateway.url).login({ code })).status, 201);
      const key = await browserOf(gateway, 'key');
      const asked = await key.send('POST', '/v1/chat/completions', {
        body: question('chat', 'sandbox/echo', 'hi'),
        headers,
      });
      assert.ok([403, 415].includes(asked.status), `${asked.status}`);
    });
  }

  test('read nothing', async () => {
    const browser = await browserOf(gateway, 'admin');
    for (const headers of [{ 'sec-fetch-site': 'same-site' }, { origin: 'https://evil.example' }]) {
      assert.equal((await browser.send('GET', '/admin/v1/keys', { headers })).status, 403);
      assert.equal((await browser.send('GET', '/ui/session', { headers })).status, 403);
    }
    assert.equal((await browser.send('GET', '/admin/v1/keys', { headers: { 'sec-fetch-site': 'none' } })).status, 200);
  });

  test('whose name leads here have no session', async () => {
    const browser = await browserOf(gateway, 'admin');
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1']) {
      const headers = { host, origin: `http://${host}` };
      assert.equal((await browser.send('GET', '/admin/v1/keys', { headers })).status, 403, host);
      assert.equal((await browser.send('GET', '/ui/session', { headers })).status, 403, host);
      const opening = { body: { key: KEY }, headers };
      assert.equal((await browser.send('POST', '/ui/session', opening)).status, 403, host);
    }
  });

  test('open no WebSocket with a session', async () => {
    const browser = await browserOf(gateway, 'key');
    const upgrade = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
    const headers = { ...upgrade, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    assert.equal((await browser.send('GET', '/v1/responses', { headers })).status, 401);
  });
});

describe('the session of a key', () => {
  test('uses the gateway as that key, and sees no more than it', async () => {
    const browser = await browserOf(gateway, 'key');
    assert.equal((await browser.send('GET', '/v1/key')).json.data.name, 'test');
    const body = question('chat', 'sandbox/echo', 'hello');
    const { status, json } = await browser.send('POST', '/v1/chat/completions', { body });
    assert.equal(status, 200);
    assert.match(json.choices[0].message.content, /hello/);
    for (const path of ['/admin/v1/keys', '/admin/v1/usage', '/admin/v1/audit']) {
      assert.equal((await browser.send('GET', path)).status, 403, path);
    }
    assert.equal((await browser.send('POST', '/ui/session/links', { body: { role: 'admin' } })).status, 403);
  });

  test('ends with the key, and with the secret that opened it', async () => {
    const admin = await browserOf(gateway, 'admin');
    const make = async (name: string) => (await admin.send('POST', '/admin/v1/keys', { body: { name } })).json;
    const role = async (browser: Browser) => (await browser.send('GET', '/ui/session')).json.data.role;
    const [revoked, rotated] = [await make('revoked'), await make('rotated')];
    const browsers = [openBrowser(gateway.url), openBrowser(gateway.url)] as const;
    await browsers[0].login({ key: revoked.key });
    await browsers[1].login({ key: rotated.key });
    assert.deepEqual([await role(browsers[0]), await role(browsers[1])], ['key', 'key']);
    await admin.send('DELETE', `/admin/v1/keys/${revoked.data.hash}`);
    await admin.send('POST', `/admin/v1/keys/${rotated.data.hash}/rotate`, { body: { overlap: 0 } });
    assert.deepEqual([await role(browsers[0]), await role(browsers[1])], ['nobody', 'nobody']);
  });

  test('is seen and ended with its key, also one that only reads, and with no other', async () => {
    const admin = await browserOf(gateway, 'admin');
    const make = async (name: string) =>
      (await admin.send('POST', '/admin/v1/keys', { body: { name, read_only: true } })).json.key;
    const [own, other] = [await make('reader'), await make('stranger')];
    const browsers = [openBrowser(gateway.url), openBrowser(gateway.url)] as const;
    for (const browser of browsers) await browser.login({ key: own });
    const { id } = (await browsers[0].send('GET', '/ui/session')).json.data;
    const ask = (method: string, path: string, key: string) =>
      sendRaw(gateway.url, { method, path, headers: { authorization: `Bearer ${key}` } });
    const { data, total } = (await browsers[1].send('GET', '/v1/self/sessions')).json;
    assert.deepEqual([data.length, total, data.find((row: Json) => row.current).id !== id], [2, 2, true]);
    assert.deepEqual(JSON.parse((await ask('GET', '/v1/self/sessions', other)).text).data, []);
    const path = `/v1/self/sessions/${id}`;
    assert.equal((await ask('DELETE', path, other)).status, 404);
    assert.equal((await ask('DELETE', path, own)).status, 200);
    assert.equal((await browsers[0].send('GET', '/ui/session')).json.data.role, 'nobody');
    assert.equal((await browsers[1].send('GET', '/ui/session')).json.data.role, 'key');
  });

  test('is for the addresses of the key, and one key has twenty at most', async () => {
    const admin = await browserOf(gateway, 'admin');
    const { key } = (await admin.send('POST', '/admin/v1/keys', { body: { name: 'far', cidrs: ['10.0.0.0/8'] } })).json;
    assert.equal((await openBrowser(gateway.url).login({ key })).status, 403);
    const { key: near } = (await admin.send('POST', '/admin/v1/keys', { body: { name: 'many' } })).json;
    let browser = openBrowser(gateway.url);
    for (let count = 0; count < 22; count++) {
      browser = openBrowser(gateway.url);
      gateway.clock.advance(1);
      await browser.login({ key: near });
    }
    assert.equal((await browser.send('GET', '/v1/self/sessions')).json.data.length, 20);
  });
});

describe('an admin', () => {
  test('asks as a key that the request names', async () => {
    const admin = await browserOf(gateway, 'admin');
    const { data } = (await admin.send('POST', '/admin/v1/keys', { body: { name: 'named' } })).json;
    const as = (hash: string) => admin.send('GET', '/v1/key', { headers: { 'x-polygate-key': hash } });
    assert.equal((await as(data.hash)).json.data.name, 'named');
    assert.equal((await as('named')).status, 403);
    assert.equal((await as('')).status, 403);
    await admin.send('PATCH', `/admin/v1/keys/${data.hash}`, { body: { disabled: true } });
    assert.equal((await as(data.hash)).status, 403);
  });

  test('is the one that the audit log names, each time, when it reads webhook secrets as a key', async () => {
    const admin = await browserOf(gateway, 'admin');
    const { data, key } = (await admin.send('POST', '/admin/v1/keys', { body: { name: 'read as' } })).json;
    const holder = openBrowser(gateway.url);
    await holder.login({ key });
    const headers = { 'x-polygate-key': data.hash };
    assert.equal((await holder.send('GET', '/v1/key/webhook-secret')).status, 200);
    for (let count = 0; count < 2; count++) {
      assert.equal((await admin.send('GET', '/v1/key/webhook-secret', { headers })).status, 200);
    }
    const { json } = await admin.send('GET', `/admin/v1/audit?subject=${data.hash}`);
    const entries = json.data.map(({ actor, action }: Json) => `${actor} ${action}`);
    const read = 'webhook-secret.read';
    assert.deepEqual(entries, [`admin ${read}`, `admin ${read}`, `key ${read}`, 'admin key.create']);
  });
});

describe('a viewer', () => {
  test('reads, but no secrets, and changes nothing', async () => {
    const [admin, viewer] = [await browserOf(gateway, 'admin'), await browserOf(gateway, 'viewer')];
    const { data } = (await admin.send('POST', '/admin/v1/keys', { body: { name: 'looked at' } })).json;
    assert.equal((await viewer.send('GET', `/admin/v1/keys/${data.hash}`)).status, 200);
    assert.equal((await viewer.send('GET', `/admin/v1/keys/${data.hash}/webhook-secret`)).status, 403);
    assert.equal((await viewer.send('POST', '/admin/v1/keys', { body: { name: 'more' } })).status, 403);
    assert.equal((await viewer.send('DELETE', `/admin/v1/keys/${data.hash}`)).status, 403);
    const headers = { 'x-polygate-key': data.hash };
    assert.equal((await viewer.send('GET', '/v1/key', { headers })).status, 403);
  });
});

describe('a gateway that others reach', () => {
  const ORIGIN = 'https://gw.example.com';

  test('serves keys at the address of clients, and operators at their own', async () => {
    const own = await startSessionGateway(`server: { public_url: ${ORIGIN} }`);
    try {
      const browser = openBrowser(own.url, ORIGIN);
      const code = await own.code();
      assert.equal((await browser.login({ code })).status, 403);
      assert.equal((await browser.login({ token: TOKEN })).status, 403);
      const { headers, json } = await browser.login({ key: KEY });
      assert.match(String(headers['set-cookie']), /^__Host-polygate=[\w-]+; Path=\/; .*; Secure$/);
      assert.equal(json.data.serves_operators, false);
      assert.equal((await browser.send('GET', '/admin/v1/keys')).status, 404);
      const operator = openBrowser(own.adminUrl);
      assert.equal((await operator.send('GET', '/admin/v1/keys')).status, 401);
      assert.equal((await operator.login({ code })).status, 201);
      assert.equal((await operator.send('GET', '/admin/v1/keys')).status, 200);
      assert.equal((await operator.send('GET', '/admin/v1/nothing')).status, 404);
      assert.equal((await openBrowser(own.adminUrl).send('GET', '/admin/v1/nothing')).status, 401);
    } finally {
      await own.close();
    }
  });

  test('serves operators there, too, where the configuration says so', async () => {
    const own = await startSessionGateway(`server: { public_url: ${ORIGIN} }\nui: { admin_on_public: true }`);
    try {
      const browser = openBrowser(own.url, ORIGIN);
      await browser.login({ code: await own.code() });
      assert.equal((await browser.send('GET', '/admin/v1/keys')).status, 200);
      const plain = openBrowser(own.url);
      plain.cookie = browser.cookie.replace('__Host-', '');
      assert.equal((await plain.send('GET', '/admin/v1/keys')).status, 200);
    } finally {
      await own.close();
    }
  });

  test('has no sessions where the dashboard is off', async () => {
    const own = await startSessionGateway('ui: { enabled: false }');
    try {
      assert.equal((await openBrowser(own.url).send('GET', '/ui/session')).status, 404);
      assert.equal((await openBrowser(own.url).send('GET', '/admin/v1/keys')).status, 404);
      assert.equal((await openBrowser(own.adminUrl).send('GET', '/ui/session')).status, 401);
    } finally {
      await own.close();
    }
  });
});
