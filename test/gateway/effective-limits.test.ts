/** What applies to a key, with the defaults of the configuration, for operators and its holder; money to the last digit. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ADMIN_CONFIG, ADMIN_TOKEN, askAdmin } from './admin-client.ts';
import { startTestGateway, type TestGateway } from './harness.ts';
import { get, hear } from './usage-client.ts';

/** USD of 24 requests for 5,000, the most that one is charged, and one more: as a number it would lose its last digit. */
const SPENT = '123456.000000000001';
const EXACT = { spent_estimated: '0', spent_videos: '0', unpriced_tokens: 0 };
const PRICES = { echo: '5000', tools: '3456.000000000001' };
const KEY = 'sk-test-of-exact-0123456789';

let gateway: TestGateway;

before(async () => {
  const models = Object.entries(PRICES).map(
    ([id, request]) => `{ id: ${id}, pricing: { prompt: "0", completion: "0", request: "${request}" } }`,
  );
  const yaml = `${ADMIN_CONFIG}
key_defaults: { limits: { requests_per_minute: 60, concurrent_requests: 9 }, budgets: { month: "900000", day: "500000" } }
tags: { team=search: { limits: { concurrent_requests: 20 }, budgets: { total: "800000" } } }
providers: { sandbox: { type: sandbox, models: [${models}] } }
`;
  const settings =
    'tags: { team: search, env: prod }, limits: { concurrent_requests: 4 }, budgets: { day: "400000" }, models: ["sandbox/*"], surfaces: [chat], cidrs: ["127.0.0.0/8", "::/0"], model_limits: { "sandbox/e*": { requests_per_minute: 50 } }';
  gateway = await startTestGateway(yaml, { keys: [`{ name: exact, key: ${KEY}, ${settings} }`] });
});
after(() => gateway.close());

async function admin(method: string, path: string, body?: Json): Promise<Json> {
  const { status, body: got } = await askAdmin(gateway.adminUrl, method, path, body);
  assert.ok(status < 300, JSON.stringify(got));
  return got;
}

/** Without the ends of periods. */
function budgetsOf({ budgets }: Json): Json {
  return Object.fromEntries(
    Object.entries(budgets).map(([period, { resets_at: _resetsAt, ...use }]: [string, Json]) => [period, use]),
  );
}

test('a key shows what applies to it, with its origin, and what it has spent to the last digit', async () => {
  for (const model of [...Array<string>(24).fill('echo'), 'tools']) {
    const asked = { protocol: 'chat', model: `sandbox/${model}`, text: 'Hi', key: KEY } as const;
    const { status, text } = await hear(gateway.url, asked);
    assert.equal(status, 200, text);
  }
  const listed = (await admin('GET', '/keys?name=exact')).data[0];
  const one = (await admin('GET', `/keys/${listed.hash}`)).data;
  const own = (await get(gateway.url, '/v1/key', KEY)).body.data;
  for (const view of [listed, one, own]) {
    const { limits } = view.effective;
    assert.deepEqual(limits, {
      requests_per_minute: { limit: 60, from: 'defaults' },
      concurrent_requests: { limit: 4, from: 'key' },
    });
    const used = { spent: SPENT, ...EXACT, held: '0', held_complete: true };
    assert.deepEqual(budgetsOf(view.effective), {
      day: { limit: '400000', ...used, left: '276543.999999999999', from: 'key' },
      month: { limit: '900000', ...used, left: '776543.999999999999', from: 'defaults' },
    });
    assert.equal(view.effective.budgets.month.resets_at.slice(8), '01T00:00:00.000Z');
    assert.deepEqual(view.spent, { day: SPENT, week: SPENT, month: SPENT, total: SPENT });
    assert.equal(view.usage, Number(SPENT));
    assert.notEqual(String(view.usage), SPENT);
  }
  assert.deepEqual([one.limits, one.budgets], [{ concurrent_requests: 4 }, { day: '400000' }], 'its own alone');
  assert.equal(listed.effective.tags, undefined);
  const shared = one.effective.tags;
  assert.deepEqual(Object.keys(shared), ['team=search']);
  assert.deepEqual(shared, own.tags);
  assert.deepEqual(shared['team=search'].limits, { concurrent_requests: 20 });
  assert.deepEqual(shared['team=search'].budgets.total, {
    ...{
      limit: '800000',
      spent: SPENT,
      ...EXACT,
      held: '0',
      held_complete: true,
      left: '676543.999999999999',
      resets_at: null,
    },
  });
});

test('a key is told what it may do', async () => {
  const { data } = (await get(gateway.url, '/v1/key', KEY)).body;
  const { models, surfaces, cidrs, read_only: isReadOnly, model_limits: perModel } = data;
  assert.deepEqual(
    { models, surfaces, cidrs, isReadOnly, perModel },
    {
      models: ['sandbox/*'],
      surfaces: ['chat'],
      cidrs: ['127.0.0.0/8', '::/0'],
      isReadOnly: false,
      perModel: { 'sandbox/e*': { requests_per_minute: 50 } },
    },
  );
});

test('new keys, one or several, have the budgets of the defaults, unused', async () => {
  const { data: one, key } = await admin('POST', '/keys', { name: 'one', budgets: { total: '5' } });
  const [{ data: several }] = (await admin('POST', '/keys/bulk', { keys: [{ name: 'several' }] })).data;
  const unused = (limit: string, from: string) => ({
    limit,
    spent: '0',
    ...EXACT,
    held: '0',
    held_complete: true,
    left: limit,
    from,
  });
  const defaults = { day: unused('500000', 'defaults'), month: unused('900000', 'defaults') };
  assert.deepEqual(budgetsOf(one.effective), { ...defaults, total: unused('5', 'key') });
  assert.deepEqual(budgetsOf(several.effective), defaults);
  const own = (await get(gateway.url, '/v1/key', key)).body.data;
  assert.deepEqual([own.models, own.surfaces, own.cidrs, own.model_limits], [null, null, null, {}]);
});

test('the file of keys has them, too', async () => {
  const response = await fetch(`${gateway.adminUrl}/admin/v1/keys?name=exact&format=csv`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  const [head = '', line = ''] = (await response.text()).split('\r\n');
  assert.equal(response.status, 200, head);
  for (const name of ['effective.limits.requests_per_minute.limit', 'effective.budgets.month.left', 'spent.total']) {
    assert.ok(head.split(',').includes(name), name);
  }
  assert.ok(line.includes(`,${SPENT},`) && line.includes(',776543.999999999999,'), line);
});
