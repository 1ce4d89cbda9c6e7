/** Embeddings through official SDKs with their default arguments, over upstreams of both protocols and the sandbox. */

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { OpenAIEmbeddings } from '@langchain/openai';
import { embedMany } from 'ai';
import { KEY, startTestGateway, type TestGateway } from '../gateway/harness.ts';
import { genaiClients } from './genai.ts';
import { openaiClients } from './openai.ts';

const TEXTS = ['first text', 'second text'];
const VECTORS = [
  [0.6, 0.8, 0],
  [0, 0.28, 0.96],
];

let upstream: Server;
let gateway: TestGateway;

/** Writes floats whatever a request asks for, as many local servers do. */
before(async () => {
  upstream = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const gemini = /mbedContent/.test(String(request.url));
    const count = gemini ? (body.requests?.length ?? 1) : [body.input].flat().length;
    const vectors = VECTORS.slice(0, count);
    const answer = gemini
      ? { embeddings: vectors.map((values) => ({ values })) }
      : {
          object: 'list',
          data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
          model: 'e',
          usage: { prompt_tokens: 4, total_tokens: 4 },
        };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const model = '{ id: e, output_modalities: [embeddings] }';
  gateway = await startTestGateway(`providers:
  local: { type: openai-compatible, base_url: ${base}/v1, models: [${model}] }
  goo: { type: google, base_url: ${base}, api_key: k, models: [${model}] }
`);
});

after(async () => {
  await gateway.close();
  upstream.close();
});

const connection = () => ({ url: gateway.url, key: KEY });

/** Equal as 32-bit floats. */
function assertVectors(found: readonly (readonly number[])[]): void {
  const rounded = found.map((vector) => Array.from(Float32Array.from(vector)));
  assert.deepEqual(
    rounded,
    VECTORS.map((vector) => Array.from(Float32Array.from(vector))),
  );
}

for (const model of ['local/e', 'goo/e']) {
  for (const [name, connect] of Object.entries(openaiClients(connection))) {
    test(`${name} embeds over ${model} with its default form, which is base64`, async () => {
      const { data, usage } = await connect().embeddings.create({ model, input: TEXTS });
      assertVectors(data.map(({ embedding }) => embedding));
      assert.ok(usage.prompt_tokens > 0);
    });

    test(`${name} embeds over ${model} as floats`, async () => {
      const { data } = await connect().embeddings.create({ model, input: TEXTS, encoding_format: 'float' });
      assertVectors(data.map(({ embedding }) => embedding));
    });
  }

  for (const [name, connect] of Object.entries(genaiClients(connection))) {
    test(`${name} embeds over ${model}`, async () => {
      const { embeddings = [] } = await connect().models.embedContent({ model, contents: TEXTS });
      assertVectors(embeddings.map(({ values = [] }) => values));
    });
  }

  test(`the AI SDK embeds over ${model} by OpenAI's and by Google's provider`, async () => {
    const openai = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY });
    const google = createGoogleGenerativeAI({ baseURL: `${gateway.url}/gemini/v1beta`, apiKey: KEY });
    assertVectors((await embedMany({ model: openai.textEmbeddingModel(model), values: TEXTS })).embeddings);
    assertVectors((await embedMany({ model: google.textEmbeddingModel(model), values: TEXTS })).embeddings);
  });

  test(`LangChain embeds documents over ${model}`, async () => {
    const embeddings = new OpenAIEmbeddings({ model, apiKey: KEY, configuration: { baseURL: `${gateway.url}/v1` } });
    assertVectors(await embeddings.embedDocuments(TEXTS));
  });
}

describe('sandbox/embed', () => {
  for (const [name, connect] of Object.entries(openaiClients(connection))) {
    test(`${name} gets vectors of the asked length`, async () => {
      const { data } = await connect().embeddings.create({ model: 'sandbox/embed', input: 'text', dimensions: 16 });
      assert.equal(data[0]?.embedding.length, 16);
    });
  }
});
