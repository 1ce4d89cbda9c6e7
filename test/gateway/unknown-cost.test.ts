/** A cost that is not known, because the model has no price: null in lists, named in reports, and never zero. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { problems } from '../../src/core/json/check.ts';
import type { Json } from '../../src/core/json/json.ts';
import { keyList, ownKey } from '../../src/http/key-schema.ts';
import { anyObject } from '../../src/http/openapi/operation.ts';
import { requestDetail, requestList, requestSessions, requestSummary } from '../../src/http/requests/schema.ts';
import { use } from '../../src/http/use.ts';
import {
  answerJson,
  KEY,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const TOKEN = 'admin-token-0123456789-0123456789';
const TAGGED = 'sk-test-of-a-tagged-key-0123456789';
const NO_PRICE = 'local/no-price';
const PRICED_HERE = 'local/priced-by-its-endpoint';
const MODELS = [NO_PRICE, 'local/free', PRICED_HERE, 'sandbox/echo'];

let upstream: TestUpstream;
let gateway: TestGateway;
const ids = new Map<string, string>();

before(async () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
  upstream = await startUpstream(({ body: { model, messages } }, response) => {
    const counted = messages[0].content === 'zero' ? { ...usage, cost: 0 } : usage;
    answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model, choices, usage: counted });
  });
  const free = 'pricing: { prompt: "0", completion: "0" }';
  const models = `[{ id: no-price }, { id: free, ${free} }, { id: priced-by-its-endpoint }]`;
  gateway = await startTestGateway(
    `admin: { token: ${TOKEN}, port: 0 }
tags: { team=search: { budgets: { day: "9.00" } } }
providers: { local: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: ${models} } }
models: { house/here: { endpoints: [{ provider: local, model: priced-by-its-endpoint, ${free} }] } }`,
    { keys: [`{ name: tagged, key: ${TAGGED}, tags: { team: search }, budgets: { month: "9.00" } }`] },
  );
  for (const model of MODELS) {
    const request = {
      model: model === PRICED_HERE ? 'house/here' : model,
      messages: [{ role: 'user', content: 'hi' }],
    };
    const headers = { authorization: `Bearer ${KEY}`, 'x-session-id': model === NO_PRICE ? 'unknown' : 'known' };
    const response = await post(`${gateway.url}/v1/chat/completions`, request, headers);
    assert.equal(response.status, 200, await response.text());
    ids.set(model, response.headers.get('x-polygate-request-id') ?? '');
  }
});
after(() => Promise.all([gateway.close(), upstream.close()]));

async function read(path: string, schema: Parameters<typeof problems>[0]): Promise<Json> {
  const [base, token] = path.startsWith('/admin') ? [gateway.adminUrl, TOKEN] : [gateway.url, KEY];
  const response = await fetch(base + path, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(response.status, 200);
  const body = await response.json();
  assert.deepEqual(problems(schema, body), []);
  return body;
}

async function readText(path: string): Promise<{ text: string }> {
  const [base, token] = path.startsWith('/admin') ? [gateway.adminUrl, TOKEN] : [gateway.url, KEY];
  return { text: await (await fetch(base + path, { headers: { authorization: `Bearer ${token}` } })).text() };
}

test('a generation and the sums of a key have null for a cost that is unknown', async () => {
  const get = async (path: string): Promise<Json> =>
    (await fetch(gateway.url + path, { headers: { authorization: `Bearer ${KEY}` } })).json();
  for (const [model, id] of ids) {
    const { data } = await get(`/v1/generation?id=${id}`);
    assert.deepEqual(
      [data.usage, data.total_cost, data.upstream_inference_cost],
      model === NO_PRICE ? [null, null, null] : [0, 0, 0],
    );
  }
  const { data, total } = await get('/v1/usage?by=day,model');
  assert.deepEqual(
    data.map(({ model, cost }: Json) => [model, cost]),
    MODELS.toSorted().map((model) => [model, model === NO_PRICE ? null : '0']),
  );
  assert.equal(total.cost, null);
  const byProvider = await get('/v1/usage?by=provider');
  assert.deepEqual(
    byProvider.data.map(({ provider, cost }: Json) => [provider, cost]),
    [
      ['local', null],
      ['sandbox', '0'],
    ],
  );
});

for (const base of ['/admin/v1', '/v1/self']) {
  test(`the cost of a request is null without a price, and zero of what is free, below ${base}`, async () => {
    const { data } = await read(`${base}/requests`, requestList);
    const costs = new Map(data.map(({ model, cost }: Json) => [model, cost]));
    assert.deepEqual(
      MODELS.map((model) => costs.get(model)),
      [null, '0', '0', '0'],
    );
    for (const [model, id] of ids) {
      const { data: one } = await read(`${base}/requests/${id}`, requestDetail);
      assert.equal(one.cost, costs.get(model));
    }
  });

  test(`summaries and conversations say of how many requests the cost is unknown, below ${base}`, async () => {
    const { data: summary } = await read(`${base}/requests/summary`, requestSummary);
    assert.deepEqual([summary.cost, summary.unknown_costs], [null, 1]);
    const { data: paid } = await read(`${base}/requests/summary?model=sandbox/echo`, requestSummary);
    assert.deepEqual([paid.cost, paid.unknown_costs], ['0', 0]);
    const { data: sessions } = await read(`${base}/requests/sessions`, requestSessions);
    const costs = sessions.map((one: Json) => [one.session, one.cost, one.unknown_costs, one.requests]);
    assert.deepEqual(costs.toSorted(), [
      ['known', '0', 0, 3],
      ['unknown', null, 1, 1],
    ]);
  });

  test(`sums of what has no price are null, whatever they are by, below ${base}`, async () => {
    const path = base === '/admin/v1' ? '/admin/v1/usage' : '/v1/self/usage';
    const byModel = await read(`${path}?by=model&compare=true`, use);
    assert.deepEqual(
      byModel.data.map(({ model, cost, unpriced_tokens: tokens }: Json) => [model, cost, tokens]),
      MODELS.toSorted().map((model) => (model === NO_PRICE ? [model, null, 15] : [model, '0', 0])),
    );
    assert.deepEqual(byModel.before.total.unpriced_tokens, 0);
    for (const query of [
      'by=day',
      'by=minute',
      'by=protocol,status',
      'by=day,provider&provider=local',
      'by=tag:team',
    ]) {
      const { data, total } = await read(`${path}?${query}`, use);
      const tokens = data.reduce((sum: number, row: Json) => sum + row.unpriced_tokens, 0);
      assert.deepEqual([tokens, total.unpriced_tokens, total.cost], [15, 15, null], query);
      for (const row of data) assert.equal(row.cost, row.unpriced_tokens > 0 ? null : '0');
    }
    const { data, subgroups } = await read(`${path}?by=provider&subgroup=model`, use);
    assert.deepEqual(
      data.map(({ provider, cost }: Json) => [provider, cost]),
      [
        ['local', null],
        ['sandbox', '0'],
      ],
    );
    const costs = new Map(subgroups.map(({ model, cost }: Json) => [model, cost]));
    assert.deepEqual([costs.get(NO_PRICE), costs.get('local/free')], [null, '0']);
    const { text } = await readText(`${path}?by=model&format=csv`);
    assert.match(text, new RegExp(`^${NO_PRICE},.*,15,\r?$`, 'm'));
  });

  test(`reports name the models without a price, whatever they group by, below ${base}`, async () => {
    const path = base === '/admin/v1' ? '/admin/v1/usage' : '/v1/self/usage';
    for (const by of ['model', 'day', 'hour,protocol']) {
      const report = await read(`${path}?by=${by}`, use);
      assert.deepEqual(report.models_without_price, [NO_PRICE]);
      assert.deepEqual(report.models_without_cost, MODELS.toSorted());
    }
  });
}

test('keys, tags and their budgets have the tokens whose price was unknown', async () => {
  for (const model of [NO_PRICE, 'local/free', NO_PRICE]) {
    const request = { model, messages: [{ role: 'user', content: 'hi' }] };
    const headers = { authorization: `Bearer ${TAGGED}` };
    const response = await post(`${gateway.url}/v1/chat/completions`, request, headers);
    assert.equal(response.status, 200, await response.text());
  }
  const [key] = (await read('/admin/v1/keys?name=tagged', keyList)).data;
  const [tag] = (await read('/admin/v1/tags', anyObject)).data;
  const own = await fetch(`${gateway.url}/v1/key`, { headers: { authorization: `Bearer ${TAGGED}` } });
  const facts = (await own.json()) as Json;
  assert.deepEqual(problems(ownKey, facts), []);
  const { effective, tags } = facts.data;
  const shared = tags['team=search'];
  for (const view of [key, tag, facts.data, shared]) {
    assert.deepEqual(view.unpriced_tokens, { day: 30, week: 30, month: 30, total: 30 });
    assert.equal(view.spent.total, '0');
  }
  for (const budgets of [key.effective.budgets, effective.budgets]) assert.equal(budgets.month.unpriced_tokens, 30);
  for (const budgets of [tag.budgets, shared.budgets]) assert.equal(budgets.day.unpriced_tokens, 30);
  for (const list of ['keys?name=tagged', 'tags?search=team']) {
    const [head = '', line = ''] = (await readText(`/admin/v1/${list}&format=csv`)).text.split('\r\n');
    const column = head.split(',').indexOf('unpriced_tokens.month');
    assert.equal(line.split(',')[column], '30', head);
  }
});

test('a cost of zero that is reported for a model without a price is unknown everywhere', async () => {
  const unpriced = async () => (await read('/admin/v1/keys?name=tagged', keyList)).data[0].unpriced_tokens.total;
  const before = await unpriced();
  const request = { model: NO_PRICE, messages: [{ role: 'user', content: 'zero' }] };
  const headers = { authorization: `Bearer ${TAGGED}` };
  const response = await post(`${gateway.url}/v1/chat/completions`, request, headers);
  assert.equal(response.headers.get('x-polygate-cost'), null);
  const id = response.headers.get('x-polygate-request-id') ?? '';
  await response.text();
  assert.equal((await read(`/admin/v1/requests/${id}`, requestDetail)).data.cost, null);
  assert.equal(await unpriced(), before + 15);
});
