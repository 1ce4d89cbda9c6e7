/** The official messages SDK when something goes wrong: its own error classes, never a silent success. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type Anthropic from '@anthropic-ai/sdk';
import { anthropicClients, anthropicOf } from './anthropic.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { collect, countingFetch, judge, rejection } from './judge.ts';

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
});
after(() => gateway.close());

type Params = Partial<Anthropic.MessageCreateParamsNonStreaming>;

function question(text: string): Anthropic.MessageCreateParamsNonStreaming {
  return { model: 'sandbox/faulty', max_tokens: 1000, messages: [{ role: 'user', content: text }] };
}

function ask(client: Anthropic, text: string, more: Params = {}) {
  return client.messages.create({ ...question(text), ...more });
}

async function streamed(client: Anthropic, text: string): Promise<string> {
  return collect(await client.messages.create({ ...question(text), stream: true }), ({ type }) => type);
}

function typeOf(error: { error: unknown }): unknown {
  return (error.error as { error?: { type?: unknown } } | undefined)?.error?.type;
}

judge(
  anthropicClients(() => gateway),
  {
    'a wrong key is an AuthenticationError with a request id, in header and body (checklist 4, 14)': async (client) => {
      const { AuthenticationError } = anthropicOf(client);
      const error = await rejection(ask(client.withOptions({ apiKey: 'sk-wrong' }), 'hi'), AuthenticationError);
      assert.equal(typeOf(error), 'authentication_error');
      assert.match(error.requestID ?? '', /^req_/);
      assert.equal((error.error as { request_id?: string }).request_id, error.requestID);
    },

    'an unknown model or provider is a NotFoundError (checklist 13)': async (client) => {
      for (const model of ['sandbox/none', 'nobody/none', 'none']) {
        const error = await rejection(ask(client, 'hi', { model }), anthropicOf(client).NotFoundError);
        assert.equal(typeOf(error), 'not_found_error');
      }
      await rejection(client.models.retrieve('sandbox/none'), anthropicOf(client).NotFoundError);
    },

    'a bad parameter is a BadRequestError that names it': async (client) => {
      const bad: [string, Params][] = [
        ['temperature', { temperature: 1.5 } as Params],
        ['max_tokens', { max_tokens: 0 }],
        ['messages', { messages: [] }],
        ['messages[0].role', { messages: [{ role: 'nobody', content: 'hi' } as never] }],
        ['tools[0].name', { tools: [{ input_schema: { type: 'object' } } as never] }],
      ];
      for (const [param, params] of bad) {
        const error = await rejection(ask(client, 'hi', params), anthropicOf(client).BadRequestError);
        assert.equal(typeOf(error), 'invalid_request_error');
        assert(error.message.includes(param), error.message);
      }
    },

    'a rate limit is a RateLimitError, retried after as long as was asked (checklist 83)': async (client) => {
      const counted = countingFetch();
      const patient = client.withOptions({ maxRetries: 1, fetch: counted.fetch });
      const error = await rejection(ask(patient, 'status 429'), anthropicOf(client).RateLimitError);
      assert.equal(error.headers.get('retry-after'), '1');
      assert.equal(counted.sent.length, 2);
      assert((counted.sent[1] ?? 0) - (counted.sent[0] ?? 0) >= 990);
    },

    'a provider’s failure is an InternalServerError, its rejected key too (checklist 80, 81, 85)': async (client) => {
      const failures: [string, number, string][] = [
        ['status 500', 500, 'api_error'],
        ['status 503', 529, 'overloaded_error'],
        ['status 529', 529, 'overloaded_error'],
        ['status 401', 500, 'api_error'],
        ['garbage', 500, 'api_error'],
        ['empty', 500, 'api_error'],
        ['error in 200', 500, 'api_error'],
        ['cut after 3', 500, 'api_error'],
      ];
      for (const [words, status, type] of failures) {
        const error = await rejection(ask(client, words), anthropicOf(client).InternalServerError);
        assert.deepEqual([words, error.status, typeOf(error)], [words, status, type]);
      }
    },

    'a failure before the first event of a stream has its status (checklist 82)': async (client) => {
      const { InternalServerError, RateLimitError } = anthropicOf(client);
      await rejection(streamed(client, 'status 429'), RateLimitError);
      for (const words of ['status 503', 'garbage', 'empty', 'error in 200'])
        await rejection(streamed(client, words), InternalServerError);
    },

    'a stream that breaks raises, read plainly and by the helper (checklist 28, 44)': async (client) => {
      const { APIError } = anthropicOf(client);
      for (const words of ['cut after 3', 'end after 3', 'error in stream after 2']) {
        const error = await rejection(streamed(client, words), APIError);
        assert.equal(typeOf(error), 'api_error', words);
        await rejection(client.messages.stream(question(words)).finalMessage(), APIError);
      }
    },

    'a stream can be given up at any time': async (client) => {
      const stream = await client.messages.create({ ...question('hang after 3'), stream: true });
      let deltas = 0;
      for await (const { type } of stream)
        if (type === 'content_block_delta' && ++deltas === 2) stream.controller.abort();
      assert.equal(deltas, 2);
      const helper = client.messages.stream(question('hang after 3'));
      helper.on('text', () => helper.abort());
      await rejection(helper.finalMessage(), anthropicOf(client).APIUserAbortError);
    },
  },
);
