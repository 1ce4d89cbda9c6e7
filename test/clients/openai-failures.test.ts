/** The official chat completions SDK when something goes wrong: its own error classes, never a silent success. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type OpenAI from 'openai';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { collect, countingFetch, judge, rejection } from './judge.ts';
import { openaiClients, openaiOf } from './openai.ts';

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
});
after(() => gateway.close());

type Params = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;

function ask(client: OpenAI, text: string, more: Params = {}) {
  return client.chat.completions.create({
    model: 'sandbox/faulty',
    messages: [{ role: 'user', content: text }],
    ...more,
  });
}

async function streamed(client: OpenAI, text: string): Promise<string> {
  const params = { model: 'sandbox/faulty', messages: [{ role: 'user' as const, content: text }] };
  return collect(await client.chat.completions.create({ ...params, stream: true }), (c) => c.choices[0]?.delta.content);
}

judge(
  openaiClients(() => gateway),
  {
    'a wrong key is an AuthenticationError with a request id (checklist 4, 14)': async (client) => {
      const { AuthenticationError } = openaiOf(client);
      const error = await rejection(ask(client.withOptions({ apiKey: 'sk-wrong' }), 'hi'), AuthenticationError);
      assert.equal(error.code, 'invalid_api_key');
      assert.match(error.requestID ?? '', /^req_/);
    },

    'an unknown model or provider is a NotFoundError (checklist 13)': async (client) => {
      for (const model of ['sandbox/none', 'nobody/none', 'none']) {
        const error = await rejection(ask(client, 'hi', { model }), openaiOf(client).NotFoundError);
        assert.deepEqual([error.code, error.param, error.type], ['model_not_found', 'model', 'invalid_request_error']);
      }
      await rejection(client.models.retrieve('sandbox/none'), openaiOf(client).NotFoundError);
    },

    'a bad parameter is a BadRequestError that names it': async (client) => {
      const bad: [string, Params][] = [
        ['temperature', { temperature: 3 }],
        ['stop', { stop: ['1', '2', '3', '4', '5'] }],
        ['messages', { messages: [] }],
        ['messages[0].role', { messages: [{ role: 'nobody', content: 'hi' } as never] }],
        ['tools[0].function.name', { tools: [{ type: 'function', function: {} } as never] }],
      ];
      for (const [param, params] of bad) {
        const error = await rejection(ask(client, 'hi', params), openaiOf(client).BadRequestError);
        assert.equal(error.param, param);
        assert.match(error.message, new RegExp(param.replaceAll(/[[\]]/g, '\\$&')));
      }
    },

    'a rate limit is a RateLimitError, retried after as long as was asked (checklist 83)': async (client) => {
      const counted = countingFetch();
      const patient = client.withOptions({ maxRetries: 1, fetch: counted.fetch });
      const error = await rejection(ask(patient, 'status 429'), openaiOf(client).RateLimitError);
      assert.equal(error.headers.get('retry-after'), '1');
      assert.equal(counted.sent.length, 2);
      assert((counted.sent[1] ?? 0) - (counted.sent[0] ?? 0) >= 990);
    },

    'what cannot succeed later is not retried (checklist 83)': async (client) => {
      const counted = countingFetch();
      const eager = client.withOptions({ maxRetries: 2, fetch: counted.fetch });
      await rejection(ask(eager, 'status 409'), openaiOf(client).APIError);
      assert.equal(counted.sent.length, 1);
    },

    'a provider’s failure is an InternalServerError, its rejected key too (checklist 80, 81, 85)': async (client) => {
      const failures: [string, number][] = [
        ['status 500', 502],
        ['status 503', 503],
        ['status 529', 529],
        ['status 401', 502],
        ['garbage', 502],
        ['empty', 502],
        ['error in 200', 502],
        ['cut after 3', 502],
      ];
      for (const [words, status] of failures) {
        const error = await rejection(ask(client, words), openaiOf(client).InternalServerError);
        assert.deepEqual([words, error.status], [words, status]);
      }
    },

    'a failure before the first event of a stream has its status (checklist 82)': async (client) => {
      const { InternalServerError, RateLimitError } = openaiOf(client);
      await rejection(streamed(client, 'status 429'), RateLimitError);
      for (const words of ['status 503', 'garbage', 'empty', 'error in 200'])
        await rejection(streamed(client, words), InternalServerError);
    },

    'a stream that breaks raises, read plainly and by the helper (checklist 27, 28)': async (client) => {
      const { APIError } = openaiOf(client);
      for (const words of ['cut after 3', 'end after 3', 'error in stream after 2']) {
        const error = await rejection(streamed(client, words), APIError);
        assert.equal(error.type, 'server_error', words);
        const messages = [{ role: 'user' as const, content: words }];
        const helper = client.chat.completions.stream({ model: 'sandbox/faulty', messages });
        await rejection(helper.finalChatCompletion(), APIError);
      }
    },

    'a stream can be given up at any time': async (client) => {
      const stream = await client.chat.completions.create({
        model: 'sandbox/faulty',
        messages: [{ role: 'user', content: 'hang after 3' }],
        stream: true,
      });
      let seen = 0;
      for await (const _ of stream) if (++seen === 3) stream.controller.abort();
      assert.equal(seen, 3);
      const hanging = ask(client.withOptions({ timeout: 100 }), 'hang');
      await rejection(hanging, openaiOf(client).APIConnectionTimeoutError);
    },
  },
);
