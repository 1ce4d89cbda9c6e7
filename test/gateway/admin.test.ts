/** The admin API: keys from their creation to their end, over HTTP, while the gateway runs. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { KEY, PATHS, question, sendRaw, startTestGateway, type TestGateway } from './harness.ts';

const TOKEN = 'admin-token-0123456789-0123456789';
const UNSPENT = { day: '0', week: '0', month: '0', total: '0' };
const CONFIG = `
admin: { token: ${TOKEN}, port: 0 }
server: { trusted_proxies: ["127.0.0.0/8"] }
`;
const ID = '00000000-0000-4000-8000-000000000000';

let gateway: TestGateway;
before(async () => {
  gateway = await startTestGateway(CONFIG);
});
after(() => gateway.close());

interface Answer {
  status: number;
  body: Json;
}

async function admin(method: string, path: string, body?: Json, token: string | undefined = TOKEN): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const response = await sendRaw(gateway.adminUrl, { method, path: `/admin/v1${path}`, headers, body: text });
  return { status: response.status, body: response.text === '' ? undefined : JSON.parse(response.text) };
}

async function made(fields: Json): Promise<Json> {
  const { status, body } = await admin('POST', '/keys', fields);
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

async function chat(key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify(question('chat', 'sandbox/echo', 'hi'));
  return (await sendRaw(gateway.url, { method: 'POST', path: PATHS.chat(), headers, body })).status;
}

describe('a key', () => {
  test('is made in the shape that OpenRouter gives it, and works at once', async () => {
    const { data, key, webhook_secret } = await made({ name: 'shape', limit: 12.5, limit_reset: 'monthly' });
    const { hash, label, created_at, updated_at, ...rest } = data;
    assert.match(hash, /^[0-9a-f-]{36}$/);
    assert.equal(label, `${key.slice(0, 8)}...`);
    assert.match(webhook_secret, /^whsec_/);
    assert.equal(created_at, updated_at);
    const { resets_at: resetsAt } = rest.effective.budgets.month;
    assert.match(resetsAt, /-01T00:00:00\.000Z$/);
    assert.deepEqual(rest, {
      name: 'shape',
      disabled: false,
      limit: 12.5,
      limit_remaining: 12.5,
      limit_reset: 'monthly',
      usage: 0,
      usage_daily: 0,
      usage_weekly: 0,
      usage_monthly: 0,
      expires_at: null,
      owner: null,
      tags: {},
      metadata: {},
      models: null,
      surfaces: null,
      read_only: false,
      store_responses: null,
      cidrs: null,
      limits: {},
      model_limits: {},
      budgets: { month: '12.5' },
      held: { month: '0' },
      spent: UNSPENT,
      spent_estimated: UNSPENT,
      spent_videos: UNSPENT,
      unpriced_tokens: { day: 0, week: 0, month: 0, total: 0 },
      effective: {
        limits: {},
        budgets: {
          month: {
            limit: '12.5',
            spent: '0',
            spent_estimated: '0',
            spent_videos: '0',
            unpriced_tokens: 0,
            held: '0',
            held_complete: true,
            left: '12.5',
            resets_at: resetsAt,
            from: 'key',
          },
        },
        tags: {},
      },
      state: 'active',
      origin: 'store',
      last_used_at: null,
      secret_last_used_at: null,
      revoked_at: null,
      previous_until: null,
    });
    assert.equal(await chat(key), 200);
    assert.deepEqual((await admin('GET', `/keys/${hash}`)).body.data.name, 'shape');
  });

  test('takes every setting, and a change takes single ones back', async () => {
    const settings = {
      models: ['sandbox/*'],
      surfaces: ['chat', 'videos'],
      read_only: true,
      cidrs: ['10.0.0.0/8', '::1'],
      limits: { requests_per_minute: 10, tokens_per_minute: 1000, concurrent_requests: 3 },
      model_limits: { 'sandbox/*': { requests_per_minute: 2 } },
      budgets: { day: '1', total: '20.25' },
    };
    const { data } = await made({ name: 'settings', expires_at: '2100-01-01', ...settings });
    assert.deepEqual({ ...data, ...settings }, data);
    assert.equal(data.expires_at, '2100-01-01T00:00:00.000Z');
    assert.deepEqual([data.limit, data.limit_reset], [1, 'daily']);
    const change = {
      read_only: false,
      store_responses: null,
      cidrs: null,
      limits: { tokens_per_minute: null },
      expires_at: null,
      name: 'other',
    };
    const { body } = await admin('PATCH', `/keys/${data.hash}`, change);
    const { limits, cidrs, surfaces, expires_at, name } = body.data;
    assert.deepEqual(limits, { requests_per_minute: 10, concurrent_requests: 3 });
    assert.deepEqual([cidrs, surfaces, expires_at, name], [null, ['chat', 'videos'], null, 'other']);
  });

  test('is changed only as it was read, where that is asked for', async () => {
    const { data } = await made({ name: 'read before' });
    const path = `/keys/${data.hash}`;
    const first = await admin('PATCH', path, { owner: 'Ana', unchanged_since: data.updated_at });
    assert.equal(first.status, 200);
    const late = await admin('PATCH', path, { owner: 'Ben', unchanged_since: data.updated_at });
    assert.deepEqual([late.status, late.body.error.code], [409, 'changed_meanwhile']);
    assert.equal((await admin('GET', path)).body.data.owner, 'Ana');
    const again = await admin('PATCH', path, { owner: 'Ben', unchanged_since: first.body.data.updated_at });
    assert.equal(again.body.data.owner, 'Ben');
    const never = await admin('PATCH', path, { owner: 'Cleo', unchanged_since: '2026-02-30T00:00:00Z' });
    assert.deepEqual(
      [never.status, never.body.error.param, never.body.error.message],
      [400, 'unchanged_since', 'unchanged_since must be a date that exists.'],
    );
  });

  test('has its one limit changed, moved and taken back', async () => {
    const { data } = await made({ name: 'budget', limit: 3 });
    const patch = async (body: Json) => (await admin('PATCH', `/keys/${data.hash}`, body)).body.data;
    assert.deepEqual(data.budgets, { total: '3' });
    assert.deepEqual((await patch({ limit_reset: 'weekly' })).budgets, { week: '3' });
    assert.deepEqual((await patch({ limit: 0.1 })).budgets, { week: '0.1' });
    assert.deepEqual((await patch({ limit_reset: null })).budgets, { total: '0.1' });
    assert.deepEqual((await patch({ limit: 1e-120 })).budgets, { total: '0' }, 'less than can be counted is nothing');
    const none = await patch({ limit: null });
    assert.deepEqual([none.limit, none.limit_remaining, none.budgets], [null, null, {}]);
  });

  test('is disabled, enabled and deleted, at once', async () => {
    const { data, key } = await made({ name: 'switch' });
    const path = `/keys/${data.hash}`;
    assert.equal((await admin('PATCH', path, { disabled: true })).body.data.state, 'disabled');
    assert.equal(await chat(key), 401);
    await admin('PATCH', path, { disabled: false });
    assert.equal(await chat(key), 200);
    assert.deepEqual(await admin('DELETE', path), { status: 200, body: { deleted: true } });
    assert.equal(await chat(key), 401);
    assert.equal((await admin('GET', path)).body.data.state, 'revoked');
    assert.equal((await admin('PATCH', path, { disabled: false })).status, 400);
  });

  test('is rotated with an overlap or without one', async () => {
    const first = await made({ name: 'rotated' });
    const path = `/keys/${first.data.hash}/rotate`;
    const { body: second } = await admin('POST', path, { overlap: 3600 });
    assert.ok(Date.parse(second.data.previous_until) - Date.now() > 3_500_000);
    assert.deepEqual([await chat(first.key), await chat(second.key)], [200, 200]);
    const { body: third } = await admin('POST', path, { overlap: 0 });
    assert.deepEqual([await chat(first.key), await chat(second.key), await chat(third.key)], [401, 401, 200]);
  });

  test('has a webhook secret, which is rotated with an overlap', async () => {
    const { data, webhook_secret } = await made({ name: 'hooks' });
    const path = `/keys/${data.hash}/webhook-secret`;
    const shown = async () => (await admin('GET', path)).body.data.map(({ secret }: Json) => secret);
    assert.deepEqual(await shown(), [webhook_secret]);
    const { body } = await admin('POST', `${path}/rotate`, { activate_in: 60 });
    assert.deepEqual(await shown(), [webhook_secret, body.data.secret]);
    const { body: leaked } = await admin('POST', `${path}/rotate`, { activate_in: 0 });
    assert.deepEqual(await shown(), [leaked.data.secret]);
  });

  test('has each look at its webhook secrets by an operator in the audit log', async () => {
    const { data, key, webhook_secret } = await made({ name: 'looked-at' });
    const own = { method: 'GET', path: '/v1/key/webhook-secret', headers: { authorization: `Bearer ${key}` } };
    await sendRaw(gateway.url, own);
    for (let count = 0; count < 2; count++) await admin('GET', `/keys/${data.hash}/webhook-secret`);
    await sendRaw(gateway.url, own);
    const { body: log } = await admin('GET', `/audit?subject=${data.hash}`);
    const entries = log.data.map(({ actor, action }: Json) => `${actor} ${action}`);
    const read = 'webhook-secret.read';
    assert.deepEqual(entries.slice(0, -1), [`key ${read}`, `admin ${read}`, `admin ${read}`, `key ${read}`]);
    assert.match(log.data[1].request_id, /^req_/);
    assert.ok(!JSON.stringify(log).includes(webhook_secret));
  });

  test('keeps an expiry that is over in a change, and takes no other that is over', async () => {
    const { data } = await made({ name: 'over', expires_at: '2100-01-01' });
    const path = `/keys/${data.hash}`;
    const { status, body } = await admin('PATCH', path, { expires_at: '2020-01-01' });
    assert.deepEqual([status, body.error.param], [400, 'expires_at']);
    const expires_at = new Date(Date.now() + 1000).toISOString();
    assert.equal((await admin('PATCH', path, { expires_at })).status, 200);
    while (new Date().toISOString() <= expires_at) await admin('GET', path);
    const changed = await admin('PATCH', path, { expires_at, owner: 'Ana' });
    assert.deepEqual([changed.body.data.state, changed.body.data.owner], ['expired', 'Ana']);
  });

  test('has limits of models by any glob', async () => {
    const model_limits = { ['__proto__']: { requests_per_minute: 2 }, constructor: { tokens_per_minute: 3 } };
    const { data } = await made({ name: 'globs', model_limits });
    assert.deepEqual(data.model_limits, model_limits);
    const { body } = await admin('PATCH', `/keys/${data.hash}`, { model_limits: { ['__proto__']: null } });
    assert.deepEqual(body.data.model_limits, { constructor: { tokens_per_minute: 3 } });
  });

  test('reads its own webhook secrets, which is audited once an hour', async () => {
    const { data, key, webhook_secret } = await made({ name: 'own-hooks' });
    const own = async (text: string, query = '') => {
      const path = `/v1/key/webhook-secret${query}`;
      const headers = { authorization: `Bearer ${text}` };
      const { status, text: body } = await sendRaw(gateway.url, { method: 'GET', path, headers });
      return { status, body: JSON.parse(body) };
    };
    const { body } = await own(key);
    assert.deepEqual(
      body.data.map(({ secret }: Json) => secret),
      [webhook_secret],
    );
    const { body: rotated } = await admin('POST', `/keys/${data.hash}/webhook-secret/rotate`, { activate_in: 60 });
    for (let count = 0; count < 2; count++) {
      const { body: both } = await own(key);
      assert.deepEqual(
        both.data.map(({ secret }: Json) => secret),
        [webhook_secret, rotated.data.secret],
      );
    }
    const { body: log } = await admin('GET', `/audit?subject=${data.hash}`);
    const entries = log.data.map(({ actor, action }: Json) => `${actor} ${action}`);
    assert.deepEqual(entries.slice(0, 3), [
      'key webhook-secret.read',
      'admin webhook-secret.rotate',
      'key webhook-secret.read',
    ]);
    assert.ok(!JSON.stringify(log).includes(webhook_secret));

    assert.equal((await own(KEY)).status, 404);
    assert.equal((await own(key, '?of=other')).status, 400);
    const reader = await made({ name: 'reader', read_only: true });
    assert.equal((await own(reader.key)).status, 403);
  });

  test('that leaked is revoked by its text', async () => {
    const { data, key } = await made({ name: 'leaked' });
    const { body } = await admin('POST', '/keys/revoke', { keys: [key, 'sk-pg-nothing', KEY] });
    assert.deepEqual(
      body.data.map(({ hash, state }: Json) => [hash, state]),
      [
        [data.hash, 'revoked'],
        ['config:test', 'active'],
      ],
    );
    assert.equal(body.unknown, 1);
    assert.equal(await chat(key), 401);
  });

  test('of the configuration is shown and stays as it stands there', async () => {
    const { body } = await admin('GET', '/keys/config:test');
    assert.deepEqual([body.data.name, body.data.origin], ['test', 'configuration']);
    for (const [method, path, fields, status] of [
      ['PATCH', '', { surfaces: ['chat'] }, 409],
      ['DELETE', '', undefined, 409],
      ['POST', '/rotate', {}, 409],
      ['GET', '/webhook-secret', undefined, 400],
    ] as const) {
      const response = await admin(method, `/keys/config:test${path}`, fields);
      assert.equal(response.status, status);
      assert.match(response.body.error.message, /configuration/);
    }
    assert.equal(await chat(KEY), 200);
  });
});

test('lists leave out what is switched off unless they are asked, and have pages', async () => {
  const { data: one } = await made({ name: 'page one' });
  const { data: two } = await made({ name: 'page two' });
  await admin('DELETE', `/keys/${one.hash}`);
  await admin('PATCH', `/keys/${two.hash}`, { disabled: true });
  const hashes = async (query: string) => (await admin('GET', `/keys${query}`)).body.data.map(({ hash }: Json) => hash);
  const [shown, all] = [await hashes(''), await hashes('?include_disabled=true')];
  for (const hash of [one.hash, two.hash]) assert.ok(!shown.includes(hash) && all.includes(hash));
  assert.deepEqual(await hashes('?include_disabled=true&offset=1&limit=2'), all.slice(1, 3));
});

describe('a request that makes no sense', () => {
  const cases: [name: string, body: Json, param: string | null, message: RegExp][] = [
    ['an unknown field', { name: 'x', allowed_routes: ['/*'] }, 'allowed_routes', /is not a known field/],
    [
      'a limit that the store cannot count',
      { name: 'x', limits: { concurrent_requests: 1e30 } },
      'limits.concurrent_requests',
      /between 1 and 9007199254740991/,
    ],
    ['an unknown limit', { name: 'x', limits: { rpm: 1 } }, 'limits.rpm', /is not a known field/],
    ['an unknown field without a value', { name: 'x', limits: { rpm: null } }, 'limits.rpm', /is not a known field/],
    ['no name', {}, 'name', /is required/],
    ['a name of spaces', { name: ' \u00a0 ' }, 'name', /1 to 100 characters .* not be spaces alone/],
    ['a name that a terminal obeys', { name: 'x\u001b[2J' }, 'name', /1 to 100 characters and no control characters/],
    ['an unknown surface', { name: 'x', surfaces: ['mail'] }, 'surfaces[0]', /chat.*messages.*generate.*videos/],
    ['a malformed range', { name: 'x', cidrs: ['10.0.0.0/40'] }, 'cidrs[0]', /address range/],
    ['a budget as a number', { name: 'x', budgets: { day: 5 } }, 'budgets.day', /must be/],
    ['two ways to say a budget', { name: 'x', limit: 5, budgets: { day: '5' } }, 'budgets', /must not come with/],
    ['a reset of nothing', { name: 'x', limit_reset: 'daily' }, 'limit', /is required/],
    ['a moment that does not exist', { name: 'x', expires_at: '2030-02-31T99:00:00Z' }, 'expires_at', /date/],
    ['a day that does not exist', { name: 'x', expires_at: '2030-02-30T00:00:00Z' }, 'expires_at', /date/],
    ['an expiry that is over', { name: 'x', expires_at: '2020-01-01' }, 'expires_at', /must be in the future/],
    ['a name that is taken', { name: 'test' }, 'name', /configuration has a key named "test"/],
    ['no JSON', '{"name":', null, /JSON/],
  ];
  for (const [name, body, param, message] of cases) {
    test(`is refused for ${name}`, async () => {
      const response = await admin('POST', '/keys', body);
      assert.equal(response.status, 400, JSON.stringify(response.body));
      assert.equal(response.body.error.param, param);
      assert.match(response.body.error.message, message);
    });
  }

  test('about a key that is not there is 404', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
      ['GET', '/webhook-secret'],
      ['POST', '/webhook-secret/rotate'],
      ['GET', '/deliveries'],
      ['GET', '/deliveries?format=csv'],
    ] as const) {
      assert.equal((await admin(method, `/keys/${ID}${path}`, method.startsWith('P') ? {} : undefined)).status, 404);
    }
    // A name is no hash.
    assert.equal((await admin('GET', '/keys/test')).status, 404);
  });
});

describe('without the admin token', () => {
  const routes: [string, string][] = [
    ['GET', '/keys'],
    ['POST', '/keys'],
    ['POST', '/keys/revoke'],
    ['GET', `/keys/${ID}`],
    ['PATCH', `/keys/${ID}`],
    ['DELETE', `/keys/${ID}`],
    ['POST', `/keys/${ID}/rotate`],
    ['GET', `/keys/${ID}/webhook-secret`],
    ['POST', `/keys/${ID}/webhook-secret/rotate`],
    ['GET', `/keys/${ID}/deliveries`],
    ['GET', `/deliveries/${ID}`],
    ['POST', `/deliveries/${ID}/replay`],
    ['GET', '/audit'],
    ['GET', '/usage'],
    ['GET', '/nothing'],
    ['HEAD', '/keys'],
    ['PUT', '/keys'],
  ];
  for (const [method, path] of routes) {
    test(`${method} ${path} is refused`, async () => {
      assert.equal((await admin(method, path, undefined, '')).status, 401);
      const forged = {
        ...{
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-host': 'localhost',
          'x-original-url': '/',
          host: '127.0.0.1',
        },
        ...{ 'x-api-key': TOKEN, 'x-admin-token': TOKEN },
      };
      const response = await sendRaw(gateway.adminUrl, {
        method,
        path: `/admin/v1${path}?token=${TOKEN}`,
        headers: forged,
      });
      assert.equal(response.status, 401);
      // The token opens nothing on the listener of clients.
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
      const body = method.startsWith('P') ? '{}' : undefined;
      const elsewhere = await sendRaw(gateway.url, { method, path: `/admin/v1${path}`, headers, body });
      assert.ok([401, 404, 405].includes(elsewhere.status), String(elsewhere.status));
    });
  }

  test('a key of a client does not help, nor does the token where keys are asked for', async () => {
    assert.equal((await admin('GET', '/keys', undefined, KEY)).status, 401);
    assert.equal(await chat(TOKEN), 401);
  });

  test('malformed paths say nothing', async () => {
    for (const path of ['/%zz', '/admin/v1/keys/%2e%2e/%zz', '//admin/v1/keys', '/admin/v1/../v1/keys']) {
      const { status } = await sendRaw(gateway.adminUrl, { method: 'GET', path });
      assert.ok([401, 404].includes(status), `${path}: ${status}`);
    }
  });
});

test('secrets are in no list, in no entry of the log and in no line of the gateway’s', async () => {
  const { data, key, webhook_secret } = await made({ name: 'canary' });
  const { body } = await admin('POST', `/keys/${data.hash}/rotate`);
  await admin('POST', '/keys/revoke', { keys: [key] });
  const shown = [await admin('GET', '/keys?include_disabled=true'), await admin('GET', '/audit?limit=1000')];
  const text = JSON.stringify([...shown, gateway.log]);
  for (const secret of [key, body.key, webhook_secret, TOKEN]) assert.ok(!text.includes(secret.slice(10)), secret);
  assert.ok(!text.includes('digest'));
});

test('the audit log names the request, and use can be summed over all keys', async () => {
  const { data, key } = await made({ name: 'audited' });
  assert.equal(await chat(key), 200);
  const { body } = await admin('GET', `/audit?subject=${data.hash}`);
  assert.equal(body.data.length, 1);
  assert.deepEqual([body.data[0].actor, body.data[0].action, body.data[0].subject], ['admin', 'key.create', data.hash]);
  assert.match(body.data[0].request_id, /^req_/);
  assert.equal(body.next, null, 'there is no other page');
  for (const name of ['one', 'two', 'three']) await admin('PATCH', `/keys/${data.hash}`, { name: `audited-${name}` });
  const actions: string[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const page: Json = (await admin('GET', `/audit?subject=${data.hash}&limit=2${next && `&after=${next}`}`)).body;
    actions.push(...page.data.map(({ action }: Json) => action));
    next = page.next;
  }
  assert.deepEqual(actions, ['key.update', 'key.update', 'key.update', 'key.create'], 'each once, the newest first');
  assert.equal((await admin('GET', '/audit?after=x')).status, 400);
  assert.match((await admin('GET', '/audit?before=5')).body.error.message, /it takes limit, after, subject/);
  assert.ok(gateway.log.some(({ requestId }) => requestId === body.data[0].request_id));
  const usage = await admin('GET', '/usage?by=key');
  assert.equal(usage.status, 200);
  assert.ok(usage.body.data.some(({ key: id, requests }: Json) => id === data.hash && requests >= 1));
  assert.equal((await admin('GET', '/usage?by=cat')).status, 400);
});

test('webhooks can be looked up and sent again by the task', async () => {
  assert.equal((await admin('GET', `/deliveries/${ID}`)).status, 404);
  assert.equal((await admin('POST', `/deliveries/${ID}/replay`)).status, 404);
  const { data } = await made({ name: 'without webhooks' });
  assert.deepEqual((await admin('GET', `/keys/${data.hash}/deliveries`)).body, {
    data: [],
    next: null,
    total: 0,
    total_complete: true,
  });
});

test('without a token there is no admin API', async () => {
  const plain = await startTestGateway();
  assert.equal(plain.adminUrl, '');
  await plain.close();
});

test('a number that a double cannot represent is no object', async () => {
  const { body } = await admin('POST', '/keys', { name: 'no-object' });
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const path = `/admin/v1/keys/${body.data.hash}`;
  // The check of a schema is compiled after its first uses.
  for (let count = 0; count < 20; count++) {
    for (const name of ['metadata', 'tags', 'model_limits']) {
      const text = `{"${name}": 1${'0'.repeat(30)}}`;
      const refused = await sendRaw(gateway.adminUrl, { method: 'PATCH', path, headers, body: text });
      assert.equal(refused.status, 400, refused.text);
      assert.match(refused.text, new RegExp(`${name} must be an object or null, not 1e\\+30`));
    }
  }
});

test('who presents wrong tokens again and again is asked to wait; the right one still works', async () => {
  const strict = await startTestGateway(CONFIG);
  try {
    for (const [url, path] of [
      [strict.adminUrl, '/admin/v1/keys'],
      [strict.url, '/metrics'],
    ] as const) {
      const ask = (token: string) =>
        sendRaw(url, { method: 'GET', path, headers: { authorization: `Bearer ${token}` } });
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 31; attempt++) statuses.push((await ask('wrong')).status);
      assert.deepEqual([statuses[29], statuses[30]], [401, 429], path);
      assert.equal((await ask(TOKEN)).status, 200, path);
    }
  } finally {
    await strict.close();
  }
});
