/** Pictures in an answer to a client whose protocol has no place for them. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  answerEvents,
  answerJson,
  HEADERS,
  PATHS,
  question,
  sendRaw,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const PICTURE = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } };
const ANSWER = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'A cat.' }, PICTURE] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
};
const LINKED = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'A dog.',
        images: [{ type: 'image_url', image_url: { url: 'https://cdn.example/dog.png' } }],
      },
      finish_reason: 'stop',
    },
  ],
};

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(({ path }, response) => {
    if (path.includes('chat')) return answerJson(response, LINKED);
    if (path.includes(':stream')) return answerEvents(response, `data: ${JSON.stringify(ANSWER)}\n\n`);
    answerJson(response, ANSWER);
  });
  gateway = await startTestGateway(`
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  c: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

function ask(model: string, stream: boolean) {
  const body = JSON.stringify({ ...question('messages', model, 'Draw', stream), top_k: 3, metadata: { other: 1 } });
  const headers = { ...HEADERS.messages, 'content-type': 'application/json' };
  return sendRaw(gateway.url, { method: 'POST', path: PATHS.messages(), headers, body });
}

test('are named in the header of a whole answer, and nothing is put into the model’s mouth', async () => {
  const { status, headers, text } = await ask('c/m', false);
  assert.equal(status, 200, text);
  assert.deepEqual(JSON.parse(text).content, [{ type: 'text', text: 'A cat.' }]);
  assert.equal(headers['x-polygate-dropped'], 'metadata.other, content.image');
});

test('are named in the trailer of a stream', async () => {
  const { headers, trailers, text } = await ask('c/m', true);
  assert.equal(headers['x-polygate-dropped'], 'metadata.other');
  assert.equal(trailers['x-polygate-dropped'], 'content.image');
  assert.equal(text.match(/content_block_start/g)?.length, 2, text);
  assert.ok(!text.includes('image/png'));
});

test('are linked where they have an address', async () => {
  const { headers, text } = await ask('a/m', false);
  assert.deepEqual(JSON.parse(text).content, [{ type: 'text', text: 'A dog.' }]);
  assert.equal(headers.link, '<https://cdn.example/dog.png>; rel="enclosure"');
});
