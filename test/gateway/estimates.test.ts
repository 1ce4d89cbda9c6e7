/** Estimated tokens and costs, and responses that broke off: their sums in reports are those of the records. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { decimalOf, moneyOf } from '../../src/core/money.ts';
import { answerJson, post, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';

const KEY = 'sk-test-of-counts-0123456789';
const TOKEN = 'admin-token-0123456789-0123456789';
const MODELS = ['whole', 'uncounted', 'broken', 'whole', 'uncounted'];

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  upstream = await startUpstream((call, response) => {
    const about = { id: 'c', object: 'chat.completion', created: 1, model: call.body.model };
    if (call.body.model === 'broken') {
      const choices = [{ index: 0, delta: { role: 'assistant', content: 'One, two, ' }, finish_reason: null }];
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ ...about, object: 'chat.completion.chunk', choices })}\n\n`, () =>
        response.destroy(),
      );
      return;
    }
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes, it is.' }, finish_reason: 'stop' }];
    answerJson(response, { ...about, choices, ...(call.body.model === 'whole' && { usage }) });
  });
  const pricing = 'pricing: { prompt: "0.0000012", completion: "0.0000034" }';
  const models = ['whole', 'uncounted', 'broken'].map((id) => `{ id: ${id}, ${pricing} }`);
  const key = `{ name: counts, key: ${KEY}, tags: { team: search }, budgets: { month: "9.00" } }`;
  const yaml = `admin: { token: ${TOKEN}, port: 0 }
tags: { team=search: { budgets: { day: "9.00" } } }
providers: { local: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [${models.join(', ')}] } }`;
  gateway = await startTestGateway(yaml, { keys: [key] });
  for (const name of MODELS) {
    const request = {
      model: `local/${name}`,
      stream: name === 'broken',
      messages: [{ role: 'user', content: 'Is this a question?' }],
    };
    const response = await post(`${gateway.url}/v1/chat/completions`, request, { authorization: `Bearer ${KEY}` });
    await response.text().catch(() => undefined);
  }
});
after(() => Promise.all([gateway.close(), upstream.close()]));

async function read(path: string): Promise<Json> {
  const response = await fetch(`${gateway.adminUrl}/admin/v1${path}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  assert.equal(response.status, 200);
  return response.json();
}

test('keys, tags and their budgets have the estimated part of what is spent, that of the records', async () => {
  const { data: records } = await read('/requests');
  const costOf = (rows: Json[]) => decimalOf(rows.reduce((sum, { cost }) => sum + moneyOf(cost), 0n));
  const [spent, estimated] = [costOf(records), costOf(records.filter((record: Json) => record.estimated))];
  assert.ok(moneyOf(estimated) > 0n && moneyOf(estimated) < moneyOf(spent));
  const [key] = (await read('/keys?name=counts')).data;
  const [tag] = (await read('/tags?search=team')).data;
  const own = await fetch(`${gateway.url}/v1/key`, { headers: { authorization: `Bearer ${KEY}` } });
  const facts = ((await own.json()) as Json).data;
  for (const view of [key, tag, facts, facts.tags['team=search']]) {
    assert.deepEqual([view.spent.total, view.spent_estimated.month], [spent, estimated]);
    assert.deepEqual(view.spent_videos, { day: '0', week: '0', month: '0', total: '0' });
  }
  for (const use of [key.effective.budgets.month, tag.budgets.day, facts.tags['team=search'].budgets.day]) {
    assert.deepEqual([use.spent, use.spent_estimated, use.spent_videos], [spent, estimated, '0']);
  }
});

for (const by of ['day', 'minute', 'model', 'status', 'hour,key,protocol']) {
  test(`by ${by}, the sums of estimates and of what broke off are those of the records`, async () => {
    const { data: records } = await read('/requests');
    assert.equal(records.length, MODELS.length);
    const { data, total } = await read(`/usage?by=${by}`);
    const estimated = records.filter((record: Json) => record.estimated);
    const sum = (rows: Json[], of: (row: Json) => bigint) => rows.reduce((all, row) => all + of(row), 0n);
    const tokens = sum(estimated, (one) => BigInt(one.input_tokens + one.output_tokens));
    const cost = sum(estimated, (one) => moneyOf(one.cost));
    const partial = records.filter(({ status }: Json) => status === 'partial').length;
    assert.deepEqual([estimated.length, partial], [3, 1]);
    assert.ok(tokens > 0n && cost > 0n && cost < sum(records, (one) => moneyOf(one.cost)));
    for (const rows of [data, [total]]) {
      assert.equal(
        sum(rows, (row) => BigInt(row.estimated_tokens)),
        tokens,
      );
      assert.equal(
        sum(rows, (row) => moneyOf(row.estimated_cost)),
        cost,
      );
      assert.equal(
        sum(rows, (row) => BigInt(row.partial)),
        BigInt(partial),
      );
      assert.equal(
        sum(rows, (row) => BigInt(row.assessed)),
        BigInt(MODELS.length),
      );
    }
  });
}
