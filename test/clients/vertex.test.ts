/** Google's SDK in its mode for Vertex AI: the gateway asks Vertex AI for embeddings and counts as it does, for clients of the Gemini API. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GoogleGenAI } from '@google/genai';
import {
  answerJson,
  KEY,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';

const VECTOR = [0.6, 0.8];
const PLACE = '/v1/projects/my-project/locations/us-central1';

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(({ path, body }, response) => {
    const predictions = body.instances?.map(() => ({ embeddings: { values: VECTOR, statistics: { token_count: 2 } } }));
    if (path.endsWith(':predict')) answerJson(response, { predictions });
    else if (path.endsWith(':embedContent')) answerJson(response, { embedding: { values: VECTOR } });
    else answerJson(response, { totalTokens: 7 });
  });
  const models = '[{ id: text-embedding-005, output_modalities: [embeddings] }]';
  gateway = await startTestGateway(
    `providers: { vertex: { base_url: "${upstream.url}${PLACE}", api_key: k, models: ${models} } }`,
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

/** At the upstream itself, and at the gateway. */
const direct = () =>
  new GoogleGenAI({ vertexai: true, apiKey: 'k', httpOptions: { baseUrl: upstream.url, apiVersion: 'v1' } });
const through = () => new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: `${gateway.url}/gemini` } });

/** What the upstream was asked last: the method of the model, and the body. */
function asked(): { method: string; body: unknown } {
  const { path = '', body } = upstream.calls.at(-1) ?? {};
  return { method: path.slice(path.indexOf('/publishers/')), body };
}

describe('requests of the gateway are those of the SDK', () => {
  const config = { taskType: 'RETRIEVAL_DOCUMENT', title: 'Page', outputDimensionality: 2 };
  const cases: [model: string, contents: string[], config?: typeof config][] = [
    ['text-embedding-005', ['one', 'two'], config],
    ['gemini-embedding-001', ['one'], config],
    ['gemini-embedding-001', ['one']],
    ['gemini-embedding-2', ['one'], config],
  ];
  for (const [model, contents, more] of cases) {
    test(`embeddings of ${model}${more ? ', with a purpose' : ''}`, async () => {
      const { embeddings: expected } = await direct().models.embedContent({ model, contents, config: more });
      const own = asked();
      const { embeddings } = await through().models.embedContent({ model: `vertex/${model}`, contents, config: more });
      assert.deepEqual(
        embeddings?.map(({ values }) => values),
        expected?.map(({ values }) => values),
      );
      assert.deepEqual(asked(), own);
    });
  }

  test('counts of Gemini', async () => {
    const contents = [{ role: 'user', parts: [{ text: 'How many?' }] }];
    const model = 'gemini-2.5-flash';
    assert.equal((await direct().models.countTokens({ model, contents })).totalTokens, 7);
    const own = asked();
    assert.equal((await through().models.countTokens({ model: `vertex/${model}`, contents })).totalTokens, 7);
    assert.deepEqual(asked(), own);
  });
});
