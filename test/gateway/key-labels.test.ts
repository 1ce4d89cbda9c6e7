/** Owner, tags and metadata of keys: creation, change, lists with search and filters, over HTTP. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ADMIN_CONFIG, type AdminAnswer, askAdmin } from './admin-client.ts';
import { startTestGateway, type TestGateway } from './harness.ts';

const FIXED =
  '{ name: fixed, key: sk-fixed-0123456789abcdef, owner: Ops, tags: { team: platform }, metadata: { ticket: INF-1 } }';

let gateway: TestGateway;
before(async () => {
  gateway = await startTestGateway(ADMIN_CONFIG, { keys: [FIXED] });
});
after(() => gateway.close());

const admin = (method: string, path: string, body?: Json): Promise<AdminAnswer> =>
  askAdmin(gateway.adminUrl, method, path, body);

async function made(fields: Json): Promise<Json> {
  const { status, body } = await admin('POST', '/keys', fields);
  assert.equal(status, 201, JSON.stringify(body));
  return body.data;
}

const labels = ({ owner, tags, metadata }: Json) => ({ owner, tags, metadata });

describe('labels of a key', () => {
  test('are set, merged, removed one by one, and in the audit log', async () => {
    const first = { owner: 'Ana', tags: { team: 'search', env: 'prod' }, metadata: { cost_center: '4711' } };
    const key = await made({ name: 'labelled', ...first });
    assert.deepEqual(labels(key), first);
    const change = { owner: 'Ben', tags: { team: 'ads', env: null, stage: 'b' }, metadata: { note: 'two words' } };
    const { body } = await admin('PATCH', `/keys/${key.hash}`, change);
    const second = {
      owner: 'Ben',
      tags: { team: 'ads', stage: 'b' },
      metadata: { cost_center: '4711', note: 'two words' },
    };
    assert.deepEqual(labels(body.data), second);
    const { body: log } = await admin('GET', `/audit?subject=${key.hash}`);
    assert.deepEqual(labels(log.data[0].before.settings), first);
    assert.deepEqual(labels(log.data[0].after.settings), second);
    const { body: none } = await admin('PATCH', `/keys/${key.hash}`, { owner: null, tags: null, metadata: null });
    assert.deepEqual(labels(none.data), { owner: null, tags: {}, metadata: {} });
  });

  test('of the configuration are shown', async () => {
    const { body } = await admin('GET', '/keys/config:fixed');
    assert.deepEqual(labels(body.data), { owner: 'Ops', tags: { team: 'platform' }, metadata: { ticket: 'INF-1' } });
  });

  const numbered = (count: number, start = 0) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`t${start + index}`, 'x']));

  test('are bounded, also by a change that adds to them', async () => {
    const key = await made({ name: 'full', tags: numbered(16) });
    const more = await admin('PATCH', `/keys/${key.hash}`, { tags: numbered(1, 16) });
    assert.deepEqual([more.status, more.body.error.param], [400, 'tags']);
    assert.match(more.body.error.message, /at most 16/);
    const moved = await admin('PATCH', `/keys/${key.hash}`, { tags: { t0: null, t16: 'x' } });
    assert.equal(Object.keys(moved.body.data.tags).length, 16);
  });

  const wrong: [name: string, fields: Json, param: string, message: RegExp][] = [
    ['too many tags', { tags: numbered(17) }, 'tags', /at most 16/],
    ['a tag with a capital letter', { tags: { Team: 'x' } }, 'tags.Team', /lower-case letters/],
    ['a value with a space', { tags: { team: 'a b' } }, 'tags.team', /letters, digits/],
    ['a value that is too long', { tags: { team: 'x'.repeat(65) } }, 'tags.team', /at most 64/],
    ['a tag that is no text', { tags: { team: 1 } }, 'tags.team', /must be/],
    ['an empty owner', { owner: '' }, 'owner', /must/],
    ['metadata with a long value', { metadata: { a: 'x'.repeat(513) } }, 'metadata.a', /512/],
    ['metadata with a name of its own kind', { metadata: { __proto: 'x' } }, 'metadata.__proto', /letters/],
  ];
  for (const [name, fields, param, message] of wrong) {
    test(`are refused for ${name}`, async () => {
      const { status, body } = await admin('POST', '/keys', { name: 'wrong', ...fields });
      assert.deepEqual([status, body.error?.param], [400, param], JSON.stringify(body));
      assert.match(body.error.message, message);
    });
  }
});

describe('the list of keys', () => {
  let hashes: Json = {};
  before(async () => {
    for (const [name, owner, team] of [
      ['list-a', 'Cleo', 'search'],
      ['list-b', 'Cleo', 'ads'],
      ['list-c', 'Dora', 'search'],
      ['list-d', 'Dora', 'search'],
    ] as const) {
      const fields = { name, owner, tags: { team, group: 'list' }, metadata: { note: `of-${name}` } };
      hashes = { ...hashes, [name]: (await made(fields)).hash };
    }
    await admin('DELETE', `/keys/${hashes['list-d']}`);
  });

  const listed = async (query: string) => (await admin('GET', `/keys?${query}`)).body;
  const names = async (query: string) => (await listed(query)).data.map(({ name }: Json) => name);

  test('is filtered by tag, owner and state, and searched', async () => {
    assert.deepEqual(await names('tag=group=list'), ['list-a', 'list-b', 'list-c']);
    assert.deepEqual(await names('tag=team=search&owner=Cleo'), ['list-a']);
    assert.deepEqual(await names('tag=group=list&state=revoked'), ['list-d']);
    assert.deepEqual(await names('tag=group=list&state=active&search=OF-LIST-B'), ['list-b']);
    assert.deepEqual(await names('search=inf-1'), ['fixed']);
    assert.deepEqual(await names('tag=team=platform'), ['fixed']);
    assert.deepEqual(await names('tag=team=sear'), []);
  });

  test('has a total and cursors, which stay where they are', async () => {
    const first = await listed('tag=group=list&limit=2');
    assert.deepEqual([first.data.length, first.total], [2, 3]);
    await admin('PATCH', `/keys/${hashes['list-a']}`, { tags: { group: null } });
    const second = await listed(`tag=group=list&limit=2&after=${first.next}`);
    assert.deepEqual([second.data.map(({ name }: Json) => name), second.total, second.next], [['list-c'], 2, null]);
    await admin('PATCH', `/keys/${hashes['list-a']}`, { tags: { group: 'list' } });
    assert.equal((await listed('include_disabled=true&limit=1')).next !== null, true);
  });

  for (const query of ['tag=team', 'tag=a=b=c', 'state=gone', 'owner=', 'search=', 'after=none', 'limit=0']) {
    test(`refuses ${query}`, async () => {
      const { status, body } = await admin('GET', `/keys?${query}`);
      assert.deepEqual([status, body.error.param], [400, query.split('=')[0]]);
    });
  }
});
