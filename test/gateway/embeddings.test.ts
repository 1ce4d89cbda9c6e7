/** Embeddings over a real gateway: both protocols as client and as upstream, forms of vectors, usage, cost, limits and routing. */

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { vectorFromBase64 } from '../../src/core/embedding.ts';
import type { Json } from '../../src/core/json/json.ts';
import { KEY, startTestGateway, type TestGateway } from './harness.ts';
import { recordOf } from './usage-client.ts';

const VECTORS = [
  [0.6, 0.8, 0],
  [0, 1, 0],
];

interface Asked {
  path: string;
  body: Json;
}

let upstream: Server;
let gateway: TestGateway;
let asked: Asked[];
/** Changes an upstream's response; the answer itself where absent. */
let alter: ((answer: Json) => Json) | undefined;

async function bodyOf(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

/** Speaks OpenAI's embeddings, always as floats, and Gemini's. */
before(async () => {
  upstream = createServer(async (request, response) => {
    const body = await bodyOf(request);
    asked.push({ path: String(request.url), body });
    const gemini = String(request.url).includes('Embed') || String(request.url).includes('embedContent');
    const answer = gemini ? geminiAnswer(body) : openaiAnswer(body);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(alter ? alter(answer) : answer));
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const model = '{ id: e, output_modalities: [embeddings], pricing: { prompt: "0.001" } }';
  gateway = await startTestGateway(
    `providers:
  up: { type: openai-compatible, base_url: ${base}/v1, api_key: k, models: [${model}, { id: other, output_modalities: [embeddings] }, { id: chatty }] }
  oai: { type: openai, base_url: ${base}/v1, api_key: k, models: [${model}] }
  goo: { type: google, base_url: ${base}, api_key: k, models: [${model}] }
  claude: { type: anthropic, base_url: ${base}, api_key: k, models: [${model}] }
`,
    {
      keys: [
        '{ name: chat-only, key: sk-chat-only-chat-only-chat-only-1, surfaces: [messages] }',
        '{ name: poor, key: sk-poor-poor-poor-poor-poor-poor-1, budgets: { total: "0.002" } }',
      ],
    },
  );
});

after(async () => {
  await gateway.close();
  upstream.close();
});

beforeEach(() => {
  asked = [];
  alter = undefined;
});

function openaiAnswer({ input, model }: Json): Json {
  const count = Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1;
  return {
    object: 'list',
    data: VECTORS.slice(0, count).map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model,
    usage: { prompt_tokens: 5, total_tokens: 5 },
  };
}

function geminiAnswer({ requests }: Json): Json {
  if (!requests) return { embedding: { values: VECTORS[0] } };
  return {
    embeddings: VECTORS.slice(0, requests.length).map((values) => ({ values })),
    usageMetadata: { promptTokenCount: 7 },
  };
}

async function post(path: string, body: object, key = KEY): Promise<{ status: number; headers: Headers; body: Json }> {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const chargeOf = (headers: Headers): Promise<Json> =>
  recordOf(gateway.url, String(headers.get('x-polygate-generation-id')));

describe('OpenAI clients', () => {
  for (const provider of ['up', 'goo']) {
    test(`get floats in the order of their texts from ${provider}`, async () => {
      const { status, body } = await post('/v1/embeddings', { model: `${provider}/e`, input: ['one', 'two'] });
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual(
        body.data.map(({ embedding }: Json) => embedding),
        VECTORS,
      );
      assert.deepEqual(
        body.data.map(({ index }: Json) => index),
        [0, 1],
      );
      assert.equal(body.model, `${provider}/e`);
      assert.ok(body.usage.prompt_tokens > 0);
    });

    test(`get base64 of an upstream that writes floats (${provider})`, async () => {
      const { body } = await post('/v1/embeddings', {
        model: `${provider}/e`,
        input: 'one',
        encoding_format: 'base64',
      });
      assert.deepEqual(
        Array.from(vectorFromBase64(body.data[0].embedding) ?? []),
        Array.from(Float32Array.from(VECTORS[0] ?? [])),
      );
    });
  }

  test('get floats of an upstream that writes base64', async () => {
    alter = (answer) => {
      for (const item of answer.data) {
        const floats = Float32Array.from(item.embedding);
        item.embedding = Buffer.from(floats.buffer).toString('base64');
      }
      return answer;
    };
    const { body } = await post('/v1/embeddings', { model: 'up/e', input: ['one', 'two'] });
    assert.deepEqual(
      body.data.map(({ embedding }: Json) => embedding),
      VECTORS,
    );
  });

  test('dimensions and the purpose reach Gemini under its names', async () => {
    const { headers } = await post('/v1/embeddings', {
      model: 'goo/e',
      input: 'one',
      dimensions: 3,
      input_type: 'search_query',
      user: 'u',
    });
    assert.equal(asked[0]?.path, '/v1beta/models/e:batchEmbedContents');
    assert.deepEqual(asked[0]?.body, {
      requests: [
        {
          model: 'models/e',
          content: { parts: [{ text: 'one' }] },
          taskType: 'RETRIEVAL_QUERY',
          outputDimensionality: 3,
        },
      ],
    });
    assert.equal(headers.get('x-polygate-path'), 'translated');
  });

  test("vectors of Gemini that are shorter than the model's own come with length 1", async () => {
    alter = (answer) => ({ ...answer, embeddings: [{ values: [3, 4, 0] }] });
    const { body } = await post('/v1/embeddings', { model: 'goo/e', input: 'one', dimensions: 3 });
    assert.deepEqual(body.data[0].embedding, [0.6, 0.8, 0]);
  });

  test('token ids reach OpenAI, and are refused by name for other tokenizers', async () => {
    for (const input of [
      [1, 2, 3],
      [[1, 2], [3]],
    ]) {
      const passed = await post('/v1/embeddings', { model: 'oai/e', input });
      assert.equal(passed.status, 200, JSON.stringify(passed.body));
      assert.deepEqual(asked.at(-1)?.body.input, input);
      for (const provider of ['up', 'goo']) {
        const { status, body } = await post('/v1/embeddings', { model: `${provider}/e`, input });
        assert.equal(status, 400);
        assert.equal(body.error.param, 'input');
      }
    }
  });

  test('bytes pass an upstream of the same protocol, but for the model', async () => {
    const { headers } = await post('/v1/embeddings', { model: 'up/e', input: 'one', novel: { a: 1 } });
    assert.deepEqual(asked[0], { path: '/v1/embeddings', body: { model: 'e', input: 'one', novel: { a: 1 } } });
    assert.equal(headers.get('x-polygate-path'), 'passthrough');
  });

  for (const [input, why] of [
    ['', 'an empty text'],
    [[], 'no texts'],
    [[1.5], 'half a token'],
    [Array(2049).fill('x'), 'too many texts'],
    [undefined, 'nothing'],
  ] as const) {
    test(`are refused ${why}, by the name of the field`, async () => {
      const { status, body } = await post('/v1/embeddings', { model: 'up/e', input });
      assert.equal(status, 400);
      assert.match(body.error.param, /^input/);
      assert.equal(asked.length, 0);
    });
  }

  test('numbers with more digits than a number keeps are read as the nearest number', async () => {
    const long = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON('0.80000000000000000000001');
    alter = () => ({ embeddings: [{ values: [0.6, long, 0] }] });
    const { status, body } = await post('/v1/embeddings', { model: 'goo/e', input: 'one' });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body.data[0].embedding, [0.6, 0.8, 0]);
  });

  test('vectors of a hundred thousand numbers, and texts in their place, do no harm', async () => {
    alter = () => ({ embeddings: [{ values: Array(100_000).fill(1) }] });
    assert.equal((await post('/v1/embeddings', { model: 'goo/e', input: 'one' })).status, 200);
    alter = () => ({ embeddings: [{ values: ['x'] }] });
    assert.equal((await post('/v1/embeddings', { model: 'goo/e', input: 'one' })).status, 502);
  });

  test('the sandbox refuses more numbers than it makes in a moment, by the name of the field', async () => {
    const input = Array(2048).fill('x');
    const { status, body } = await post('/v1/embeddings', { model: 'sandbox/embed', input, dimensions: 1024 });
    assert.deepEqual([status, body.error.param], [400, 'input']);
  });

  test('a response with a hole is an error of the upstream, whole', async () => {
    alter = (answer) => ({ ...answer, data: answer.data.slice(1) });
    const { status } = await post('/v1/embeddings', { model: 'up/e', input: ['one', 'two'] });
    assert.equal(status, 502);
  });
});

describe('Gemini clients', () => {
  test('embed one content and several over OpenAI', async () => {
    const content = { parts: [{ text: 'one' }] };
    const single = await post('/gemini/v1beta/models/up/e:embedContent', { content, outputDimensionality: 3 });
    assert.deepEqual(single.body.embedding.values, VECTORS[0]);
    assert.deepEqual(asked[0]?.body, { model: 'e', input: ['one'], dimensions: 3, encoding_format: 'float' });
    const several = await post('/gemini/v1beta/models/up/e:batchEmbedContents', {
      requests: [{ content }, { content }],
    });
    assert.deepEqual(
      several.body.embeddings,
      VECTORS.map((values) => ({ values })),
    );
    assert.equal(several.body.usageMetadata.promptTokenCount, 5);
  });

  test('bytes pass to Gemini by the method that was called', async () => {
    const content = { parts: [{ text: 'one' }] };
    await post('/gemini/v1beta/models/goo/e:embedContent', { content, taskType: 'CLUSTERING' });
    assert.deepEqual(asked[0], { path: '/v1beta/models/e:embedContent', body: { content, taskType: 'CLUSTERING' } });
  });

  test('no request of a batch reaches another model by naming it', async () => {
    const requests = [{ model: 'models/dear', content: { parts: [{ text: 'one' }] } }];
    await post('/gemini/v1beta/models/goo/e:batchEmbedContents', { requests });
    assert.deepEqual(asked[0]?.body.requests[0].model, 'models/e');
  });

  test('pictures are refused by name where the upstream embeds text only', async () => {
    const content = { parts: [{ inlineData: { mimeType: 'image/png', data: 'AA==' } }] };
    const { status, body } = await post('/gemini/v1beta/models/up/e:embedContent', { content });
    assert.equal(status, 400);
    assert.match(body.error.message, /requests\[0\]\.content/);
  });
});

describe('models', () => {
  test('one that chats embeds nothing, and one that embeds does not chat', async () => {
    const embeds = await post('/v1/embeddings', { model: 'up/chatty', input: 'x' });
    assert.deepEqual([embeds.status, embeds.body.error.param], [400, 'model']);
    const chats = await post('/v1/chat/completions', { model: 'up/e', messages: [{ role: 'user', content: 'x' }] });
    assert.equal(chats.status, 400);
    assert.match(chats.body.error.message, /POST \/v1\/embeddings/);
  });

  test('are never fallen back on: vectors of two models do not compare', async () => {
    const { status, body } = await post('/v1/embeddings', { model: 'up/e', models: ['up/other'], input: 'x' });
    assert.deepEqual([status, body.error.param], [400, 'models']);
  });

  test('a provider whose protocol has no embeddings says so', async () => {
    const { status, body } = await post('/v1/embeddings', { model: 'claude/e', input: 'x' });
    assert.equal(status, 400);
    assert.match(body.error.message, /messages/);
  });

  test('sandbox/embed gives one vector of length 1 for one text', async () => {
    const ask = () =>
      post('/v1/embeddings', { model: 'sandbox/embed', input: ['same', 'same', 'other'], dimensions: 8 });
    const [one, two] = await Promise.all([ask(), ask()]);
    assert.deepEqual(one.body.data, two.body.data);
    const [first, second, third] = one.body.data.map(({ embedding }: Json) => embedding);
    assert.deepEqual(first, second);
    assert.notDeepEqual(first, third);
    assert.ok(Math.abs(Math.hypot(...first) - 1) < 1e-3);
    const unset = await post('/v1/embeddings', { model: 'sandbox/embed', input: 'same', dimensions: null });
    assert.equal(unset.body.data[0].embedding.length, 256);
  });

  test('the catalog says which models embed', async () => {
    const { data } = (await (await fetch(`${gateway.url}/v1/models/sandbox`)).json()) as Json;
    const found = data.find(({ id }: Json) => id === 'sandbox/embed');
    assert.deepEqual(found.architecture.output_modalities, ['embeddings']);
  });
});

describe('keys and money', () => {
  test('a key without the surface is refused', async () => {
    const { status } = await post(
      '/v1/embeddings',
      { model: 'up/e', input: 'x' },
      'sk-chat-only-chat-only-chat-only-1',
    );
    assert.equal(status, 403);
  });

  test('a record says what was used and cost', async () => {
    const { headers, body } = await post('/v1/embeddings', { model: 'up/e', input: 'x' });
    assert.equal(headers.get('x-polygate-cost'), '0.005');
    assert.equal(body.usage.cost, 0.005);
    const id = headers.get('x-polygate-generation-id');
    const response = await fetch(`${gateway.url}/v1/generation?id=${id}`, {
      headers: { authorization: `Bearer ${KEY}` },
    });
    const { data } = (await response.json()) as Json;
    assert.equal(data.tokens_prompt, 5);
    assert.equal(data.total_cost, 0.005);
  });

  test('what an upstream does not count is estimated', async () => {
    alter = ({ usage, ...answer }) => answer;
    const { headers } = await post('/v1/embeddings', { model: 'up/e', input: 'four words and more' });
    assert.ok(Number(headers.get('x-polygate-cost')) > 0);
  });

  test('a count of zero is none, and estimated', async () => {
    alter = (answer) => ({ ...answer, usage: { prompt_tokens: 0, total_tokens: 0 } });
    const { headers, body } = await post('/v1/embeddings', { model: 'up/e', input: 'four words and more' });
    assert.ok(Number(headers.get('x-polygate-cost')) > 0);
    assert.equal(body.usage.cost, Number(headers.get('x-polygate-cost')));
  });

  for (const provider of ['up', 'goo']) {
    test(`vectors that are missing are paid for all the same at ${provider}`, async () => {
      alter = ({ data, embeddings, ...answer }) =>
        data ? { ...answer, data: data.slice(1) } : { ...answer, embeddings: embeddings.slice(1) };
      const { status, headers } = await post('/v1/embeddings', { model: `${provider}/e`, input: ['one', 'two'] });
      const { tokens_prompt, total_cost, status: recorded } = await chargeOf(headers);
      const input = provider === 'up' ? 5 : 7;
      assert.deepEqual([status, recorded, tokens_prompt, total_cost], [502, 'failed', input, input / 1000]);
    });
  }

  test('vectors that are missing and not counted are paid by an estimate, and an answer without any is not', async () => {
    const body = { model: 'up/e', input: ['four words and more', 'two'] };
    alter = ({ data }) => ({ data: data.slice(1) });
    const some = await chargeOf((await post('/v1/embeddings', body)).headers);
    assert.ok(some.total_cost > 0 && some.tokens_estimated);
    alter = () => ({ data: [] });
    const none = await chargeOf((await post('/v1/embeddings', body)).headers);
    assert.equal(none.total_cost, 0);
  });

  test('a budget is asked before anything is sent', async () => {
    const { status } = await post(
      '/v1/embeddings',
      { model: 'up/e', input: 'many '.repeat(100) },
      'sk-poor-poor-poor-poor-poor-poor-1',
    );
    assert.equal(status, 402);
    assert.equal(asked.length, 0);
  });
});
