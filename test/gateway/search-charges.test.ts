/** Web searches of the providers that bill them are charged at the prices of the bundled catalog, and reserved. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { decimalOf, moneyOf } from '../../src/core/money.ts';
import { WIRES } from '../faults/wires.ts';
import { responseOf } from '../protocols/responses-wire.ts';
import {
  answerEvents,
  answerJson,
  HEADERS,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from './harness.ts';
import { hear } from './usage-client.ts';

const KEY = 'sk-test-of-charges-0123456789';
const POOR = 'sk-test-of-charges-poor-0123456789';

let upstream: TestUpstream;
let gateway: TestGateway;

/** An answer of 100 tokens in and 10 out, with as many searches as the question names: `searches:3`. */
function answerTo({ path, bytes }: UpstreamCall): Json {
  const count = Number(/searches:(\d)/.exec(bytes.toString())?.[1]);
  const queries = Array.from({ length: count }, (_, index) => `query ${index}`);
  if (path.endsWith('/messages')) {
    const used = count > 0 && { server_tool_use: { web_search_requests: count } };
    return { ...WIRES.messages.whole, usage: { input_tokens: 100, output_tokens: 10, ...used } };
  }
  if (path.endsWith('/responses')) {
    const calls = queries.map((query, index) => {
      return { id: `ws_${index}`, type: 'web_search_call', status: 'completed', action: { type: 'search', query } };
    });
    const opened = {
      id: 'ws_o',
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'open_page', url: 'u' },
    };
    const usage = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
    return responseOf({ status: 'completed', output: [...calls, opened, ...WIRES.responses.whole.output], usage });
  }
  if (path.includes('enerateContent')) {
    const [candidate] = WIRES.generate.whole.candidates;
    const grounded = count > 0 && { groundingMetadata: { webSearchQueries: queries } };
    const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 };
    return { ...WIRES.generate.whole, candidates: [{ ...candidate, ...grounded }], usageMetadata };
  }
  const used = count > 0 && { server_tool_use: { web_search_requests: count } };
  return { ...WIRES.chat.whole, usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, ...used } };
}

before(async () => {
  upstream = await startUpstream((call, response) => {
    const answer = answerTo(call);
    if (!call.path.includes('stream')) return answerJson(response, answer);
    // The searches come before the end.
    const { candidates, ...rest } = answer;
    const last = { ...rest, candidates: [{ index: 0, content: { parts: [] }, finishReason: 'STOP' }] };
    const first = { ...rest, candidates: [{ ...candidates[0], finishReason: undefined }] };
    answerEvents(response, [first, last].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''));
  });
  const at = (path: string) => `base_url: "${upstream.url}${path}", api_key: k`;
  const own = 'prompt: "0.000001", completion: "0.000002"';
  gateway = await startTestGateway(
    `providers:
  anthropic: { ${at('')} }
  openai: { ${at('/v1')} }
  google: { ${at('')} }
  xai: { ${at('/v1')} }
  openrouter: { ${at('/v1')} }
  negotiated:
    type: anthropic
    base_url: "${upstream.url}"
    api_key: k
    models:
      - { id: claude-opus-5, pricing: { ${own} } }
      - { id: claude-sonnet-5, pricing: { ${own}, web_search: "0" } }
models:
  team/model: { endpoints: [{ provider: anthropic, model: claude-opus-5, pricing: { ${own} } }] }
`,
    {
      keys: [
        `{ name: rich, key: ${KEY}, budgets: { total: "100" } }`,
        `{ name: poor, key: ${POOR}, budgets: { total: "0.04" } }`,
      ],
    },
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

async function askFor(model: string, searches: number, key = KEY): Promise<Response> {
  const text = `searches:${searches}`;
  const max_output_tokens = 20;
  if (/^(openai|xai)/.test(model))
    return post(
      `${gateway.url}/v1/responses`,
      { model, input: text, tools: [{ type: 'web_search' }], max_output_tokens },
      { ...HEADERS.chat, authorization: `Bearer ${key}` },
    );
  if (model.startsWith('google'))
    return post(
      `${gateway.url}/gemini/v1beta/models/${model}:generateContent`,
      { contents: [{ role: 'user', parts: [{ text }] }], tools: [{ googleSearch: {} }] },
      { 'x-goog-api-key': key },
    );
  if (model.startsWith('openrouter'))
    return post(
      `${gateway.url}/v1/chat/completions`,
      { model, messages: [{ role: 'user', content: text }], web_search_options: {} },
      { authorization: `Bearer ${key}` },
    );
  const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
  const body = { model, max_tokens: 20, messages: [{ role: 'user', content: text }], tools };
  return post(`${gateway.url}/anthropic/v1/messages`, body, { ...HEADERS.messages, 'x-api-key': key });
}

async function costOf(model: string, searches: number): Promise<bigint> {
  const answer = await askFor(model, searches);
  assert.equal(answer.status, 200, await answer.text());
  return moneyOf(answer.headers.get('x-polygate-cost') ?? assert.fail('a cost'));
}

const CASES: [model: string, three: string, note?: string][] = [
  ['anthropic/claude-opus-5', '0.03'],
  ['openai/gpt-5.4', '0.03', 'opened pages are not searches'],
  ['openai/gpt-4.1', '0.075'],
  ['google/gemini-3.5-flash', '0.042'],
  ['google/gemini-2.5-pro', '0.035', 'once for a request that searches'],
  ['xai/grok-4.5', '0.015'],
  ['openrouter/anthropic/claude-opus-5', '0.03'],
  ['openrouter/deepseek/deepseek-v4-pro', '0.06'],
  ['negotiated/claude-opus-5', '0.03', 'configured prices of tokens leave that of a search'],
  ['negotiated/claude-sonnet-5', '0', 'a configured price of a search counts'],
  ['team/model', '0.03', 'configured prices of an endpoint leave that of a search'],
];

for (const [model, three, note] of CASES) {
  test(`three searches of ${model} cost ${three}${note ? `: ${note}` : ''}`, async () => {
    const plain = await costOf(model, 0);
    assert.ok(plain > 0n);
    assert.equal(decimalOf((await costOf(model, 3)) - plain), three);
  });
}

test('three searches of a Gemini stream cost 0.042', async () => {
  const costs = [0, 3].map(async (count) => {
    const more = { tools: [{ googleSearch: {} }] };
    const asked = { protocol: 'generate', model: 'google/gemini-3.5-flash', text: `searches:${count}` } as const;
    const { trailers } = await hear(gateway.url, { ...asked, stream: true, key: KEY, more });
    return moneyOf(trailers['x-polygate-cost'] ?? assert.fail('a cost'));
  });
  const [plain = 0n, three = 0n] = await Promise.all(costs);
  assert.ok(plain > 0n);
  assert.equal(decimalOf(three - plain), '0.042');
});

test('five searches are reserved: a budget that does not pay for them is refused', async () => {
  const answer = await askFor('anthropic/claude-opus-5', 1, POOR);
  assert.equal(answer.status, 402, await answer.text());
});
