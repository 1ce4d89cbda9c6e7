/** Token counts: from the upstream where it counts, else an estimate that says so. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { responses } from '../../src/protocols/responses/index.ts';
import { errorName } from '../faults/wires.ts';
import {
  answerJson,
  HEADERS,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const COUNTED = { object: 'response.input_tokens', input_tokens: 44 };

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream((call, response) => {
    if (call.bytes.includes('fail')) return answerJson(response, { error: { message: 'Busy.' } }, 503);
    if (call.path === '/v1/messages/count_tokens') return answerJson(response, { input_tokens: 42, future: 1.0 });
    if (call.path === '/v1beta/models/m:countTokens') return answerJson(response, { totalTokens: 43 });
    if (call.path === '/v1/responses/input_tokens') return answerJson(response, { ...COUNTED, future: 1.0 });
    answerJson(response, { error: { message: 'not found' } }, 404);
  });
  gateway = await startTestGateway(`
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  c: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  o: { type: openai, base_url: "${upstream.url}/v1", api_key: k, models: [{ id: m }] }
  r: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m }] }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

beforeEach(() => {
  upstream.calls.length = 0;
});

type Client = 'messages' | 'generate';

function count(client: Client, model: string, text = 'How many tokens is this?', more: Json = {}): Promise<Response> {
  const path =
    client === 'messages' ? '/anthropic/v1/messages/count_tokens' : `/gemini/v1beta/models/${model}:countTokens`;
  const { max_tokens: _, ...body } = question(client, model, text);
  return post(gateway.url + path, { ...body, ...more }, HEADERS[client]);
}

async function assertCount(response: Response, expected: Json): Promise<void> {
  const body = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  assert.deepEqual(body, expected);
  assert.equal(response.headers.get('x-polygate-estimated'), null);
  assert.equal(upstream.calls.length, 1);
}

describe('47: messages', () => {
  test('a messages upstream counts itself; its response comes as it is', async () => {
    await assertCount(await count('messages', 'b/m'), { input_tokens: 42, future: 1 });
    assert.equal(upstream.calls[0]?.body.model, 'm');
    assert.equal(upstream.calls[0]?.body.max_tokens, undefined);
  });

  test('a generate content upstream counts the same request in its own form', async () => {
    await assertCount(await count('messages', 'c/m', 'Hi', { system: 'Be brief.' }), { input_tokens: 43 });
    const sent = JSON.stringify(upstream.calls[0]?.body);
    assert.ok(sent.includes('Be brief.') && sent.includes('Hi'), sent);
  });
});

describe('57: generate content', () => {
  test('a generate content upstream counts itself', async () => {
    await assertCount(await count('generate', 'c/m'), { totalTokens: 43 });
  });

  test('a wrapped request is counted too, under the upstream’s name of the model', async () => {
    const path = '/gemini/v1beta/models/c/m:countTokens';
    const inner = { model: 'models/c/m', ...question('generate', 'c/m', 'hi') };
    const response = await post(gateway.url + path, { generateContentRequest: inner }, HEADERS.generate);
    await assertCount(response, { totalTokens: 43 });
    assert.equal(upstream.calls[0]?.body.generateContentRequest.model, 'models/m');
  });

  test('a messages upstream counts the same request in its own form', async () => {
    await assertCount(await count('generate', 'b/m'), { totalTokens: 42 });
    const sent = upstream.calls[0]?.body;
    assert.equal(sent.model, 'm');
    assert.equal(sent.messages.length, 1);
    assert.equal(sent.max_tokens, undefined);
    assert.equal(sent.stream, undefined);
  });
});

describe('responses', () => {
  const countResponses = (body: Json): Promise<Response> =>
    post(`${gateway.url}/v1/responses/input_tokens`, body, HEADERS.chat);

  test('an upstream that counts gets the bytes but for the model; its answer comes as it is', async () => {
    const tools = [{ type: 'brand_new_tool' }];
    const body = { model: 'o/m', input: 'Hi', instructions: 'Be brief.', tools, reasoning: { effort: 'low' } };
    await assertCount(await countResponses(body), { ...COUNTED, future: 1 });
    assert.equal(upstream.calls[0]?.bytes.toString(), JSON.stringify({ ...body, model: 'm' }));
    assert.equal(upstream.calls[0]?.path, '/v1/responses/input_tokens');
  });

  test('where it does not count, an estimate by all that the request holds, known or not', async () => {
    const tokensOf = async (more: Json): Promise<number> => {
      const response = await countResponses({ model: 'r/m', input: [{ role: 'user', content: 'Hi' }], ...more });
      const body = (await response.json()) as Json;
      assert.equal(response.status, 200, JSON.stringify(body));
      assert.equal(response.headers.get('x-polygate-estimated'), 'true');
      assert.equal(body.object, 'response.input_tokens');
      return body.input_tokens;
    };
    const few = await tokensOf({});
    assert.ok(few > 0 && few < 40, String(few));
    const words = 'How much wood would a woodchuck chuck? '.repeat(100);
    const many = [{ input: words }, { instructions: words }, { input: [{ type: 'brand_new', words }] }];
    for (const more of many) assert.ok((await tokensOf(more)) > 600, Object.keys(more)[0]);
    assert.equal(upstream.calls.length, 0);
  });

  test('ids of stored content are refused as in a request', async () => {
    const response = await countResponses({ model: 'o/m', input: 'Hi', previous_response_id: 'resp_1' });
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as Json).error.param, 'previous_response_id');
    assert.equal(upstream.calls.length, 0);
  });

  test('a body for a count holds no more than counts take', () => {
    const { countBody } = responses.operations['count-tokens'];
    const target = { origin: 'o', model: 'm', rules: {} };
    assert.deepEqual(countBody({ model: 'm', input: [], stream: true, max_output_tokens: 7 }, target), {
      model: 'm',
      input: [],
    });
  });
});

describe('an upstream that cannot count', () => {
  for (const client of ['messages', 'generate'] as const) {
    const tokensOf = async (response: Response): Promise<number> => {
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('x-polygate-estimated'), 'true');
      assert.ok(response.headers.get(client === 'messages' ? 'request-id' : 'x-request-id'));
      const body = (await response.json()) as Json;
      return client === 'messages' ? body.input_tokens : body.totalTokens;
    };

    test(`${client} gets an estimate, marked as one, without a call`, async () => {
      const few = await tokensOf(await count(client, 'a/m', 'hi'));
      const many = await tokensOf(await count(client, 'a/m', 'How much wood would a woodchuck chuck? '.repeat(100)));
      assert.ok(Number.isInteger(few) && few > 0 && few < 30, String(few));
      assert.ok(many > 600 && many < 1800, String(many));
      assert.equal(upstream.calls.length, 0);
    });
  }
});

describe('counts that fail', () => {
  for (const [client, target, name] of [
    ['messages', 'b', 'overloaded_error'],
    ['messages', 'c', 'overloaded_error'],
    ['generate', 'b', 'UNAVAILABLE'],
    ['generate', 'c', 'UNAVAILABLE'],
  ] as const) {
    test(`${client} from ${target}`, async () => {
      const response = await count(client, `${target}/m`, 'fail');
      assert.ok(response.status === 503 || response.status === 529, String(response.status));
      const body = (await response.json()) as Json;
      if (body.error.type || body.error.status) assert.equal(errorName(client, body), name);
    });
  }

  test('a wrong body is refused before any call', async () => {
    const response = await count('messages', 'b/m', 'hi', { temperature: 7 });
    assert.equal(response.status, 400);
    assert.equal(upstream.calls.length, 0);
  });
});
