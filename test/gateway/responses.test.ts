/** The Responses protocol, relayed: the upstream's bytes but for the model's name, and everything around them. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { eventsOf, FAILED, frame, preambleOf, streamOf, USAGE, WHOLE } from '../protocols/responses-wire.ts';
import {
  type Answerer,
  answerEvents,
  answerJson,
  ask,
  HEADERS,
  KEY,
  PATHS,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const KEYS = {
  responses: 'sk-responses-only-0123456789ab',
  chat: 'sk-chat-only-0123456789abcdef0',
  poor: 'sk-poor-0123456789abcdef01234',
};
const TYPES = [
  ...['openai', 'xai', 'openrouter', 'groq', 'deepseek', 'vllm', 'ollama', 'lm-studio', 'llama-cpp'],
  'open-responses',
];
const PRICED = 'models: [{ id: m-2026, pricing: { prompt: "0.1", completion: "1" } }]';

let one: TestUpstream;
let two: TestUpstream;
let gateway: TestGateway;
let answer: Answerer;

before(async () => {
  one = await startUpstream((call, response) => answer(call, response));
  two = await startUpstream((_call, response) => answerJson(response, { ...WHOLE, id: 'resp_two' }));
  gateway = await startTestGateway(
    `
providers:
  one: { type: open-responses, base_url: "${one.url}/v1", api_key: upstream-key, ${PRICED} }
  two: { type: open-responses, base_url: "${two.url}/v1", models: [{ id: m-2026 }] }
  chatty: { type: openai-compatible, base_url: "${one.url}/v1", models: [{ id: m-2026 }] }
${TYPES.map((type) => `  t-${type}: { type: ${type}, api_key: k, base_url: "${one.url}/base", models: [{ id: m-2026 }] }`).join('\n')}
models:
  house/both: { endpoints: [{ provider: one, model: m-2026, priority: 0 }, { provider: two, model: m-2026, priority: 1 }] }
  house/mixed: { endpoints: [{ provider: chatty, model: m-2026, priority: 0 }, { provider: two, model: m-2026, priority: 1 }] }
`,
    {
      keys: [
        `{ name: responses, key: ${KEYS.responses}, surfaces: [responses] }`,
        `{ name: chat, key: ${KEYS.chat}, surfaces: [chat] }`,
        `{ name: poor, key: ${KEYS.poor}, budgets: { day: "5000" } }`,
      ],
    },
  );
});
after(async () => {
  await gateway.close();
  await one.close();
  await two.close();
});
beforeEach(() => {
  one.calls.length = 0;
  two.calls.length = 0;
  answer = (_call, response) => answerJson(response, WHOLE);
});

function send(body: Json, headers: Record<string, string> = {}): Promise<Response> {
  return post(`${gateway.url}/v1/responses`, body, { ...HEADERS.chat, ...headers });
}

function sendText(text: string): Promise<Response> {
  return fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { ...HEADERS.chat, 'content-type': 'application/json' },
    body: text,
  });
}

function withKey(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

async function errorOf(response: Response): Promise<Json> {
  return ((await response.json()) as Json).error;
}

const events =
  (text: string): Answerer =>
  (_call, response: ServerResponse) =>
    answerEvents(response, text);

describe('bytes', () => {
  test('a request passes but for the model, with members, items and tools that nobody knows (checklist 102)', async () => {
    const text = (model: string) =>
      `{ "model":"${model}",  "input": [ {"role":"user","content":"caf\\u00e9"}, {"type":"brand_new","n":1.0} ], "store":true, "include":["x.y"], "tools":[{"type":"brand_new_tool"}], "new_field":12345678901234567890, "client_metadata":{"a":1} }`;
    const response = await sendText(text('one/m-2026'));
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get('x-polygate-path'), 'passthrough');
    assert.equal(one.calls[0]?.bytes.toString(), text('m-2026'));
    assert.equal(one.calls[0]?.path, '/v1/responses');
    assert.equal(one.calls[0]?.headers.authorization, 'Bearer upstream-key');
  });

  test('a whole response passes but for the model and the cost', async () => {
    const text = (model: string, cost: string) =>
      `{"id": "resp_1",\n "object":"response", "status":"completed", "model" : "${model}", "instructions":"\\"model\\":\\"m-2026\\"", "output":[{"type":"new_item","model":"m-2026","n":1.50}], "usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5${cost}}, "odd":12345678901234567890}`;
    answer = (_call, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(text('m-2026', ''));
    const response = await send({ model: 'one/m-2026', input: 'Hi' });
    const cost =
      ',"cost":2.3,"cost_details":{"upstream_inference_cost":2.3,"upstream_inference_input_cost":0.3,"upstream_inference_output_cost":2}';
    assert.equal(await response.text(), text('one/m-2026', cost));
    assert.equal(response.headers.get('x-polygate-cost'), '2.3');
  });

  test('a stream passes but for the model in its first and last events and the cost (checklist 102)', async () => {
    const sent = `: comment\n\n${streamOf('caf\u00e9 🦊')}data: [DONE]\n\n`;
    answer = events(sent);
    const response = await send({ model: 'one/m-2026', input: 'Hi', stream: true });
    const text = await response.text();
    const named = '"max_output_tokens":null,"model":';
    assert.equal(sent.split(`${named}"m-2026"`).length, 4);
    const added = /,"cost":[\d.]+,"cost_details":\{[^}]*\}/;
    assert.match(text, added);
    assert.equal(text.replace(added, '').replaceAll(`${named}"one/m-2026"`, `${named}"m-2026"`), sent);
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  });

  test('a preamble larger than other beginnings may be', async () => {
    const sent = streamOf('Hi', { instructions: 'x'.repeat(300_000) });
    answer = events(sent);
    const text = await (await send({ model: 'two/m-2026', input: 'Hi', stream: true })).text();
    assert.equal(text.length > 0, true);
    const large = await (await send({ model: 'one/m-2026', input: 'Hi', stream: true })).text();
    assert.ok(large.length > sent.length);
    assert.ok(large.trimEnd().includes('response.completed'));
  });

  test('headers of its clients are passed on, and no others', async () => {
    const own = {
      'openai-beta': 'responses=v1',
      session_id: 's',
      'session-id': 's2',
      'thread-id': 't',
      originator: 'o',
    };
    await send({ model: 'one/m-2026', input: 'Hi' }, { ...own, 'x-other': '1', cookie: 'a=b' });
    const { headers = {} } = one.calls[0] ?? {};
    for (const [name, value] of Object.entries(own)) assert.equal(headers[name], value, name);
    assert.deepEqual([headers['x-other'], headers.cookie], [undefined, undefined]);
  });

  for (const type of TYPES) {
    test(`${type} relays whole and streamed`, async () => {
      const body = { model: `t-${type}/m-2026`, input: 'Hi', temperature: 1, max_output_tokens: 20, top_p: 0.5 };
      const whole = await send(body);
      assert.equal(whole.status, 200, await whole.clone().text());
      assert.equal(((await whole.json()) as Json).model, `t-${type}/m-2026`);
      answer = events(streamOf('Hi'));
      const text = await (await send({ ...body, stream: true })).text();
      assert.match(text, /event: response\.completed/);
      assert.deepEqual(
        one.calls.map(({ path }) => path),
        ['/base/responses', '/base/responses'],
      );
      assert.deepEqual(one.calls[0]?.body, { ...body, model: 'm-2026' });
    });
  }

  test('a provider of two protocols still answers chat completions at their own path', async () => {
    const choice = { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' };
    answer = (_call, response) =>
      answerJson(response, { id: 'c', object: 'chat.completion', model: 'm-2026', choices: [choice] });
    for (const client of ['chat', 'messages'] as const) {
      const model = 't-vllm/m-2026';
      const response = await ask(gateway, { protocol: client, model, text: 'Hi' });
      assert.equal(response.status, 200, await response.text());
    }
    assert.deepEqual(
      one.calls.map(({ path }) => path),
      ['/base/chat/completions', '/base/chat/completions'],
    );
  });
});

describe('what is counted', () => {
  for (const stream of [false, true]) {
    test(`usage and cost of ${stream ? 'a stream' : 'a whole response'} are recorded`, async () => {
      if (stream) answer = events(streamOf('Hello'));
      const response = await send({ model: 'one/m-2026', input: 'Hi', stream });
      await response.text();
      const id = response.headers.get('x-polygate-generation-id');
      const { data } = (await (
        await fetch(`${gateway.url}/v1/generation?id=${id}`, { headers: HEADERS.chat })
      ).json()) as Json;
      const { input_tokens: input, output_tokens: output } = USAGE;
      assert.deepEqual([data.tokens_prompt, data.tokens_completion, data.api_type], [input, output, 'responses']);
      assert.equal(data.native_tokens_reasoning, 5);
      assert.equal(Number(data.total_cost), input * 0.1 + output);
    });
  }

  test('an answer without usage is estimated by its text', async () => {
    answer = (_call, response) => answerJson(response, { ...WHOLE, usage: null });
    const response = await send({ model: 'one/m-2026', input: 'Hi' });
    await response.text();
    const cost = Number(response.headers.get('x-polygate-cost'));
    assert.ok(cost >= 1 && cost < 10, String(cost));
  });

  test('a key with a budget gets an output limit, and may name parameters of its tools as it likes', async () => {
    const tools = [
      { type: 'function', name: 'f', parameters: { type: 'object', properties: { model: { type: 'string' } } } },
      { type: 'namespace', name: 'n', tools: [{ type: 'custom', name: 'c', format: { type: 'text', model: 1 } }] },
    ];
    const response = await send({ model: 'one/m-2026', input: 'Hi', tools }, withKey(KEYS.poor));
    assert.equal(response.status, 200, await response.text());
    const limit = one.calls[0]?.body.max_output_tokens;
    assert.ok(limit > 16 && limit <= 5000, String(limit));
    assert.deepEqual(one.calls[0]?.body.tools, tools);
  });

  test('a key with a budget may not send tools that choose a model, in the input either', async () => {
    const tools = [{ type: 'image_generation', model: 'dear' }];
    const input = [{ type: 'additional_tools', role: 'developer', tools }];
    for (const body of [{ input: 'Hi', tools }, { input }, { input: 'Hi', tools: [{ type: 'namespace', tools }] }]) {
      const response = await send({ model: 'one/m-2026', ...body }, withKey(KEYS.poor));
      assert.equal(response.status, 403, await response.text());
    }
    assert.equal(one.calls.length, 0);
  });
});

describe('what is refused', () => {
  const refused: [param: string, code: string, body: Json][] = [
    ['previous_response_id', 'previous_response_not_found', { previous_response_id: 'resp_of_another_key' }],
    ['conversation', 'invalid_request', { conversation: 7 }],
    ['conversation.id', 'invalid_request', { conversation: {} }],
    ['previous_response_id', 'invalid_request', { conversation: 'conv_1', previous_response_id: 'resp_1' }],
    [
      'input[1].id',
      'item_not_found',
      {
        input: [
          { role: 'user', content: 'Hi' },
          { type: 'item_reference', id: 'msg_none' },
        ],
      },
    ],
    ['input[0].id', 'item_not_found', { input: [{ id: 'msg_none' }] }],
    ['input[0].id', 'item_not_found', { input: [{ id: 'msg_none', type: null }] }],
    [
      'prompt_cache_options.comparison_response_id',
      'previous_response_not_found',
      { prompt_cache_options: { comparison_response_id: 'resp_none' } },
    ],
    ['input', 'invalid_request', { input: 7 }],
    ['input[0]', 'invalid_request', { input: ['Hi'] }],
    ['tools[0].type', 'invalid_request', { tools: [{ name: 'f' }] }],
    ['temperature', 'invalid_request', { temperature: 3 }],
    ['max_output_tokens', 'invalid_request', { max_output_tokens: 0 }],
    ['Previous_Response_ID', 'invalid_request', { Previous_Response_ID: 'resp_1' }],
  ];
  for (const [param, code, body] of refused) {
    test(`${JSON.stringify(body)} by ${param}`, async () => {
      const response = await send({ model: 'one/m-2026', input: 'Hi', ...body });
      const error = await errorOf(response);
      assert.equal(response.status, 400);
      assert.deepEqual([error.param, error.code, error.type], [param, code, 'invalid_request_error']);
      assert.ok(error.message.includes(param) || code.endsWith('_not_found'), error.message);
      assert.equal(one.calls.length, 0);
    });
  }

  test('null is as absent, and store, prompt and background: false pass', async () => {
    const body = {
      ...{ previous_response_id: null, conversation: null, background: false, store: true },
      prompt: { id: 'pmpt_1' },
    };
    assert.equal((await send({ model: 'one/m-2026', input: 'Hi', ...body })).status, 200);
    assert.deepEqual(one.calls[0]?.body, { model: 'm-2026', input: 'Hi', ...body });
  });

  test('ids of stored content do not come in by provider options', async () => {
    for (const [name, value] of Object.entries({
      previous_response_id: 'resp_1',
      background: true,
      conversation: 'c',
    })) {
      const provider = { options: { one: { [name]: value } } };
      const response = await send({ model: 'one/m-2026', input: 'Hi', provider });
      assert.equal(response.status, 400, name);
      assert.equal((await errorOf(response)).param, `provider.options.one.${name}`);
    }
    assert.equal(one.calls.length, 0);
  });

  test('an item that only its provider knows, in words, where the request is translated; another endpoint is tried first', async () => {
    const input = [{ type: 'x_search_call', id: 'xs_1' }];
    const error = await errorOf(await send({ model: 'chatty/m-2026', input }));
    assert.deepEqual([error.code, error.param], ['unsupported_parameter', 'input[0].type']);
    assert.match(error.message, /x_search_call.*not known here/);
    const answered = (await (await send({ model: 'house/mixed', input })).json()) as Json;
    assert.deepEqual([answered.id, answered.model], ['resp_two', 'house/mixed']);
  });

  test('keys of other surfaces, wrong keys, other methods and paths, in its own shape', async () => {
    const body = { model: 'one/m-2026', input: 'Hi' };
    assert.equal((await send(body, withKey(KEYS.responses))).status, 200);
    assert.equal((await send(body, withKey(KEYS.chat))).status, 403);
    assert.equal((await post(`${gateway.url}/v1/responses`, body, { 'api-key': KEY })).status, 200);
    const wrong = await send(body, withKey('sk-wrong'));
    assert.deepEqual([wrong.status, (await errorOf(wrong)).code], [401, 'invalid_api_key']);
    const chat = question('chat', 'sandbox/echo', 'Hi');
    assert.equal((await post(gateway.url + PATHS.chat(), chat, withKey(KEYS.responses))).status, 403);
    const get = (path: string) => fetch(gateway.url + path, { headers: HEADERS.chat });
    assert.equal((await get('/v1/responses')).status, 426);
    const missing = await get('/v1/responses/resp_none');
    assert.equal(missing.status, 404);
    assert.equal((await errorOf(missing)).code, null);
  });
});

describe('failures', () => {
  test('an error before output is answered by another endpoint', async () => {
    const failures = [
      FAILED,
      { type: 'error', code: 'server_error', message: 'flat', sequence_number: 2 },
      { type: 'error', error: { type: 'server_error', message: 'nested' } },
    ];
    for (const failure of failures) {
      answer = events([...preambleOf(), failure].map(frame).join(''));
      const response = await send({ model: 'house/both', input: 'Hi', provider: { order: ['one'] } });
      assert.equal(response.headers.get('x-polygate-endpoint'), 'two/m-2026', await response.text());
    }
    answer = (_call, response) => answerJson(response, FAILED.response);
    const whole = await send({ model: 'house/both', input: 'Hi', provider: { order: ['one'] } });
    assert.equal(whole.headers.get('x-polygate-endpoint'), 'two/m-2026');
  });

  const started = eventsOf('Hello', { id: 'resp_9' }).slice(0, 8);
  const endings: [name: string, text: string][] = [
    ['a failed response', frame({ ...FAILED, response: { ...FAILED.response, id: 'resp_9' } })],
    ['an error event', frame({ type: 'error', code: 'server_error', message: 'flat', sequence_number: 8 })],
    ['a cut', ''],
  ];
  for (const [name, text] of endings) {
    test(`after the start, ${name} is one response.failed with the stream's id and the next number`, async () => {
      answer = events(started.map(frame).join('') + text);
      const got = await (await send({ model: 'one/m-2026', input: 'Hi', stream: true })).text();
      const frames = got.split('\n\n').filter(Boolean);
      assert.equal(frames.length, started.length + 1);
      const [type, data = ''] = frames.at(-1)?.split('\n') ?? [];
      assert.equal(type, 'event: response.failed');
      const { sequence_number: sequence, response } = JSON.parse(data.slice('data: '.length));
      assert.equal(sequence, 8);
      assert.deepEqual([response.id, response.status, response.model], ['resp_9', 'failed', 'one/m-2026']);
      assert.equal(response.error.code, 'server_error');
      assert.ok(!got.includes('response.completed'));
    });
  }

  test("an upstream's error passes as it is; of our key it says nothing; other shapes become well-formed", async () => {
    const own = { error: { message: 'Too long.', type: 'invalid_request_error', param: 'input', code: 'x' } };
    const cases: [status: number, body: Json, expected: [number, Json]][] = [
      [400, own, [400, own]],
      [400, { code: 'bad', error: 'xAI says a string' }, [400, 'xAI says a string']],
      [400, { detail: 'ChatGPT says detail' }, [400, 'ChatGPT says detail']],
      [401, { error: { message: 'Incorrect API key', code: 'invalid_api_key' } }, [502, 'credential']],
    ];
    for (const [status, body, [expected, words]] of cases) {
      answer = (_call, response) => answerJson(response, body, status);
      const response = await send({ model: 't-openai/m-2026', input: 'Hi' });
      assert.equal(response.status, expected);
      const got = (await response.json()) as Json;
      if (typeof words === 'string') assert.ok(got.error.message.includes(words), got.error.message);
      else assert.deepEqual(got, words);
    }
  });
});

describe('state', () => {
  test('encrypted reasoning goes back to the provider that made it, and to no other', async () => {
    const asked = { model: 'one/m-2026', input: [{ role: 'user', content: 'Hi' }], store: false };
    answer = events(streamOf('Hello'));
    await (await send({ ...asked, stream: true })).text();
    const input = [
      { role: 'user', content: 'Hi' },
      { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'sealed-by-upstream' },
      { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'done' },
      { id: 'msg_7', type: 'message', role: 'assistant', content: 'Later.' },
    ];
    answer = (_call, response) => answerJson(response, WHOLE);
    await send({ ...asked, input });
    assert.deepEqual(one.calls.at(-1)?.body.input, input);
    await send({ ...asked, model: 'two/m-2026', input });
    const [user, , { id: _, ...call } = {} as Json, ...rest] = input;
    assert.deepEqual(two.calls.at(-1)?.body.input, [user, call, ...rest]);
  });
});
