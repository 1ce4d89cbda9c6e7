/** Official SDKs over a resource of Azure: through the gateway, and at the resource itself, which shows that it is what they expect. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-0';
import OpenAI, { AzureOpenAI } from 'openai';
import { API_KEY, CHAT, OLDER_VERSION, startAzure, TOKEN } from '../gateway/azure-upstream.ts';
import { answerJson, KEY, startTestGateway, type TestGateway, type TestUpstream } from '../gateway/harness.ts';
import { anthropicClients, anthropicOf } from './anthropic.ts';
import { openaiClients, openaiOf } from './openai.ts';

const REFUSED = {
  error: {
    ...{ message: 'The response was filtered.', type: null, param: 'prompt', code: 'content_filter', status: 400 },
    innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: { hate: { filtered: true } } },
  },
};

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startAzure(({ body }, response) => {
    const isRefused = JSON.stringify(body.messages ?? '').includes('refuse me');
    if (isRefused) answerJson(response, REFUSED, 400);
    return isRefused;
  });
  const models =
    '[{ id: prod-gpt, base: openai/gpt-5.4 }, { id: vectors, base: openai/text-embedding-3-small }, { id: claude, base: anthropic/claude-sonnet-4-5 }]';
  gateway = await startTestGateway(`
providers:
  azure: { base_url: "${upstream.url}", api_key: ${API_KEY}, models: ${models} }
  older: { type: azure, base_url: "${upstream.url}", api_key: ${API_KEY}, api_version: ${OLDER_VERSION}, models: ${models} }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

const connection = () => ({ url: gateway.url, key: KEY });
const hello = [{ role: 'user' as const, content: 'Hi' }];

describe('at the resource itself', () => {
  test('clients of the older API, with a key and with a token', async () => {
    const options = { endpoint: upstream.url, apiVersion: OLDER_VERSION, maxRetries: 0 };
    for (const client of [
      new AzureOpenAI({ ...options, apiKey: API_KEY }),
      new AzureOpenAI({ ...options, azureADTokenProvider: async () => TOKEN }),
    ]) {
      const { choices } = await client.chat.completions.create({ model: 'prod-gpt', messages: hello });
      assert.equal(choices[0]?.message.content, 'Hello.');
      const { data } = await client.embeddings.create({ model: 'vectors', input: 'Hi', encoding_format: 'float' });
      assert.deepEqual(data[0]?.embedding, [0.6, 0.8]);
      const { output_text } = await client.responses.create({ model: 'prod-gpt', input: 'Hi' });
      assert.equal(output_text, 'Hello.');
    }
  });

  test('clients of the v1 API with a token, and of Claude with a key', async () => {
    const openai = new OpenAI({ baseURL: `${upstream.url}/openai/v1/`, apiKey: TOKEN, maxRetries: 0 });
    const { choices } = await openai.chat.completions.create({ model: 'prod-gpt', messages: hello });
    assert.equal(choices[0]?.message.content, 'Hello.');
    const options = { baseURL: `${upstream.url}/anthropic`, maxRetries: 0 };
    for (const anthropic of [
      new Anthropic0({ ...options, apiKey: API_KEY, authToken: null }) as unknown as Anthropic,
      new Anthropic({ ...options, apiKey: null, authToken: TOKEN }),
    ]) {
      const message = await anthropic.messages.create({ model: 'claude', max_tokens: 10, messages: hello });
      assert.deepEqual(message.content, [{ type: 'text', text: 'Hello.' }]);
      assert.equal((await anthropic.messages.countTokens({ model: 'claude', messages: hello })).input_tokens, 7);
    }
  });
});

for (const [name, connect] of Object.entries(openaiClients(connection))) {
  describe(`${name} through the gateway`, () => {
    for (const model of ['azure/prod-gpt', 'older/prod-gpt', 'azure/claude']) {
      test(`chat completions of ${model}, whole and streamed`, async () => {
        const { choices } = await connect().chat.completions.create({ model, messages: hello });
        assert.equal(choices[0]?.message.content, 'Hello.');
        const stream = await connect().chat.completions.create({
          ...{ model, messages: hello, stream: true as const, stream_options: { include_usage: true } },
        });
        let text = '';
        let tokens = 0;
        for await (const { choices: parts, usage } of stream) {
          text += parts[0]?.delta.content ?? '';
          tokens = usage?.total_tokens ?? tokens;
        }
        assert.deepEqual([text, tokens], ['Hello.', CHAT.usage.total_tokens]);
      });
    }

    test('Responses and embeddings', async () => {
      for (const provider of ['azure', 'older']) {
        const { output_text } = await connect().responses.create({ model: `${provider}/prod-gpt`, input: 'Hi' });
        assert.equal(output_text, 'Hello.');
        const request = { model: `${provider}/vectors`, input: 'Hi', encoding_format: 'float' as const };
        const { data } = await connect().embeddings.create(request);
        assert.deepEqual(data[0]?.embedding, [0.6, 0.8]);
      }
    });

    test('refused content is its error, with the code of the filter', async () => {
      const client = connect();
      const messages = [{ role: 'user' as const, content: 'refuse me' }];
      await assert.rejects(client.chat.completions.create({ model: 'azure/prod-gpt', messages }), (error) => {
        assert.ok(error instanceof openaiOf(client).BadRequestError);
        assert.equal(error.code, 'content_filter');
        return true;
      });
    });
  });
}

for (const [name, connect] of Object.entries(anthropicClients(connection))) {
  describe(`${name} through the gateway`, () => {
    for (const model of ['azure/claude', 'azure/prod-gpt', 'older/prod-gpt']) {
      test(`messages of ${model}, whole and streamed`, async () => {
        const request = { model, max_tokens: 100, messages: hello };
        const whole = await connect().messages.create(request);
        assert.deepEqual(
          whole.content.map((block) => block.type === 'text' && block.text),
          ['Hello.'],
        );
        const streamed = await connect().messages.stream(request).finalMessage();
        assert.equal(streamed.content[0]?.type === 'text' && streamed.content[0].text, 'Hello.');
        assert.deepEqual([streamed.stop_reason, streamed.usage.output_tokens], ['end_turn', 2]);
      });
    }

    test('the tokens of Claude are counted at the resource', async () => {
      const { input_tokens } = await connect().messages.countTokens({ model: 'azure/claude', messages: hello });
      assert.equal(input_tokens, 7);
    });

    test('refused content is its error', async () => {
      const client = connect();
      const messages = [{ role: 'user' as const, content: 'refuse me' }];
      for (const model of ['azure/claude', 'azure/prod-gpt'])
        await assert.rejects(
          client.messages.create({ model, max_tokens: 10, messages }),
          (error) => error instanceof anthropicOf(client).BadRequestError,
        );
    });
  });
}
