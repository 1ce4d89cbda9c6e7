/** Input that only the upstream sees, and prices that only the answer tells: a budget allows few such requests at once. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { WIRES } from '../faults/wires.ts';
import {
  answerJson,
  createPermits,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { get } from './usage-client.ts';

const COUNT = 40;
const NAMES = [
  'file',
  'pdf',
  'pictures',
  'sound',
  'search',
  'url',
  'id',
  'tool',
  'prompt',
  'cache',
  'thread',
  'billed',
  'little',
] as const;
type Name = (typeof NAMES)[number];

const permits = createPermits();
let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(async ({ path }, response) => {
    await permits.take();
    if (path.includes(':generateContent')) return answerJson(response, WIRES.generate.whole);
    if (path.endsWith('/messages')) return answerJson(response, WIRES.messages.whole);
    answerJson(response, path.endsWith('/responses') ? WIRES.responses.whole : WIRES.chat.whole);
  });
  // The whole context costs 0.4 USD.
  const models = `models: [{ id: m, context_length: 400000, input_modalities: [text, file, image, audio], pricing: { prompt: "0.000001", audio: "0.000001", completion: "0" } }]`;
  gateway = await startTestGateway(
    `providers:
  chat: { type: openai-compatible, base_url: "${upstream.url}/v1", ${models} }
  responses: { type: open-responses, base_url: "${upstream.url}/v1", ${models} }
  claude: { type: anthropic, api_key: k, base_url: "${upstream.url}", ${models} }
  gemini: { type: google, api_key: k, base_url: "${upstream.url}", ${models} }
  router: { type: openrouter, api_key: k, base_url: "${upstream.url}/v1", models: [{ id: m }] }
`,
    {
      keys: NAMES.map(
        (name) => `{ name: ${name}, key: ${keyOf(name)}, budgets: { total: "${name === 'little' ? '0.1' : 1}" } }`,
      ),
    },
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

function keyOf(name: Name): string {
  return `sk-test-hidden-${name}-0123456789`;
}

function ask(name: Name, path: string, body: Json): Promise<Response> {
  const key = keyOf(name);
  const headers = { authorization: `Bearer ${key}`, 'x-goog-api-key': key, 'anthropic-version': '2023-06-01' };
  return post(gateway.url + path, body, headers);
}

const chat = (model: string, part: Json): Json => ({
  ...{ model, max_tokens: 16, messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, part] }] },
});
const FILE = { type: 'file', file: { file_id: 'file-1' } };
/** Compressed, so that their size says little. */
const PDF = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjcK' } };
const SOUND = { type: 'input_audio', input_audio: { format: 'mp3', data: '//NExAAAAAAA' } };
const PICTURE = { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } };
const pictures = (model: string, count: number): Json => ({
  ...{ model, max_tokens: 16, messages: [{ role: 'user', content: Array(count).fill(PICTURE) }] },
});
/** The results of fifty searches are as long as the context. */
const SEARCHING = {
  ...{ model: 'responses/m', store: false, max_output_tokens: 16, max_tool_calls: 50 },
  ...{ input: 'Hi', tools: [{ type: 'web_search' }] },
};
const CASES: [name: Name, path: string, body: Json, most: number][] = [
  ['file', '/v1/chat/completions', chat('chat/m', FILE), 8],
  ['pdf', '/v1/chat/completions', chat('chat/m', PDF), 20],
  ['pictures', '/v1/chat/completions', pictures('chat/m', 33), 12],
  ['sound', '/v1/chat/completions', chat('chat/m', SOUND), 20],
  ['search', '/v1/responses', SEARCHING, 20],
  [
    'url',
    '/v1/responses',
    {
      ...{ model: 'responses/m', store: false, max_output_tokens: 16 },
      input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }] }],
    },
    8,
  ],
  [
    'id',
    '/v1/responses',
    {
      ...{ model: 'responses/m', store: false, max_output_tokens: 16 },
      input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }],
    },
    8,
  ],
  [
    'tool',
    '/gemini/v1beta/models/gemini/m:generateContent',
    {
      contents: [{ role: 'user', parts: [{ text: 'Hi' }, { fileData: { fileUri: 'https://example.com/a.pdf' } }] }],
      ...{ tools: [{ codeExecution: {} }], generationConfig: { maxOutputTokens: 16 } },
    },
    8,
  ],
  [
    'prompt',
    '/v1/responses',
    { model: 'responses/m', store: false, max_output_tokens: 16, input: 'Hi', prompt: { id: 'p' } },
    8,
  ],
  [
    'cache',
    '/gemini/v1beta/models/gemini/m:generateContent',
    {
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      cachedContent: 'cachedContents/c',
      generationConfig: { maxOutputTokens: 16 },
    },
    8,
  ],
  [
    'thread',
    '/anthropic/v1/messages',
    {
      ...{ model: 'claude/m', max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] },
      thread: { type: 'continue', previous_message_id: 'msg_1' },
    },
    8,
  ],
  ['billed', '/v1/chat/completions', chat('router/m', { type: 'text', text: 'Ho' }), 8],
];

for (const [name, path, body, most] of CASES) {
  test(`of ${COUNT} requests at once few are admitted (${name})`, async () => {
    const before = upstream.calls.length;
    const asked = Array.from({ length: COUNT }, async () => {
      const response = await ask(name, path, body);
      await response.text();
      return response.status;
    });
    let ended = 0;
    for (const one of asked) void one.then(() => ended++);
    while (upstream.calls.length - before + ended < COUNT) await new Promise(setImmediate);
    const admitted = upstream.calls.length - before;
    for (let index = 0; index < admitted; index++) permits.give();
    const statuses = await Promise.all(asked);
    assert.deepEqual(new Set(statuses), new Set([200, path.startsWith('/gemini') ? 429 : 402]));
    assert.ok(admitted >= 2 && admitted <= most, `${admitted} were admitted`);
    const { data } = (await get(gateway.url, '/v1/key', keyOf(name))).body;
    assert.equal(data.held.total, '0');
  });
}

test('a budget that is less than the context costs allows a request of usual size', async () => {
  permits.give();
  const response = await ask('little', '/v1/chat/completions', chat('chat/m', FILE));
  assert.equal(response.status, 200, await response.text());
});
