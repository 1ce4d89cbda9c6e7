/** Clients of chat, messages and generate whose model only the Responses protocol has. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { errorName, hear } from '../faults/wires.ts';
import {
  COMPLETED,
  deltaOf,
  FAILED,
  frame,
  preambleOf,
  responseOf,
  streamOf,
  WHOLE,
} from '../protocols/responses-wire.ts';
import {
  type Answerer,
  answerEvents,
  answerJson,
  ask,
  HEADERS,
  PATHS,
  type ProtocolId,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const CLIENTS: readonly ProtocolId[] = ['chat', 'messages', 'generate'];
/** Models at both upstreams; an endpoint that failed is in cooldown, so that each test has its own. */
const PAIRS = Array.from({ length: 20 }, (_, index) => `pair-${index}`);

let one: TestUpstream;
let two: TestUpstream;
let gateway: TestGateway;
let answer: Answerer;

before(async () => {
  one = await startUpstream((call, response) => answer(call, response));
  two = await startUpstream(({ body }, response) =>
    body.stream ? answerEvents(response, streamOf('From two')) : answerJson(response, WHOLE),
  );
  const models = [...PAIRS, 'm-2026'].map((id) => ({ id }));
  const houses = PAIRS.map((model) => {
    const endpoints = ['one', 'two'].map((provider, priority) => ({ provider, model, priority }));
    return [`house/${model}`, { endpoints }];
  });
  gateway = await startTestGateway(`
providers:
  one: { type: open-responses, base_url: "${one.url}/v1", api_key: upstream-key, models: ${JSON.stringify(models)} }
  two: { type: open-responses, base_url: "${two.url}/v1", models: ${JSON.stringify(models)} }
  openai: { type: openai, base_url: "${one.url}/v1", api_key: k }
  xai: { type: xai, base_url: "${one.url}/v1", api_key: k }
  groq: { type: groq, base_url: "${one.url}/v1", api_key: k, models: [{ id: m }, { id: r, rules: { protocols: [responses] } }] }
  both: { type: openai-compatible, base_url: "${one.url}/v1", protocols: [responses, chat], models: [{ id: m }] }
  plain: { type: openai-compatible, base_url: "${one.url}/v1", models: [{ id: m }] }
models: ${JSON.stringify(Object.fromEntries(houses))}
`);
});

after(async () => {
  await gateway.close();
  await one.close();
  await two.close();
});

beforeEach(() => {
  one.calls.length = 0;
  two.calls.length = 0;
  answer = ({ body }, response) =>
    body.stream ? answerEvents(response, streamOf('Hello')) : answerJson(response, WHOLE);
});

function textOf(protocol: ProtocolId, body: Json): string {
  switch (protocol) {
    case 'chat':
      return body.choices[0].message.content;
    case 'messages':
      return body.content.find(({ type }: Json) => type === 'text').text;
    case 'generate':
      return body.candidates[0].content.parts.find((part: Json) => !part.thought).text;
  }
}

/** Input with cached and cache-write tokens, output with reasoning. */
function usageOf(protocol: ProtocolId, body: Json): number[] {
  switch (protocol) {
    case 'chat':
      return [body.usage.prompt_tokens, body.usage.completion_tokens];
    case 'messages': {
      const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = body.usage;
      return [input_tokens + cache_read_input_tokens + cache_creation_input_tokens, output_tokens];
    }
    case 'generate': {
      const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount } = body.usageMetadata;
      return [promptTokenCount, candidatesTokenCount + thoughtsTokenCount];
    }
  }
}

let pairs = 0;

function nextPair(): string {
  return `house/${PAIRS[pairs++]}`;
}

function asking(protocol: ProtocolId, model: string, stream = false): Promise<Response> {
  return ask(gateway, { protocol, model, text: 'Hi', stream });
}

for (const client of CLIENTS) {
  describe(`from ${client}`, () => {
    test('a whole answer', async () => {
      const response = await asking(client, 'one/m-2026');
      const body = (await response.json()) as Json;
      assert.equal(response.status, 200, JSON.stringify(body));
      assert.equal(response.headers.get('x-polygate-path'), 'translated');
      assert.equal(textOf(client, body), 'Hello');
      assert.deepEqual(usageOf(client, body), [30, 12]);
      assert.equal(one.calls[0]?.path, '/v1/responses');
    });

    test('a stream', async () => {
      const response = await asking(client, 'one/m-2026', true);
      assert.deepEqual(hear(client, await response.text()), { text: 'Hello', success: true });
      assert.equal(one.calls[0]?.body.stream, true);
    });

    test('nothing of a request is stored there, and reasoning comes back with its state', async () => {
      await asking(client, 'one/m-2026');
      const { body } = one.calls[0] ?? {};
      assert.equal(body.store, false);
      assert.deepEqual(body.include, ['reasoning.encrypted_content']);
      assert.deepEqual(body.reasoning, { summary: 'auto' });
    });

    for (const [what, events] of Object.entries({
      'that fails before its first output': [...preambleOf(), FAILED],
      'with an error before its first output': [
        ...preambleOf(),
        { type: 'error', code: 'server_is_overloaded', message: 'Busy.', param: null },
      ],
    })) {
      test(`a stream ${what} is answered by another endpoint`, async () => {
        answer = (_call, response) => answerEvents(response, events.map(frame).join(''));
        const response = await asking(client, nextPair(), true);
        assert.deepEqual(hear(client, await response.text()), { text: 'From two', success: true });
        assert.deepEqual([one.calls.length, two.calls.length], [1, 1]);
      });
    }

    for (const [status, changes] of Object.entries({
      failed: { status: 'failed', error: { code: 'server_error', message: 'The model broke.' } },
      cancelled: { status: 'cancelled' },
    })) {
      test(`a whole response that is ${status} is an error, never an empty answer (checklist 110)`, async () => {
        answer = (_call, response) => answerJson(response, responseOf(changes));
        const response = await asking(client, 'one/m-2026');
        assert.ok(response.status >= 500, String(response.status));
        assert.ok(errorName(client, (await response.json()) as Json));
        const other = await asking(client, nextPair());
        assert.equal(textOf(client, (await other.json()) as Json), 'Hello');
      });

      test(`a stream that is ${status} midway ends with an error`, async () => {
        const last = { type: `response.${status}`, response: responseOf(changes) };
        const events = [...preambleOf(), deltaOf('Hel', 3), last];
        answer = (_call, response) => answerEvents(response, events.map(frame).join(''));
        const response = await asking(client, 'one/m-2026', true);
        const { text, error, success } = hear(client, await response.text());
        assert.deepEqual([text, success], ['Hel', false]);
        assert.ok(error);
      });
    }

    test('a stream that is cut is an error', async () => {
      answer = (_call, response) => answerEvents(response, [...preambleOf(), deltaOf('Hel', 3)].map(frame).join(''));
      const { error, success } = hear(client, await (await asking(client, 'one/m-2026', true)).text());
      assert.equal(success, false);
      assert.ok(error);
    });

    test('a server that does not stream', async () => {
      answer = (_call, response) => answerJson(response, WHOLE);
      const response = await asking(client, 'one/m-2026', true);
      assert.deepEqual(hear(client, await response.text()), { text: 'Hello', success: true });
    });

    test('a server that gives no more than the last event', async () => {
      answer = (_call, response) => answerEvents(response, frame(COMPLETED));
      const response = await asking(client, 'one/m-2026', true);
      assert.deepEqual(hear(client, await response.text()), { text: 'Hello', success: true });
    });

    test('an error keeps its words', async () => {
      const error = { message: 'No tool output found.', type: 'invalid_request_error', param: 'input', code: null };
      answer = (_call, response) => answerJson(response, { error }, 400);
      const response = await asking(client, 'one/m-2026');
      assert.equal(response.status, 400);
      assert.match(JSON.stringify(await response.json()), /No tool output found\./);
    });
  });
}

describe('which protocol a provider is spoken to in', () => {
  /** By model: the path that each client's request takes. */
  const PATHS_BY_CLIENT: Record<string, Partial<Record<ProtocolId | 'responses', string>>> = {
    'openai/gpt-5.3-codex': { chat: '/responses', messages: '/responses', generate: '/responses' },
    'openai/gpt-5.6': { chat: '/chat/completions', messages: '/responses', responses: '/responses' },
    'openai/gpt-5.4': { chat: '/chat/completions', messages: '/chat/completions', responses: '/responses' },
    'xai/grok-4.6': { chat: '/chat/completions', messages: '/responses', generate: '/responses' },
    'xai/grok-4.20-multi-agent-0309': { chat: '/responses', messages: '/responses' },
    'groq/m': { messages: '/chat/completions', responses: '/responses' },
    'groq/r': { chat: '/responses', messages: '/responses' },
    'both/m': { chat: '/chat/completions', messages: '/responses', responses: '/responses' },
    'plain/m': { chat: '/chat/completions', messages: '/chat/completions' },
  };

  for (const [model, paths] of Object.entries(PATHS_BY_CLIENT)) {
    test(model, async () => {
      for (const [client, path] of Object.entries(paths)) {
        one.calls.length = 0;
        if (client === 'responses') await post(`${gateway.url}/v1/responses`, { model, input: 'Hi' }, HEADERS.chat);
        else await asking(client as ProtocolId, model);
        assert.equal(one.calls[0]?.path, `/v1${path}`, client);
      }
    });
  }

  test('xAI gets no member that it refuses', async () => {
    const account = { user: 'someone', metadata: { k: 'v' }, service_tier: 'flex', stop: 'x' };
    const body = { model: 'xai/grok-4.20-multi-agent-0309', messages: [{ role: 'user', content: 'Hi' }], ...account };
    const response = await post(gateway.url + PATHS.chat(), body, HEADERS.chat);
    const sent = one.calls[0]?.body;
    assert.deepEqual(
      [sent.user, sent.safety_identifier, sent.metadata, sent.service_tier],
      ['someone', undefined, undefined, undefined],
    );
    assert.equal(response.headers.get('x-polygate-dropped'), 'stop, metadata, service_tier');
  });
});

test('a call at the end of a history has a result, as each call before it', async () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
  const asked = { role: 'assistant', content: null, tool_calls: [call] };
  const body = { model: 'one/m-2026', messages: [{ role: 'user', content: 'Hi' }, asked] };
  const response = await post(gateway.url + PATHS.chat(), body, HEADERS.chat);
  assert.equal(response.status, 200, await response.text());
  assert.deepEqual(
    one.calls[0]?.body.input.map(({ type, call_id }: Json) => [type, call_id]),
    [
      ['message', undefined],
      ['function_call', 'call_1'],
      ['function_call_output', 'call_1'],
    ],
  );
});

test('OpenAI counts tokens itself, for a client of messages too', async () => {
  answer = (_call, response) => answerJson(response, { object: 'response.input_tokens', input_tokens: 44 });
  const body = { model: 'openai/gpt-5.3-codex', system: 'Be brief.', messages: [{ role: 'user', content: 'Hi' }] };
  const response = await post(`${gateway.url}${PATHS.messages()}/count_tokens`, body, HEADERS.messages);
  assert.deepEqual(await response.json(), { input_tokens: 44 });
  const { path, body: sent } = one.calls[0] ?? {};
  assert.equal(path, '/v1/responses/input_tokens');
  assert.deepEqual(Object.keys(sent).sort(), ['input', 'instructions', 'model', 'reasoning']);
});

test('tokens are estimated where the server cannot count', async () => {
  const body = { model: 'one/m-2026', messages: [{ role: 'user', content: 'Hi' }] };
  const response = await post(`${gateway.url}${PATHS.messages()}/count_tokens`, body, HEADERS.messages);
  assert.equal(response.headers.get('x-polygate-estimated'), 'true');
  assert.equal(one.calls.length, 0);
});
