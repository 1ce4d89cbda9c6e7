/** A cost that is not known, because the model has no price: null in lists, named in reports, and never zero. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { problems } from '../../src/core/json/check.ts';
import type { Json } from '../../src/core/json/json.ts';
import { requestDetail, requestList } from '../../src/http/requests/schema.ts';
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
const NO_PRICE = 'local/no-price';
const PRICED_HERE = 'local/priced-by-its-endpoint';
const MODELS = [NO_PRICE, 'local/free', PRICED_HERE, 'sandbox/echo'];

let upstream: TestUpstream;
let gateway: TestGateway;
const ids = new Map<string, string>();

before(async () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
  upstream = await startUpstream((call, response) =>
    answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: call.body.model, choices, usage }),
  );
  const free = 'pricing: { prompt: "0", completion: "0" }';
  const models = `[{ id: no-price }, { id: free, ${free} }, { id: priced-by-its-endpoint }]`;
  gateway = await startTestGateway(
    `admin: { token: ${TOKEN}, port: 0 }
providers: { local: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: ${models} } }
models: { house/here: { endpoints: [{ provider: local, model: priced-by-its-endpoint, ${free} }] } }`,
  );
  for (const model of MODELS) {
    const request = {
      model: model === PRICED_HERE ? 'house/here' : model,
      messages: [{ role: 'user', content: 'hi' }],
    };
    const response = await post(`${gateway.url}/v1/chat/completions`, request, { authorization: `Bearer ${KEY}` });
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

  test(`reports name the models without a price, whatever they group by, below ${base}`, async () => {
    const path = base === '/admin/v1' ? '/admin/v1/usage' : '/v1/self/usage';
    for (const by of ['model', 'day', 'hour,protocol']) {
      const report = await read(`${path}?by=${by}`, use);
      assert.deepEqual(report.models_without_price, [NO_PRICE]);
      assert.deepEqual(report.models_without_cost, MODELS.toSorted());
    }
  });
}
