/** What options for a provider add to a request is reserved, and charged where the client leaves before any usage is reported. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, post, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';
import { get } from './usage-client.ts';
import { eventually } from './video-client.ts';

const KEY = 'sk-test-of-options-0123456789';
/** About 10,000 tokens. */
const TEXT = 'a boat on a river '.repeat(2000);

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  // Never answers.
  upstream = await startUpstream(() => {});
  const pricing = 'pricing: { prompt: "0.00001", completion: "0" }';
  gateway = await startTestGateway(
    `providers: { messages: { type: anthropic, api_key: k, base_url: "${upstream.url}", models: [{ id: m, ${pricing} }] } }`,
    { keys: [`{ name: optional, key: ${KEY}, budgets: { total: "2" } }`] },
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** USD that a request holds, and what it costs when its client has left. */
async function costsOf(body: Json): Promise<{ held: number; charged: number }> {
  const before = gateway.log.length;
  const asked = upstream.calls.length;
  const leaving = new AbortController();
  const headers = { ...HEADERS.chat, authorization: `Bearer ${KEY}` };
  const given = { model: 'messages/m', max_tokens: 10, ...body };
  const answer = post(`${gateway.url}/v1/chat/completions`, given, headers, leaving.signal);
  await eventually({}, () => upstream.calls.length > asked);
  const { data } = (await get(gateway.url, '/v1/key', KEY)).body;
  leaving.abort();
  await assert.rejects(answer);
  const find = () =>
    gateway.log.slice(before).find((line) => line.msg === 'answered' && line.status === 'client-closed');
  await eventually({}, () => find() !== undefined);
  return { held: Number(data.held.total), charged: Number(find().cost) };
}

test('attack: a long text in the options costs as much as one in the request', async () => {
  const hi = { role: 'user', content: 'Hi' };
  const inside = await costsOf({ messages: [{ role: 'system', content: TEXT }, hi] });
  const provider = { options: { messages: { system: TEXT } } };
  const optional = await costsOf({ messages: [hi], provider });
  assert.ok(inside.held > 0.05 && inside.charged > 0.05, JSON.stringify(inside));
  for (const name of ['held', 'charged'] as const) {
    const share = optional[name] / inside[name];
    assert.ok(share > 0.99 && share < 1.01, `${name}: ${share}`);
  }
});

test('options that are no input add nothing', async () => {
  const messages = [{ role: 'user', content: 'Hi' }];
  const plain = await costsOf({ messages });
  const provider = { options: { messages: { service_tier: 'standard_only' } } };
  assert.deepEqual(await costsOf({ messages, provider }), plain);
});
