/** Lists as CSV: keys, tags, videos, webhooks and conversations, all rows that the filters leave, as the pages of the API have them. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { newRequestId } from '../../src/core/request-id.ts';
import type { Store } from '../../src/store/store.ts';
import { encodeEnd } from '../../src/usage/journal/records.ts';
import { createSessionSums } from '../../src/usage/session-summary.ts';
import { completion, intent, NOON } from '../usage/records.ts';
import { ADMIN_CONFIG, ADMIN_TOKEN, askAdmin } from './admin-client.ts';
import { KEY, sendRaw, startTestGateway, type TestGateway } from './harness.ts';
import { createVideoClock, videoClient } from './video-client.ts';

/** More than a page of any list. */
const COUNT = 130;
/** More than the conversations of one response are made of. */
const FILE_REQUESTS = 6000;
const CONVERSATIONS = 20;
const HOUR_MS = 3_600_000;

let gateway: TestGateway;
let store: Store;
let hash = '';

before(async () => {
  gateway = await startTestGateway(ADMIN_CONFIG, {
    clock: createVideoClock(),
    wrapStore(opened) {
      store = opened;
      return opened;
    },
  });
  const keys = Array.from({ length: COUNT }, (_, index) => ({
    name: `k-${index}`,
    owner: index === 3 ? 'Ann, "the" first' : 'Bob',
    tags: { one: String(index), team: index % 2 === 0 ? 'even' : 'odd' },
    ...(index === 5 && { limits: { requests_per_minute: 7 }, budgets: { month: '25.00' } }),
    models: ['sandbox/*', 'openai/*'],
  }));
  const { status, body } = await askAdmin(gateway.adminUrl, 'POST', '/keys/bulk', { keys });
  assert.equal(status, 201, JSON.stringify(body));
  const { body: own } = await askAdmin(gateway.adminUrl, 'GET', '/keys?name=test');
  hash = own.data[0].hash;
  const client = videoClient(gateway);
  for (let index = 0; index < COUNT; index++) await client.create({ prompt: `=video ${index}`, seed: index });
  await store.call('addNotices', {
    notices: Array.from({ length: COUNT }, (_, index) => ({
      id: `task-${index}-completed`,
      taskId: `task-${index}`,
      owner: hash,
      url: `https://${index % 2 === 0 ? 'even' : 'odd'}.example/hook`,
      body: Buffer.from('{}'),
      createdAt: 1_700_000_000_000 + index,
    })),
  });
});
after(() => gateway.close());

/** Cells by the names of the columns. */
async function file(path: string, key?: string): Promise<Record<string, string>[]> {
  const headers = { authorization: `Bearer ${key ?? ADMIN_TOKEN}` };
  const {
    status,
    headers: got,
    text,
  } = await sendRaw(key ? gateway.url : gateway.adminUrl, {
    ...{ method: 'GET', path, headers },
  });
  assert.equal(status, 200, text);
  assert.equal(got['content-type'], 'text/csv; charset=utf-8');
  assert.match(String(got['content-disposition']), /^attachment; filename="\w+\.csv"$/);
  const [head = [], ...rows] = text
    .trimEnd()
    .split('\r\n')
    .map((line) =>
      [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell = '']) =>
        cell.replace(/^"(.*)"$/, '$1').replaceAll('""', '"'),
      ),
    );
  return rows.map((cells) => Object.fromEntries(head.map((name, index) => [name, cells[index] ?? ''])));
}

/** All rows of a list, page by page. */
async function pages(path: string): Promise<Json[]> {
  const rows: Json[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await askAdmin(gateway.adminUrl, 'GET', `${path}&limit=20${cursor}`);
    rows.push(...body.data);
    if (body.next === null) return rows;
    cursor = `&after=${encodeURIComponent(body.next)}`;
  }
}

describe('a list as CSV has all rows of the API', () => {
  test('of keys', async () => {
    const rows = await file('/admin/v1/keys?format=csv&search=team%3D');
    const listed = await pages('/keys?search=team%3D');
    assert.equal(rows.length, COUNT);
    assert.deepEqual(
      rows.map(({ hash: id, name, owner, state }) => [id, name, owner, state]),
      listed.map(({ hash: id, name, owner, state }) => [id, name, owner, state]),
    );
    const limited = rows.find(({ name }) => name === 'k-5');
    assert.deepEqual(
      ['tags', 'models', 'limits.requests_per_minute', 'budgets.month', 'budgets.day'].map((name) => limited?.[name]),
      ['one=5 team=odd', 'sandbox/* openai/*', '7', '25.00', ''],
    );
    assert.equal((await file('/admin/v1/keys?format=csv&tag=team%3Deven')).length, COUNT / 2);
  });

  test('of tags', async () => {
    const rows = await file('/admin/v1/tags?format=csv');
    assert.deepEqual(
      rows.map(({ tag, keys }) => [tag, keys]),
      (await pages('/tags?search=%3D')).map(({ tag, keys }) => [tag, String(keys)]),
    );
    assert.equal(rows.length, COUNT + 2);
    assert.ok(rows.every((row) => row['spent.month'] === '0'));
  });

  test('of videos, for operators and for the holder of a key', async () => {
    const rows = await file('/admin/v1/videos?format=csv&status=queued');
    assert.deepEqual(
      rows.map(({ id, seed, key_name: name }) => [id, seed, name]),
      (await pages('/videos?status=queued')).map(({ id, seed, key_name: name }) => [id, String(seed), name]),
    );
    assert.equal(rows.length, COUNT);
    // A spreadsheet must not take it for a formula.
    assert.ok(rows.every(({ prompt = '' }) => /^'=video \d+$/.test(prompt)));
    const own = await file('/v1/videos?format=csv', KEY);
    assert.deepEqual(
      own.map(({ id, key }) => [id, key]),
      rows.map(({ id }) => [id, '']),
    );
    assert.equal((await file('/admin/v1/videos?format=csv&status=failed')).length, 0);
  });

  test('of the audit log, by its filters', async () => {
    const rows = await file('/admin/v1/audit?format=csv&search=key.create');
    assert.deepEqual(
      rows.map(({ id, at, actor, action, subject, request_id: request }) => [id, at, actor, action, subject, request]),
      (await pages('/audit?search=key.create')).map(({ id, at, actor, action, subject, request_id: request }) => [
        String(id),
        at,
        actor,
        action,
        subject,
        request ?? '',
      ]),
    );
    assert.ok(rows.length >= COUNT, `${rows.length} rows`);
    const one = rows.at(-1)?.subject ?? '';
    assert.ok((await file(`/admin/v1/audit?format=csv&subject=${one}`)).every(({ subject }) => subject === one));
  });

  test('of webhooks, for operators and for the holder of a key', async () => {
    const rows = await file('/admin/v1/deliveries?format=csv&host=even.example');
    assert.deepEqual(
      rows.map(({ id, url, state, key_name: name }) => [id, url, state, name]),
      (await pages('/deliveries?host=even.example')).map(({ id, url, state }) => [id, url, state, 'test']),
    );
    assert.equal(rows.length, COUNT / 2);
    assert.equal((await file('/v1/self/deliveries?format=csv', KEY)).length, COUNT);
    assert.equal((await file(`/admin/v1/keys/${hash}/deliveries?format=csv`)).length, COUNT);
  });
});

describe('conversations as CSV', () => {
  test('have one row each, of all their requests, for operators and for the holder of a key', async () => {
    const records = Array.from({ length: FILE_REQUESTS }, (_, index) => {
      const startedAt = NOON + index;
      const session = `agent-${index % CONVERSATIONS}`;
      const request = intent(newRequestId(startedAt), { startedAt, keyId: hash });
      return encodeEnd(request, completion({ trace: `{"s":"${session}","a":[]}` }));
    });
    const position = { segment: 1, offset: 1, oldest: 1 };
    await store.call('storeJournalBatch', { journal: 'test', position, records });
    const span = `from=${new Date(NOON).toISOString()}&to=${new Date(NOON + HOUR_MS).toISOString()}`;
    const { body } = await askAdmin(gateway.adminUrl, 'GET', `/requests/sessions?${span}`);
    assert.equal(body.complete, false);
    const rows = await file(`/admin/v1/requests/sessions?format=csv&${span}`);
    assert.equal(rows.length, CONVERSATIONS);
    const total = (name: string) => rows.reduce((sum, row) => sum + Number(row[name]), 0);
    assert.equal(total('requests'), FILE_REQUESTS);
    const { body: list } = await askAdmin(gateway.adminUrl, 'GET', `/requests?limit=1&${span}`);
    assert.equal(total('input_tokens'), FILE_REQUESTS * list.data[0].input_tokens);
    const [first] = rows;
    assert.deepEqual([first?.keys, first?.key_hashes], ['test', hash]);
    assert.ok(Date.parse(first?.last_at ?? '') - Date.parse(first?.first_at ?? '') > FILE_REQUESTS / 2);
    const own = await file(`/v1/self/requests/sessions?format=csv&${span}`, KEY);
    assert.deepEqual(own, rows);
    const one = await file(`/admin/v1/requests/sessions?format=csv&session=agent-3&${span}`);
    assert.deepEqual(
      one.map(({ session, requests }) => [session, requests]),
      [['agent-3', String(FILE_REQUESTS / CONVERSATIONS)]],
    );
  });

  test('of too many names are taken out in turn, the one without requests for longest first', () => {
    const sums = createSessionSums({ sessionOf: ({ session }) => String(session), hasPrice: () => true });
    const row = (session: string, ended_at: number) => ({
      ...{ session, ended_at, key_id: 'k', endpoint_provider: 'p', endpoint_model: 'm', status: 'completed' },
      ...{ input_tokens: 1, output_tokens: 1, cached_tokens: 0, cost: '5' },
    });
    sums.add([row('a', 9), row('b', 8), row('c', 7), row('a', 6)]);
    const ready = sums.take(6);
    assert.deepEqual(
      ready.map(({ session, requests }) => [session, requests]),
      [['b', 1]],
    );
    assert.deepEqual(
      sums.take(0).map(({ session, requests, cost }) => [session, requests, cost]),
      [
        ['a', 2, 10n],
        ['c', 1, 5n],
      ],
    );
    assert.deepEqual(sums.take(0), []);
  });
});

test('what cuts a list into pages, or is wrong, is refused before a file begins', async () => {
  for (const [path, message] of [
    ['/keys?format=csv&limit=5', /limit must not come with format=csv/],
    ['/keys?format=csv&offset=5', /offset must not/],
    ['/tags?format=csv&after=a', /after must not/],
    ['/audit?format=csv&limit=5', /limit must not/],
    ['/videos?format=xml', /format must be json or csv/],
    ['/videos?format=csv&status=lost', /status must be one of/],
    ['/deliveries?format=csv&state=lost', /state must be one of/],
    ['/requests/sessions?format=csv&after=a', /after must not come with format=csv/],
    ['/requests/sessions?format=csv&status=odd', /status must be one of/],
  ] as const) {
    const { status, body } = await askAdmin(gateway.adminUrl, 'GET', path);
    assert.equal(status, 400, path);
    assert.match(body.error.message, message);
  }
});
