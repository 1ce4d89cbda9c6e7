/** Web searches that a request may make are reserved: as many as it allows, or five where nothing limits them. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { WIRES } from '../faults/wires.ts';
import {
  answerJson,
  createPermits,
  HEADERS,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { get } from './usage-client.ts';

const KEY = 'sk-test-of-searches-0123456789';

const permits = createPermits();
let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(async ({ path }, response) => {
    await permits.take();
    const wire = path.endsWith('/messages') ? 'messages' : path.endsWith('/responses') ? 'responses' : 'chat';
    answerJson(response, WIRES[wire].whole);
  });
  // Nothing else costs anything.
  const models = 'models: [{ id: m, pricing: { prompt: "0", completion: "0", web_search: "0.01" } }]';
  gateway = await startTestGateway(
    `providers:
  messages: { type: anthropic, api_key: k, base_url: "${upstream.url}", ${models} }
  responses: { type: open-responses, base_url: "${upstream.url}/v1", ${models} }
  chat: { type: openai-compatible, base_url: "${upstream.url}/v1", ${models} }
`,
    { keys: [`{ name: searching, key: ${KEY}, budgets: { total: "2" } }`] },
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const HI = { max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] };
const SEARCH = { type: 'web_search_20250305', name: 'web_search' };
const FETCH = { type: 'web_fetch_20250910', name: 'web_fetch' };
const searching = (more: Json, model = 'messages/m'): Json => ({ ...HI, model, tools: [{ ...SEARCH, ...more }] });

const later = (listed: number, max_uses?: number): Json => {
  const tool = { type: 'tool_definition', definition: { ...SEARCH, name: 'more', max_uses } };
  const turn = { role: 'system', content: [{ type: 'tool_addition', tool }] };
  return { ...searching({ max_uses: listed }), messages: [...HI.messages, turn] };
};

const optional = (more: Json): Json => ({
  ...{ ...HI, model: 'messages/m' },
  provider: { options: { messages: { tools: [{ ...SEARCH, ...more }] } } },
});

const CASES: [what: string, path: string, body: Json, held: string][] = [
  ['messages with no search', '/anthropic/v1/messages', { ...HI, model: 'messages/m' }, '0'],
  ['messages without a limit', '/anthropic/v1/messages', searching({}), '0.05'],
  ['messages with one use', '/anthropic/v1/messages', searching({ max_uses: 1 }), '0.01'],
  ['messages with fifty uses', '/anthropic/v1/messages', searching({ max_uses: 50 }), '0.5'],
  ['messages with a million uses', '/anthropic/v1/messages', searching({ max_uses: 1_000_000 }), '1'],
  [
    'messages with fifty uses beside a tool that only the provider knows',
    '/anthropic/v1/messages',
    { ...HI, model: 'messages/m', tools: [{ ...SEARCH, max_uses: 50 }, FETCH] },
    '0.5',
  ],
  ['messages with fifty uses of a tool that the conversation defines', '/anthropic/v1/messages', later(1, 49), '0.5'],
  ['messages with a tool that the conversation defines', '/anthropic/v1/messages', later(1), '0.05'],
  [
    'messages with one use, which the upstream is not told',
    '/anthropic/v1/messages',
    searching({ max_uses: 1 }, 'responses/m'),
    '0.05',
  ],
  [
    'responses without a limit',
    '/v1/responses',
    { model: 'responses/m', input: 'Hi', tools: [{ type: 'web_search' }] },
    '0.05',
  ],
  [
    'responses with twenty calls of tools',
    '/v1/responses',
    { model: 'responses/m', input: 'Hi', tools: [{ type: 'web_search' }], max_tool_calls: 20 },
    '0.2',
  ],
  ['chat', '/v1/chat/completions', { ...HI, model: 'chat/m', web_search_options: {} }, '0.05'],
  ['a search in the options for a provider', '/v1/chat/completions', optional({}), '0.05'],
  ['fifty uses in the options for a provider', '/v1/chat/completions', optional({ max_uses: 50 }), '0.5'],
];

for (const [what, path, body, held] of CASES) {
  test(`${what}: ${held} USD`, async () => {
    const before = upstream.calls.length;
    const headers = path.endsWith('/messages')
      ? { ...HEADERS.messages, 'x-api-key': KEY }
      : { ...HEADERS.chat, authorization: `Bearer ${KEY}` };
    const answer = post(gateway.url + path, body, headers);
    const isSent = async () => {
      while (upstream.calls.length === before) await new Promise(setImmediate);
    };
    const early = await Promise.race([answer, isSent()]);
    assert.equal(early, undefined, `refused: ${await early?.text()}`);
    const { data } = (await get(gateway.url, '/v1/key', KEY)).body;
    permits.give();
    assert.equal((await answer).status, 200);
    assert.equal(data.held.total, held);
    assert.equal((await get(gateway.url, '/v1/key', KEY)).body.data.held.total, '0');
  });
}

test('a tool of a wrong type in the options for a provider is none that searches', async () => {
  const provider = { options: { messages: { tools: [{ type: { toString: 1 } }, null] } } };
  permits.give();
  const headers = { ...HEADERS.chat, authorization: `Bearer ${KEY}` };
  const answer = await post(`${gateway.url}/v1/chat/completions`, { ...HI, model: 'messages/m', provider }, headers);
  assert.equal(answer.status, 200, await answer.text());
});

test('more than the budget leaves is refused', async () => {
  const answers = Array.from({ length: 3 }, () =>
    post(`${gateway.url}/anthropic/v1/messages`, searching({ max_uses: 90 }), {
      ...HEADERS.messages,
      'x-api-key': KEY,
    }),
  );
  const refused = await Promise.race(answers);
  assert.equal(refused.status, 402);
  permits.give();
  permits.give();
  const statuses = await Promise.all(answers.map(async (answer) => (await answer).status));
  assert.deepEqual(statuses.toSorted(), [200, 200, 402]);
});
