/** Web searches of Gemini models are charged, relayed as well as translated. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import {
  answerEvents,
  answerJson,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { get } from './usage-client.ts';

const USAGE = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 };
const GROUNDED = { groundingMetadata: { webSearchQueries: ['cats', 'dogs', 'boats'], groundingChunks: [] } };
const answer = (more: Json = {}): Json => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hi' }] }, ...more }],
  responseId: 'r',
  modelVersion: 'm',
});

let upstream: TestUpstream;
let gateway: TestGateway;
/** Chunks of a streamed answer. */
let chunks: Json[] = [];

before(async () => {
  upstream = await startUpstream(({ path }, response) => {
    if (path.includes('streamGenerateContent'))
      return answerEvents(response, chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''));
    answerJson(response, { ...answer({ finishReason: 'STOP', ...GROUNDED }), usageMetadata: USAGE });
  });
  const models = 'models: [{ id: m, pricing: { prompt: "0", completion: "0", web_search: "0.01" } }]';
  gateway = await startTestGateway(
    `providers:\n  gemini: { type: google, api_key: k, base_url: "${upstream.url}", ${models} }\n`,
    {
      keys: ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'].map(
        (name) => `{ name: ${name}, key: ${keyOf(name)} }`,
      ),
    },
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

function keyOf(name: string): string {
  return `sk-test-of-searches-${name}-0123456789`;
}

async function costOf(key: string, path: string, body: Json): Promise<string> {
  const response = await post(gateway.url + path, body, { authorization: `Bearer ${key}`, 'x-goog-api-key': key });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return (await get(gateway.url, '/v1/usage?by=model', key)).body.total.cost;
}

const ASKED = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], tools: [{ googleSearch: {} }] };

test('a whole answer that is relayed', async () => {
  assert.equal(await costOf(keyOf('one'), '/gemini/v1beta/models/gemini/m:generateContent', ASKED), '0.03');
});

test('a whole answer that is translated', async () => {
  const body = { model: 'gemini/m', messages: [{ role: 'user', content: 'Hi' }], web_search_options: {} };
  assert.equal(await costOf(keyOf('two'), '/v1/chat/completions', body), '0.03');
});

const STREAM = '/gemini/v1beta/models/gemini/m:streamGenerateContent?alt=sse';

test('a stream with the searches in its last chunk', async () => {
  chunks = [answer(), { ...answer({ finishReason: 'STOP', ...GROUNDED }), usageMetadata: USAGE }];
  assert.equal(await costOf(keyOf('three'), STREAM, ASKED), '0.03');
});

test('a stream with the searches in a chunk without usage, before the last', async () => {
  chunks = [answer(GROUNDED), { ...answer({ finishReason: 'STOP' }), usageMetadata: USAGE }];
  assert.equal(await costOf(keyOf('four'), STREAM, ASKED), '0.03');
});

test('a stream with the searches in every chunk', async () => {
  const usageMetadata = USAGE;
  chunks = [
    { ...answer(GROUNDED), usageMetadata },
    { ...answer({ finishReason: 'STOP', ...GROUNDED }), usageMetadata },
  ];
  assert.equal(await costOf(keyOf('five'), STREAM, ASKED), '0.03');
});

for (const [what, key, other, path, more] of [
  ['relayed', 'six', 'eight', STREAM, {}],
  ['translated', 'seven', 'nine', '/v1/chat/completions', { model: 'gemini/m', stream: true, web_search_options: {} }],
] as const) {
  const body = path === STREAM ? ASKED : { messages: [{ role: 'user', content: 'Hi' }], ...more };

  test(`a stream with searches for images, ${what}`, async () => {
    const images = { groundingMetadata: { imageSearchQueries: ['cats', 'dogs'] } };
    chunks = [answer(images), { ...answer({ finishReason: 'STOP' }), usageMetadata: USAGE }];
    assert.equal(await costOf(keyOf(key), path, body), '0.02');
  });

  test(`a stream with fewer searches in a later chunk, ${what}`, async () => {
    const [pages, images] = [{ webSearchQueries: ['cats', 'dogs', 'cows'] }, { imageSearchQueries: ['cats'] }];
    chunks = [answer({ groundingMetadata: pages }), answer({ groundingMetadata: images, finishReason: 'STOP' })];
    chunks.push({ ...answer({}), usageMetadata: USAGE });
    assert.equal(await costOf(keyOf(other), path, body), '0.03');
  });
}
