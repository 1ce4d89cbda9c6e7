/** Cost of videos: in the sums of a key, in its budgets, and reserved before it is spent. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import type { Json } from '../../src/core/json/json.ts';
import { answerJson, post, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';
import { get } from './usage-client.ts';
import { videoClient } from './video-client.ts';

const RICH = 'sk-test-videos-rich-0123456789';
const SLOW = 'sk-test-videos-slow-0123456789';
const UNKNOWN = 'sk-test-videos-unknown-0123456789';
const UNPRICED = 'sk-test-videos-unpriced-0123456789';
const GREEDY = 'sk-test-videos-greedy-0123456789';
const UNDERPRICED = 'sk-test-videos-underpriced-0123456789';
const ASKED = { model: 'studio/wan', prompt: 'a cat', duration: 4, resolution: undefined };

let upstream: TestUpstream;
let gateway: TestGateway;
let finished = false;
/** Upstream ids of tasks whose cost the upstream reports. */
const reported = new Set<string>();
/** Upstream ids of tasks with more videos than anybody makes. */
const many = new Set<string>();

/** Time flies, so that a poll comes soon. */
function fastClock() {
  const start = Date.now() - (Date.now() % 86_400_000) + 1000;
  const began = performance.now();
  return {
    ...systemClock,
    now: (): number => Math.floor(start + (performance.now() - began) * 20),
    after: (milliseconds: number, callback: () => void) => systemClock.after(milliseconds / 20, callback),
  };
}

function answerChat(response: ServerResponse): void {
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: 'talk', choices, usage });
}

before(async () => {
  let made = 0;
  upstream = await startUpstream(({ method, path, body }, response) => {
    if (path.endsWith('/chat/completions')) return answerChat(response);
    if (method === 'POST') {
      const id = `up-${++made}`;
      if (body.model === 'unpriced' || body.model === 'underpriced') reported.add(id);
      if (body.model === 'many') many.add(id);
      return answerJson(response, { id, object: 'video', status: 'queued' });
    }
    if (path.includes('/content')) return void response.writeHead(200, { 'content-type': 'video/mp4' }).end('film');
    const id = path.split('/').at(-1) ?? '';
    if (many.has(id)) {
      const urls = Array.from({ length: 100_000 }, () => '');
      return answerJson(response, { id, object: 'video', status: 'completed', unsigned_urls: urls });
    }
    if (reported.has(id))
      return answerJson(response, { id, object: 'video', status: 'completed', usage: { cost: 1.5 } });
    answerJson(response, { id, object: 'video', status: finished ? 'completed' : 'in_progress', body });
  });
  const key = (name: string, value: string, settings: string) => `{ name: ${name}, key: ${value}, ${settings} }`;
  gateway = await startTestGateway(
    `
videos: { mirror: off }
admin: { port: 0, token: admin-token-0123456789-0123456789 }
providers:
  studio:
    type: openai-compatible
    base_url: "${upstream.url}/v1"
    models:
      - { id: wan, video: { durations: [4, 8], prices: { per-video-second: "0.50" } } }
      - { id: odd, video: { durations: [4, 8] } }
      - { id: talk, pricing: { prompt: "0.000001", completion: "0.000001" } }
      - { id: unpriced, video: { durations: [4, 8] } }
      - { id: many, video: { durations: [4, 8], prices: { per-video-second: "0.01" } } }
      - { id: underpriced, video: { durations: [4, 8], prices: { per-video-second: "0.01" } } }
`,
    {
      keys: [
        key('rich', RICH, 'budgets: { total: "5" }'),
        key('slow', SLOW, 'limits: { requests_per_minute: 1 }'),
        key('unpriced', UNPRICED, 'budgets: { total: "2" }'),
        key('underpriced', UNDERPRICED, 'budgets: { total: "2" }'),
        key('greedy', GREEDY, 'budgets: { total: "2" }'),
        key('unknown', UNKNOWN, 'budgets: { total: "2" }'),
      ],
      clock: fastClock(),
    },
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

async function usageOf(key: string): Promise<Json> {
  return (await get(gateway.url, '/v1/usage?by=model', key)).body;
}

/** Until that many requests are in the sums. */
async function recorded(key: string, count: number): Promise<Json> {
  for (;;) {
    const usage = await usageOf(key);
    if (usage.total.requests === count) return usage;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('a budget holds what open tasks may cost, and keeps what they did', async () => {
  const rich = videoClient(gateway, RICH);
  const first = await rich.create(ASKED, { 'idempotency-key': 'one' });
  await rich.create(ASKED);
  const refused = await rich.send('POST', '/v1/videos', ASKED);
  assert.equal(refused.status, 402, JSON.stringify(refused.body));
  assert.equal(refused.body.error.code, 'insufficient_quota');
  assert.match(refused.body.error.message, /5 USD in all; 1 USD are left, and this request may cost 2 USD/);
  const again = await rich.send('POST', '/v1/videos', ASKED, { 'idempotency-key': 'one' });
  assert.deepEqual([again.status, again.body.id], [202, first.id]);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  finished = true;
  const usage = await recorded(RICH, 2);
  assert.deepEqual([usage.data[0].model, usage.total.cost, usage.total.input_tokens], ['studio/wan', '4', 0]);
  const { data } = (await get(gateway.url, '/v1/key', RICH)).body;
  assert.deepEqual([data.usage, data.limit_remaining], [4, 1]);
  const record = (await get(gateway.url, `/v1/generation?id=${first.id}`, RICH)).body.data;
  assert.deepEqual([record.api_type, record.status, record.total_cost], ['videos', 'completed', 2]);
  assert.equal((await rich.send('POST', '/v1/videos', ASKED)).status, 402);
  assert.equal((await rich.send('GET', '/v1/videos')).body.data.length, 2);
});

test('of more videos than a provider makes the first are charged and kept', async () => {
  const client = videoClient(gateway, GREEDY);
  const made = await client.create({ ...ASKED, model: 'studio/many' });
  assert.equal((await recorded(GREEDY, 1)).total.cost, '0.64');
  const { body } = await client.send('GET', `/v1/videos/${made.id}`);
  assert.equal(body.unsigned_urls.length, 16);
});

test('the operator sees it', async () => {
  const response = await fetch(`${gateway.adminUrl}/admin/v1/keys`, {
    headers: { authorization: 'Bearer admin-token-0123456789-0123456789' },
  });
  const { data }: Json = await response.json();
  const rich = data.find(({ name }: Json) => name === 'rich');
  assert.equal(rich?.usage, 4, JSON.stringify(data));
});

test('requests a minute', async () => {
  const slow = videoClient(gateway, SLOW);
  const made = await slow.send('POST', '/v1/videos', ASKED);
  assert.equal(made.status, 202);
  assert.equal(made.headers.get('x-ratelimit-limit-requests'), '1');
  const refused = await slow.send('POST', '/v1/videos', ASKED);
  assert.equal(refused.status, 429);
  assert.equal(refused.body.error.code, 'rate_limit_exceeded');
  assert.equal(refused.headers.get('x-ratelimit-remaining-requests'), '0');
});

test('what has no known price needs a budget of which something is left', async () => {
  const unknown = videoClient(gateway, UNKNOWN);
  await unknown.create({ ...ASKED, model: 'studio/odd' });
  await recorded(UNKNOWN, 1);
  await unknown.create(ASKED);
  await recorded(UNKNOWN, 2);
  assert.equal((await unknown.send('POST', '/v1/videos', { ...ASKED, model: 'studio/odd' })).status, 402);
});

for (const [model, key] of [
  ['unpriced', UNPRICED],
  ['underpriced', UNDERPRICED],
] as const) {
  test(`a video that costs more than was held for it counts in the budget, for chats and videos (${model})`, async () => {
    const asked = { ...ASKED, model: `studio/${model}` };
    const client = videoClient(gateway, key);
    for (const count of [1, 2]) {
      assert.equal(await chatStatus(key), 200);
      await client.create(asked);
      await recorded(key, 2 * count);
    }
    assert.equal((await usageOf(key)).total.cost, '3.000004');
    assert.equal(await chatStatus(key), 402);
    const refused = await client.send('POST', '/v1/videos', asked);
    assert.equal(refused.status, 402, JSON.stringify(refused.body));
  });
}

async function chatStatus(key: string): Promise<number> {
  const body = { model: 'studio/talk', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 };
  const response = await post(`${gateway.url}/v1/chat/completions`, body, { authorization: `Bearer ${key}` });
  await response.text();
  return response.status;
}
