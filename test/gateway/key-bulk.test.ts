/** Keys made in one request, over HTTP: all or none, with bounds. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ADMIN_CONFIG, type AdminAnswer, askAdmin } from './admin-client.ts';
import { PATHS, post, question, startTestGateway, type TestGateway } from './harness.ts';

let gateway: TestGateway;
before(async () => {
  gateway = await startTestGateway(ADMIN_CONFIG);
});
after(() => gateway.close());

const bulk = (body: Json): Promise<AdminAnswer> => askAdmin(gateway.adminUrl, 'POST', '/keys/bulk', body);

async function count(): Promise<number> {
  return (await askAdmin(gateway.adminUrl, 'GET', '/keys?include_disabled=true&limit=1')).body.total;
}

describe('several keys', () => {
  test('are made from bodies, with a key of their own each', async () => {
    const { status, body } = await bulk({
      keys: [{ name: 'bulk-a', tags: { team: 'search' }, budgets: { month: '5.00' } }, { name: 'bulk-b' }],
    });
    assert.equal(status, 201, JSON.stringify(body));
    const [first, second] = body.data;
    assert.deepEqual([first.data.name, first.data.tags, first.data.limit_remaining], ['bulk-a', { team: 'search' }, 5]);
    assert.match(first.webhook_secret, /^whsec_/);
    assert.notEqual(first.key, second.key);
    for (const { key, data } of body.data) {
      const headers = { authorization: `Bearer ${key}` };
      const sent = await post(gateway.url + PATHS.chat(), question('chat', 'sandbox/echo', 'hi'), headers);
      assert.equal(sent.status, 200);
      await sent.text();
      const { body: log } = await askAdmin(gateway.adminUrl, 'GET', `/audit?subject=${data.hash}`);
      assert.deepEqual(
        log.data.map(({ action }: Json) => action),
        ['key.create'],
      );
    }
  });

  test('are made from CSV', async () => {
    const { status, body } = await bulk({ csv: 'name,owner,tag:team\nbulk-c,Ana,search\nbulk-d,,\n', keys: null });
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(
      body.data.map(({ data }: Json) => [data.name, data.owner, data.tags]),
      [
        ['bulk-c', 'Ana', { team: 'search' }],
        ['bulk-d', null, {}],
      ],
    );
  });

  test('may be five hundred', async () => {
    const { status, body } = await bulk({
      keys: Array.from({ length: 500 }, (_, index) => ({ name: `many-${index}` })),
    });
    assert.equal(status, 201);
    assert.equal(new Set(body.data.map(({ key }: Json) => key)).size, 500);
  });

  const refused: [what: string, body: Json, param: string, message: RegExp][] = [
    ['nothing', {}, 'keys', /either keys or csv/],
    ['both', { keys: [{ name: 'x' }], csv: 'name\nx' }, 'keys', /either keys or csv/],
    ['null in both', { keys: null, csv: null }, 'keys', /either keys or csv/],
    ['an empty list', { keys: [] }, 'keys', /keys must/],
    ['more than five hundred', { keys: Array(501).fill({ name: 'x' }) }, 'keys', /500/],
    ['more lines than five hundred', { csv: `name\n${'x\n'.repeat(501)}` }, 'csv', /500/],
    ['an unknown field', { keys: [{ name: 'new-1' }, { name: 'new-2', more: 1 }] }, 'keys[1].more', /more/],
    ['a wrong tag', { keys: [{ name: 'new-1' }, { name: 'new-2', tags: { Team: 'x' } }] }, 'keys[1].tags.Team', /Team/],
    ['too many tags', { keys: [{ name: 'new-1' }, { name: 'new-2', tags: tags(17) }] }, 'keys[1].tags', /at most 16/],
    ['a name that there is', { keys: [{ name: 'new-1' }, { name: 'taken' }] }, 'keys[1].name', /already a key named/],
    ['a name twice', { keys: [{ name: 'new-1' }, { name: 'new-1' }] }, 'keys[1].name', /already a key named/],
    ['a name of the configuration', { keys: [{ name: 'new-1' }, { name: 'test' }] }, 'keys[1].name', /configuration/],
    ['a wrong line', { csv: 'name,tag:team\nnew-1,search\nnew-2,a b\n' }, 'csv', /^Line 3: tags\.team must/],
    ['a wrong number', { csv: 'name,rpm\nnew-1,many\n' }, 'csv', /^Line 2: limits\.requests_per_minute must/],
    ['a line twice', { csv: 'name\nnew-1\nnew-1\n' }, 'csv', /^Line 3: line 2 has the same name/],
    ['a date that does not exist', { csv: 'name,expires\nnew-1,2027-13-01\n' }, 'csv', /^Line 2: expires_at/],
  ];
  for (const [what, body, param, message] of refused) {
    test(`are none for ${what}`, async () => {
      await askAdmin(gateway.adminUrl, 'POST', '/keys', { name: 'taken' });
      const before = await count();
      const answer = await bulk(body);
      assert.deepEqual([answer.status, answer.body.error?.param], [400, param], JSON.stringify(answer.body));
      assert.match(answer.body.error.message, message);
      assert.equal(await count(), before);
    });
  }
});

function tags(many: number): Json {
  return Object.fromEntries(Array.from({ length: many }, (_, index) => [`t${index}`, 'x']));
}
