/** Requests that a Responses upstream refuses, and gets again in a form that it takes. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { hear } from '../faults/wires.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { FAILED, frame, preambleOf, REASONING, responseOf, streamOf, WHOLE } from '../protocols/responses-wire.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
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

const CHAT_ANSWER = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Over chat' }, finish_reason: 'stop' }],
};

const clock = createManualClock(Date.now());
let upstream: TestUpstream;
let gateway: TestGateway;
let answer: Answerer;

before(async () => {
  upstream = await startUpstream((call, response) => answer(call, response));
  const url = `base_url: "${upstream.url}/v1"`;
  gateway = await startTestGateway(
    `${ADMIN_CONFIG}
providers:
  one: { type: open-responses, ${url}, api_key: k, models: [{ id: m }] }
  two: { type: open-responses, ${url}, api_keys: [first-key, second-key], models: [{ id: m }] }
  older: { type: openai-compatible, ${url}, protocols: [responses, chat], models: [{ id: m }] }
  newer: { type: openai-compatible, ${url}, protocols: [chat, responses], models: [{ id: m }] }
  tried: { type: openai-compatible, ${url}, protocols: [responses, chat], models: [{ id: m }] }
  strange: { type: openai-compatible, ${url}, protocols: [responses, chat], models: [{ id: m }] }
`,
    { clock },
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

beforeEach(() => {
  upstream.calls.length = 0;
});

function refusal(error: Json): Answerer {
  return ({ body }, response) => {
    if (body.input?.some?.(({ type }: Json) => type === 'reasoning')) answerJson(response, { error }, 400);
    else if (body.stream) answerEvents(response, streamOf('Hello'));
    else answerJson(response, WHOLE);
  };
}

const CODE = { message: 'Bad request.', type: 'invalid_request_error', param: null, code: 'invalid_encrypted_content' };
const MESSAGE = {
  message: 'The encrypted content for item rs_1 could not be verified.',
  type: 'invalid_request_error',
  code: null,
};

/** What an assistant's turn becomes at a client, by whose next turn its state returns. */
async function firstTurn(client: ProtocolId, model: string): Promise<Json> {
  answer = (_call, response) => answerJson(response, WHOLE);
  const body = (await (await ask(gateway, { protocol: client, model, text: 'Hi' })).json()) as Json;
  upstream.calls.length = 0;
  switch (client) {
    case 'chat':
      return body.choices[0].message;
    case 'messages':
      return { role: 'assistant', content: body.content };
    case 'generate':
      return body.candidates[0].content;
  }
}

interface NextTurn {
  stream?: boolean;
  question?: string;
}

function nextTurn(
  client: ProtocolId,
  model: string,
  turn: Json,
  { stream = false, question = 'Hi' }: NextTurn = {},
): Promise<Response> {
  const body: Record<ProtocolId, Json> = {
    chat: { model, stream, messages: [{ role: 'user', content: question }, turn, { role: 'user', content: 'More' }] },
    messages: {
      ...{ model, stream, max_tokens: 100 },
      messages: [{ role: 'user', content: question }, turn, { role: 'user', content: 'More' }],
    },
    generate: {
      contents: [{ role: 'user', parts: [{ text: question }] }, turn, { role: 'user', parts: [{ text: 'More' }] }],
    },
  };
  return post(gateway.url + PATHS[client](model, stream), body[client], {
    ...HEADERS[client],
    'x-polygate-trace': 'true',
  });
}

function typesSent(call = upstream.calls[0]): string[] {
  return call?.body.input.map(({ type }: Json) => type);
}

for (const client of ['chat', 'messages', 'generate'] as const) {
  describe(`state of a client of ${client}`, () => {
    test('goes back with its reasoning, in its place', async () => {
      const turn = await firstTurn(client, 'one/m');
      assert.equal((await nextTurn(client, 'one/m', turn)).status, 200);
      assert.deepEqual(typesSent(), ['message', 'reasoning', 'message', 'message']);
      const { id, encrypted_content } = upstream.calls[0]?.body.input[1] ?? {};
      assert.deepEqual([id, encrypted_content], [REASONING.id, REASONING.encrypted_content]);
    });

    for (const [how, error] of Object.entries({ 'by code': CODE, 'by message': MESSAGE })) {
      for (const stream of [false, true]) {
        test(`is left out once the server cannot read it, ${how}, ${stream ? 'streamed' : 'whole'}`, async () => {
          const turn = await firstTurn(client, 'one/m');
          answer = refusal(error);
          const response = await nextTurn(client, 'one/m', turn, { stream });
          assert.equal(response.status, 200);
          assert.match(response.headers.get('x-polygate-dropped') ?? '', /reasoning/);
          const { attempts } = JSON.parse(response.headers.get('x-polygate-trace') ?? '');
          assert.equal(attempts[1].note, 'without reasoning, which the server refused');
          assert.ok((await response.text()).includes('H'));
          assert.deepEqual(upstream.calls.map(typesSent), [
            ['message', 'reasoning', 'message', 'message'],
            ['message', 'message', 'message'],
          ]);
        });
      }
    }

    test('is not sent to another account of the provider', async () => {
      const turn = await firstTurn(client, 'two/m');
      answer = (_call, response) => answerJson(response, WHOLE);
      await nextTurn(client, 'two/m', turn);
      const [own] = upstream.calls;
      assert.ok(typesSent(own).includes('reasoning'));
      // Other conversations, of which some are with the other account, with the same turn in them.
      const accounts = new Set<string | undefined>();
      for (const question of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
        await nextTurn(client, 'two/m', turn, { question });
        const call = upstream.calls.at(-1);
        const isOwn = call?.headers.authorization === own?.headers.authorization;
        accounts.add(call?.headers.authorization);
        assert.equal(typesSent(call).includes('reasoning'), isOwn);
      }
      assert.equal(accounts.size, 2);
    });
  });
}

describe('relayed to a client of Responses', () => {
  const input = [
    { role: 'user', content: 'Hi' },
    { type: 'reasoning', id: 'rs_9', summary: [], encrypted_content: 'of another account' },
    { type: 'message', role: 'assistant', id: 'msg_9', content: [{ type: 'output_text', text: 'Hello' }] },
    { type: 'function_call', id: 'fc_9', call_id: 'call_9', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_9', output: 'x' },
  ];
  const send = (body: Json = {}) =>
    post(`${gateway.url}/v1/responses`, { model: 'one/m', input, store: false, ...body }, HEADERS.chat);

  test('reasoning that the server cannot read is left out with the ids that it pairs (checklist 98)', async () => {
    answer = refusal(CODE);
    const response = await send();
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-polygate-dropped'), 'reasoning');
    assert.equal(response.headers.get('x-polygate-path'), 'patched');
    const [first, second] = upstream.calls;
    assert.deepEqual(first?.body.input, input);
    const [question, , message, call, output] = input as Json[];
    const { id: _message, ...plainMessage } = message;
    const { id: _call, ...plainCall } = call;
    assert.deepEqual(second?.body.input, [question, plainMessage, plainCall, output]);
    assert.equal(second?.body.store, false);
  });

  test('reasoning without state that the server has not kept is left out', async () => {
    answer = ({ body }, response) => {
      const found = body.input.find(({ type, encrypted_content }: Json) => type === 'reasoning' && !encrypted_content);
      const message = `Item with id '${found?.id}' not found. Items are not persisted when \`store\` is set to false.`;
      const error = { message, type: 'invalid_request_error', param: 'input', code: null };
      answerJson(response, found ? { error } : WHOLE, found ? 404 : 200);
    };
    const [question, { encrypted_content: _state, ...reasoning }, ...rest] = input as [Json, Json, ...Json[]];
    const response = await send({ input: [question, reasoning, ...rest] });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-polygate-dropped'), 'reasoning');
    assert.deepEqual(typesSent(upstream.calls[1]), [undefined, 'message', 'function_call', 'function_call_output']);
  });

  test('a stream that begins with that error', async () => {
    answer = ({ body }, response) => {
      const isFirst = body.input.some(({ type }: Json) => type === 'reasoning');
      const error = { code: 'invalid_encrypted_content', message: 'It cannot be read.' };
      const failed = { ...FAILED, response: responseOf({ status: 'failed', error }) };
      answerEvents(response, isFirst ? [...preambleOf(), failed].map(frame).join('') : streamOf('Hello'));
    };
    const text = await (await send({ stream: true })).text();
    assert.match(text, /response\.completed/);
    assert.equal(upstream.calls.length, 2);
  });

  test('only once, and only if there is something to leave out', async () => {
    answer = (_call, response) => answerJson(response, { error: CODE }, 400);
    assert.equal((await send()).status, 400);
    assert.equal(upstream.calls.length, 2);
    upstream.calls.length = 0;
    assert.equal((await send({ input: 'Hi' })).status, 400);
    assert.equal(upstream.calls.length, 1);
  });

  test('a summary that the client asked for itself is its own affair', async () => {
    const error = { message: 'Verify your organization.', param: 'reasoning.summary', code: 'unsupported_value' };
    answer = (_call, response) => answerJson(response, { error }, 400);
    assert.equal((await send({ reasoning: { summary: 'auto' } })).status, 400);
    assert.equal(upstream.calls.length, 1);
  });
});

test('an account that may not see summaries answers without', async () => {
  const error = {
    message: 'Your organization must be verified to generate reasoning summaries.',
    ...{ type: 'invalid_request_error', param: 'reasoning.summary', code: 'unsupported_value' },
  };
  answer = ({ body }, response) =>
    body.reasoning?.summary ? answerJson(response, { error }, 400) : answerJson(response, WHOLE);
  const response = await ask(gateway, { protocol: 'chat', model: 'one/m', text: 'Hi' });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-polygate-dropped'), 'reasoning.summary');
  assert.deepEqual(upstream.calls[1]?.body.reasoning, {});
});

describe('a server without the path', () => {
  const missing: Answerer = ({ path }, response) =>
    path === '/v1/responses' ? answerJson(response, { detail: 'Not Found' }, 404) : answerJson(response, CHAT_ANSWER);
  const pathsOf = () => upstream.calls.map(({ path }) => path);
  const asked = async (model: string) => {
    const response = await post(
      gateway.url + PATHS.messages(),
      { model, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
      { ...HEADERS.messages, 'x-polygate-trace': 'true' },
    );
    return {
      status: response.status,
      trace: JSON.parse(response.headers.get('x-polygate-trace') ?? '{}'),
      body: (await response.json()) as Json,
    };
  };

  test('is asked in its other protocol, which the trace tells, and for an hour only in that', async () => {
    answer = missing;
    const explained = async () => {
      const question = { protocol: 'responses', body: { model: 'older/m', input: 'Hi' } };
      return (await askAdmin(gateway.adminUrl, 'POST', '/explain', question)).body.data.candidates[0].path;
    };
    assert.equal(await explained(), 'passthrough');
    const first = await asked('older/m');
    assert.equal(await explained(), 'translated');
    assert.equal(first.body.content[0].text, 'Over chat');
    assert.deepEqual(pathsOf(), ['/v1/responses', '/v1/chat/completions']);
    assert.deepEqual(
      first.trace.attempts.map(({ status, note }: Json) => [status, note]),
      [
        [404, undefined],
        [200, 'the server has no responses'],
      ],
    );
    upstream.calls.length = 0;
    const second = await asked('older/m');
    assert.equal(second.trace.attempts[0].note, 'the server has no responses');
    assert.deepEqual(pathsOf(), ['/v1/chat/completions']);
    upstream.calls.length = 0;
    clock.advance(60 * 60 * 1000 + 1);
    answer = (_call, response) => answerJson(response, WHOLE);
    assert.equal((await asked('older/m')).body.content.at(-1).text, 'Hello');
    assert.deepEqual(pathsOf(), ['/v1/responses']);
  });

  test('streams too, and with 405', async () => {
    answer = ({ path }, response) => {
      if (path === '/v1/chat/completions') answerJson(response, { message: 'Method not allowed' }, 405);
      else answerEvents(response, streamOf('Hello'));
    };
    const response = await ask(gateway, { protocol: 'chat', model: 'newer/m', text: 'Hi', stream: true });
    assert.deepEqual(hear('chat', await response.text()), { text: 'Hello', success: true });
    assert.deepEqual(pathsOf(), ['/v1/chat/completions', '/v1/responses']);
  });

  test('is not assumed of one that answered in the protocol within the last hour: a request may name what is not there', async () => {
    answer = (_call, response) => answerJson(response, WHOLE);
    assert.equal((await asked('tried/m')).status, 200);
    clock.advance(59 * 60 * 1000);
    upstream.calls.length = 0;
    answer = ({ path }, response) =>
      path === '/v1/responses'
        ? answerJson(response, { error: { message: 'No such File object: file-1' } }, 404)
        : answerJson(response, CHAT_ANSWER);
    assert.equal((await asked('tried/m')).status, 200);
    assert.deepEqual(pathsOf(), ['/v1/responses', '/v1/chat/completions']);
    upstream.calls.length = 0;
    answer = (_call, response) => answerJson(response, WHOLE);
    await asked('tried/m');
    assert.deepEqual(pathsOf(), ['/v1/responses'], 'for one request alone');
  });

  test('is another matter than a server without the model', async () => {
    answer = (_call, response) =>
      answerJson(
        response,
        { error: { message: 'The model `m` does not exist.', type: 'NotFoundError', code: 404 } },
        404,
      );
    assert.equal((await asked('strange/m')).status, 404);
    assert.deepEqual(pathsOf(), ['/v1/responses']);
  });
});

test('calls of other protocols in one history have items with ids of their own', async () => {
  answer = (_call, response) => answerJson(response, WHOLE);
  const ids = ['call_1', 'toolu_1', '1', 'call_1'];
  const turns = ids.flatMap((id) => [
    { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: id, content: `of ${id}` },
  ]);
  const messages = [{ role: 'user', content: 'Hi' }, ...turns];
  const { status } = await post(`${gateway.url}/v1/chat/completions`, { model: 'one/m', messages }, HEADERS.chat);
  assert.equal(status, 200);
  const { input } = upstream.calls[0]?.body ?? {};
  const calls = input.filter(({ type }: Json) => type === 'function_call');
  for (const name of ['id', 'call_id']) assert.equal(new Set(calls.map((call: Json) => call[name])).size, 4, name);
  const outputs = input.filter(({ type }: Json) => type === 'function_call_output');
  assert.deepEqual(
    outputs.map(({ call_id, output }: Json) => [call_id, output]),
    ids.map((id, index) => [calls[index].call_id, `of ${id}`]),
  );
});
