/** Limits and budgets of tags that an operator sets over HTTP while gateways run, on one gateway and on two of one database. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { forEachStore } from '../store/stores.ts';
import { ADMIN_CONFIG, type AdminAnswer, askAdmin } from './admin-client.ts';
import { startTestGateway, type TestGateway } from './harness.ts';
import { hear } from './usage-client.ts';
import { eventually } from './video-client.ts';

const KEY_ONE = 'sk-test-search-one-0123456789';
const KEY_TWO = 'sk-test-search-two-0123456789';
const KEYS = [
  `{ name: one, key: ${KEY_ONE}, tags: { team: search } }`,
  `{ name: two, key: ${KEY_TWO}, tags: { team: search, env: ci } }`,
];
const PATH = '/tags/team%3Dsearch';

/** As many gateways as the engine lets use one store. */
async function startGateways(context: TestContext, engine: string): Promise<TestGateway[]> {
  const yaml = `${ADMIN_CONFIG}encryption: { key: "${randomBytes(32).toString('base64')}" }
tags: { env=ci: { budgets: { total: "90" } } }
providers: { sandbox: { type: sandbox, models: [{ id: echo, pricing: { prompt: "0", completion: "1" } }] } }
`;
  const database = engine === 'postgres' ? await providePostgres() : undefined;
  const gateways: TestGateway[] = [];
  context.after(async () => {
    await Promise.all(gateways.map((gateway) => gateway.close()));
    await database?.close();
  });
  for (let count = 0; count < (database ? 2 : 1); count += 1)
    gateways.push(await startTestGateway(yaml, { keys: KEYS, ...(database && { postgres: database.url }) }));
  return gateways;
}

function answer({ url }: TestGateway, key: string): ReturnType<typeof hear> {
  return hear(url, { protocol: 'chat', model: 'sandbox/echo', text: 'Hi', key, more: { max_tokens: 3 } });
}

function messageOf({ status, body }: AdminAnswer): [number, string] {
  return [status, body.error.message];
}

forEachStore((engine) => {
  test(`a budget is set, refuses by name on every gateway, and is taken back (${engine})`, async (context) => {
    const gateways = await startGateways(context, engine);
    const [first] = gateways as [TestGateway];
    const last = gateways.at(-1) as TestGateway;
    const change = { limits: { requests_per_minute: 500, tokens_per_minute: null }, budgets: { total: '0.5' } };
    const { status, body } = await askAdmin(first.adminUrl, 'PUT', PATH, change);
    assert.equal(status, 200, JSON.stringify(body));
    const { tag, keys, origin, limits, budgets } = body.data;
    assert.deepEqual([tag, keys, origin], ['team=search', 2, 'store']);
    assert.deepEqual(limits, { requests_per_minute: 500 });
    assert.deepEqual(budgets, {
      total: {
        limit: '0.5',
        spent: '0',
        spent_estimated: '0',
        spent_videos: '0',
        unpriced_tokens: 0,
        held: '0',
        held_complete: true,
        left: '0.5',
        resets_at: null,
      },
    });
    assert.deepEqual((await askAdmin(last.adminUrl, 'GET', PATH)).body, body);

    const refused = await answer(first, KEY_ONE);
    assert.equal(refused.status, 402);
    assert.match(refused.text, /Keys with the tag team=search may spend 0\.5 USD in all; 0\.5 USD are left, and this/);
    await eventually({}, async () => (await answer(last, KEY_TWO)).status === 402);

    assert.deepEqual(await askAdmin(last.adminUrl, 'DELETE', PATH), { status: 200, body: { deleted: true } });
    assert.equal((await answer(last, KEY_TWO)).status, 200);
    await eventually({}, async () => (await answer(first, KEY_ONE)).status === 200);
    const { data } = (await askAdmin(first.adminUrl, 'GET', PATH)).body;
    assert.deepEqual([data.origin, data.limits, data.budgets], [null, {}, {}]);
    assert.ok(Number(data.spent.total) > 0);
    const { data: log } = (await askAdmin(first.adminUrl, 'GET', '/audit?subject=team%3Dsearch')).body;
    assert.deepEqual(
      log.map(({ actor, action }: Json) => [actor, action]),
      [
        ['admin', 'tag.remove'],
        ['admin', 'tag.set'],
      ],
    );
  });
});

describe('a change is refused', () => {
  test('of a tag that the configuration sets, as of a key', async (context) => {
    const [{ adminUrl, reload }] = (await startGateways(context, 'sqlite')) as [TestGateway];
    const body = { budgets: { total: '1' } };
    const message = 'The limits and budgets of the tag env=ci are set in the configuration; change them there.';
    assert.deepEqual(messageOf(await askAdmin(adminUrl, 'PUT', '/tags/env%3Dci', body)), [409, message]);
    const removal = await askAdmin(adminUrl, 'DELETE', '/tags/env%3Dci');
    assert.deepEqual(messageOf(removal), [409, message]);
    assert.equal(removal.body.error.code, 'set_in_configuration');
    const key = await askAdmin(adminUrl, 'DELETE', '/keys/config:one');
    assert.deepEqual([key.status, key.body.error.code], [409, 'set_in_configuration']);

    await askAdmin(adminUrl, 'PUT', PATH, body);
    reload(`${ADMIN_CONFIG}tags: { team=search: { limits: { concurrent_requests: 4 } } }`, KEYS.join(', '));
    const { data } = (await askAdmin(adminUrl, 'GET', PATH)).body;
    assert.deepEqual([data.origin, data.limits, data.budgets], ['configuration', { concurrent_requests: 4 }, {}]);
    reload(ADMIN_CONFIG, KEYS.join(', '));
    assert.equal((await askAdmin(adminUrl, 'GET', PATH)).body.data.origin, 'store');
    assert.equal((await askAdmin(adminUrl, 'GET', '/tags/env%3Dci')).body.data.origin, null);
  });

  test('that is not of a tag, or sets nothing that there is', async (context) => {
    const [{ adminUrl }] = (await startGateways(context, 'sqlite')) as [TestGateway];
    const put = async (path: string, body: Json) => {
      const { status, body: answered } = await askAdmin(adminUrl, 'PUT', path, body);
      return [status, answered.error.param, answered.error.message];
    };
    const noTag = 'tag must be a tag such as team=search, encoded as team%3Dsearch.';
    for (const path of ['/tags/team', '/tags/Team%3Dsearch', '/tags/team%3D', '/tags/team%3Da%20b'])
      assert.deepEqual(await put(path, { budgets: { day: '1' } }), [400, 'tag', noTag]);
    const nothing = 'limits or budgets must have an entry; DELETE takes all of them back.';
    for (const body of [{}, { limits: null }, { limits: {}, budgets: { day: null } }])
      assert.deepEqual(await put(PATH, body), [400, 'limits', nothing]);
    const [, param, message] = await put(PATH, { budgets: { day: 'much' } });
    assert.deepEqual([param, message], ['budgets.day', 'budgets.day must be USD as a decimal string such as "25.00".']);
    assert.equal((await put(PATH, { limits: { requests_per_minute: 0 } }))[1], 'limits.requests_per_minute');
    assert.equal((await put(PATH, { owner: 'Ana' }))[1], 'owner');
    const gone = await askAdmin(adminUrl, 'DELETE', PATH);
    assert.deepEqual(messageOf(gone), [404, 'The tag team=search has no limits and no budgets.']);
  });

  test('a change leaves what it does not name, also beside another one', async (context) => {
    const [{ adminUrl }] = (await startGateways(context, 'sqlite')) as [TestGateway];
    const path = '/tags/team%3Dchanged';
    await askAdmin(adminUrl, 'PUT', path, { limits: { requests_per_minute: 5 }, budgets: { month: '9' } });
    const changes = [{ limits: { concurrent_requests: 2 } }, { budgets: { day: '1' } }, { budgets: { month: null } }];
    const answers = await Promise.all(changes.map((body) => askAdmin(adminUrl, 'PATCH', path, body)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    const { data } = (await askAdmin(adminUrl, 'GET', path)).body;
    assert.deepEqual(data.limits, { requests_per_minute: 5, concurrent_requests: 2 });
    assert.deepEqual(Object.keys(data.budgets), ['day']);
    const emptied = await askAdmin(adminUrl, 'PATCH', path, { limits: null, budgets: { day: null } });
    assert.deepEqual([emptied.status, emptied.body.error.param], [400, 'limits']);
    assert.equal((await askAdmin(adminUrl, 'PATCH', path, { budgets: { day: '1', week: null } })).status, 200);
    const { body: log } = await askAdmin(adminUrl, 'GET', '/audit?subject=team%3Dchanged');
    assert.equal(log.total, 4, 'a change that changes nothing has no entry');
    assert.equal((await askAdmin(adminUrl, 'PATCH', path, { budgets: { day: 'much' } })).status, 400);
    const made = await askAdmin(adminUrl, 'PATCH', '/tags/team%3Dmade', { budgets: { day: '1' } });
    assert.equal(made.body.data.origin, 'store');
  });

  test('a change is made only of a tag as it was read, where that is asked for', async (context) => {
    const [{ adminUrl }] = (await startGateways(context, 'sqlite')) as [TestGateway];
    const path = '/tags/team%3Dread';
    const change = (month: string, since: unknown) =>
      askAdmin(adminUrl, 'PATCH', path, { budgets: { month }, unchanged_since: since });
    const monthNow = async () => (await askAdmin(adminUrl, 'GET', path)).body.data.budgets.month?.limit;
    assert.equal((await askAdmin(adminUrl, 'GET', path)).body.data.updated_at, null);
    const first = await change('1', null);
    assert.deepEqual([first.status, await monthNow()], [200, '1']);
    const second = await change('2', null);
    assert.deepEqual([second.status, second.body.error.code, await monthNow()], [409, 'changed_meanwhile', '1']);
    const known = first.body.data.updated_at;
    assert.equal((await change('2', known)).status, 200);
    const late = await change('3', known);
    assert.deepEqual([late.status, late.body.error.code, await monthNow()], [409, 'changed_meanwhile', '2']);
    const never = await change('3', '2026-02-30T00:00:00Z');
    assert.deepEqual([never.status, never.body.error.param], [400, 'unchanged_since']);
    const { updated_at: now } = (await askAdmin(adminUrl, 'GET', path)).body.data;
    await askAdmin(adminUrl, 'DELETE', path);
    assert.equal((await change('3', now)).status, 409);
  });

  test('lists find tags by a text', async (context) => {
    const [{ adminUrl }] = (await startGateways(context, 'sqlite')) as [TestGateway];
    await askAdmin(adminUrl, 'PUT', '/tags/team%3DAds', { limits: { concurrent_requests: 1 } });
    const found = async (search: string) => {
      const { data, total } = (await askAdmin(adminUrl, 'GET', `/tags?search=${search}`)).body;
      return [total, data.map(({ tag, keys }: Json) => [tag, keys])];
    };
    assert.deepEqual(await found('TEAM'), [
      2,
      [
        ['team=Ads', 0],
        ['team=search', 2],
      ],
    ]);
    assert.deepEqual(await found('%3Dci'), [1, [['env=ci', 1]]]);
    assert.deepEqual(await found('other'), [0, []]);
  });
});
