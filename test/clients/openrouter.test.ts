/** OpenRouter's SDK, whose schemas refuse an answer that lacks a member: models of every protocol, lists and the key's own pages. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { OpenRouter } from '@openrouter/sdk';
import type { ChatMessages, ChatRequest, ChatStreamChunk } from '@openrouter/sdk/models';
import { answerEvents, answerJson, KEY, startTestGateway, startUpstream } from '../gateway/harness.ts';
import { type ProvidedGateway, startProvidedGateway } from './provided-gateway.ts';
import { ARGS, TEXT, THOUGHT } from './upstreams.ts';

let gateway: ProvidedGateway;
before(async () => {
  gateway = await startProvidedGateway();
});
after(() => gateway.close());

const connect = (url = gateway.url, apiKey = KEY) => new OpenRouter({ apiKey, serverURL: `${url}/v1` });

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather = { type: 'function' as const, function: { name: 'weather', parameters } };
const QUESTION = 'How is the weather in Zürich?';
const ask: ChatMessages = { role: 'user', content: QUESTION };
const called = {
  role: 'assistant' as const,
  content: null,
  toolCalls: [
    { id: 'call_1', type: 'function' as const, function: { name: 'weather', arguments: JSON.stringify(ARGS) } },
  ],
};
const result = { role: 'tool' as const, toolCallId: 'call_1', content: 'sunny' };

const SANDBOX = 'sandbox/echo';
const MODELS = ['chat/m', 'messages/m', 'generate/m', 'responses/m'];

/** The SDK's types don't tell a whole answer from a stream. */
async function whole(chatRequest: ChatRequest, client = connect()) {
  const answer = await client.chat.send({ chatRequest: { ...chatRequest, stream: false } });
  assert('choices' in answer);
  return answer;
}

async function streamed(chatRequest: ChatRequest, client = connect()): Promise<ChatStreamChunk[]> {
  const answer = await client.chat.send({ chatRequest: { ...chatRequest, stream: true } });
  assert(!('choices' in answer));
  return Array.fromAsync(answer);
}

const textOf = (chunks: ChatStreamChunk[]) => chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

for (const model of [...MODELS, SANDBOX]) {
  describe(`@openrouter/sdk and ${model}`, () => {
    const said = model === SANDBOX ? QUESTION : TEXT;
    const messages = model === SANDBOX ? [ask] : [ask, called, result];

    test('a whole answer', async () => {
      const answer = await whole({ model, messages });
      assert.equal(answer.choices[0]?.message.content, said);
      assert.equal(answer.choices[0]?.finishReason, 'stop');
      assert(answer.usage && answer.usage.totalTokens > 0);
    });

    for (const includeUsage of [undefined, false, true]) {
      test(`a stream with includeUsage ${includeUsage}`, async () => {
        const chunks = await streamed({ model, messages, streamOptions: { includeUsage } });
        assert.equal(textOf(chunks), said);
        const counted = chunks.filter(({ usage }) => usage);
        assert.equal(counted.length, includeUsage ? 1 : 0);
      });
    }
  });
}

for (const model of MODELS) {
  describe(`@openrouter/sdk and tools of ${model}`, () => {
    test('a whole call', async () => {
      const answer = await whole({ model, messages: [ask], tools: [weather] });
      const [choice] = answer.choices;
      assert.equal(choice?.finishReason, 'tool_calls');
      assert.deepEqual(JSON.parse(choice?.message.toolCalls?.[0]?.function.arguments ?? ''), ARGS);
      if (model !== 'chat/m') assert.equal(choice?.message.reasoning, THOUGHT);
    });

    test('a streamed call', async () => {
      const chunks = await streamed({
        model,
        messages: [ask],
        tools: [weather],
        streamOptions: { includeUsage: true },
      });
      const calls = chunks.flatMap(({ choices }) => choices[0]?.delta.toolCalls ?? []);
      assert.equal(calls[0]?.function?.name, 'weather');
      assert.deepEqual(JSON.parse(calls.map((call) => call.function?.arguments ?? '').join('')), ARGS);
      assert.equal(chunks.find(({ choices }) => choices[0]?.finishReason)?.choices[0]?.finishReason, 'tool_calls');
    });
  });
}

describe('@openrouter/sdk reads', () => {
  test('the list of models to its last page', async () => {
    const ids: string[] = [];
    for await (const page of await connect().models.list({ limit: 2 }))
      ids.push(...page.result.data.map(({ id }) => id));
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(new Set(MODELS).difference(new Set(ids)).size, 0);
    assert.equal((await connect().models.count()).data.count, ids.length);
  });

  test('one model', async () => {
    const { data } = await connect().models.get({ author: 'sandbox', slug: 'echo' });
    assert.equal(data.id, SANDBOX);
    assert.equal(data.links.details.startsWith('/'), true);
  });

  test('a generation', async () => {
    const { id } = await whole({ model: SANDBOX, messages: [ask] });
    const { data } = await connect().generations.getGeneration({ id });
    assert.equal(data.upstreamId, id);
    assert.equal(data.model, SANDBOX);
  });

  test('its key, which has no credits without a budget', async () => {
    const { data } = await connect().apiKeys.getCurrentKeyMetadata();
    assert.equal(data.limit, null);
    await assert.rejects(connect().credits.getCredits(), { statusCode: 404 });
  });

  test('errors', async () => {
    await assert.rejects(whole({ model: 'nobody/none', messages: [ask] }), { statusCode: 404 });
    await assert.rejects(connect(gateway.url, 'sk-none').apiKeys.getCurrentKeyMetadata(), { statusCode: 401 });
  });
});

/** What a strange server of chat completions sends: a null in each chunk, where the usage is not known yet. */
const HEAD = '"id":"c","object":"chat.completion.chunk","created":1,"model":"m"';
const USAGE = '{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}';
const STREAM = [
  `{${HEAD},"usage":null,"choices":[{"index":0,"delta":{"role":"assistant","content":"\\"usage\\":null, "},"finish_reason":null}]}`,
  `{"usage": null, ${HEAD},"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}`,
  `{${HEAD},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage": null}`,
  `{${HEAD},"choices":[],"usage":${USAGE}}`,
  '[DONE]',
].map((data) => `data: ${data}\n\n`);
const WHOLE = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm', usage: JSON.parse(USAGE) },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
};
const SAVER = 'sk-test-saver-key-0123456789';

test('@openrouter/sdk reads what a server with prices and nulls says, and the credits of a key with a budget', async () => {
  const upstream = await startUpstream(({ body }, response) =>
    body.stream ? answerEvents(response, STREAM.join('')) : answerJson(response, WHOLE),
  );
  const priced = await startTestGateway(
    `providers: { p: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, pricing: { prompt: "0.001", completion: "0.002" } }] } }`,
    { keys: [`{ name: saver, key: ${SAVER}, budgets: { total: "1.00" } }`] },
  );
  try {
    const client = connect(priced.url, SAVER);
    const request = { model: 'p/m', messages: [ask], maxTokens: 10 };
    const { usage, systemFingerprint } = await whole(request, client);
    assert.equal(systemFingerprint, null);
    assert.equal(usage?.cost, 0.02);
    assert.deepEqual(usage?.costDetails, {
      upstreamInferenceCost: 0.02,
      upstreamInferencePromptCost: 0.01,
      upstreamInferenceCompletionsCost: 0.01,
    });
    const chunks = await streamed(request, client);
    assert.equal(textOf(chunks), '"usage":null, hi');
    const { data } = await client.credits.getCredits();
    assert.deepEqual(data, { totalCredits: 1, totalUsage: 0.04 });
  } finally {
    await priced.close();
    await upstream.close();
  }
});
