/** Answers in rounds, free-text tools, answers that are no objects, and state that comes back by way of clients that lose it. */

import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import {
  type Answerer,
  answerEvents,
  answerJson,
  HEADERS,
  PATHS,
  type ProtocolId,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { get, hear, recordOf } from './usage-client.ts';

let upstream: TestUpstream;
let gateway: TestGateway;

async function start(type: string, answer: Answerer, rules = '{}'): Promise<void> {
  upstream = await startUpstream(answer);
  gateway = await startTestGateway(
    `providers: { p: { type: ${type}, base_url: "${upstream.url}", api_key: k, models: [{ id: m, rules: ${rules} }] } }`,
  );
}

afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

async function send(protocol: ProtocolId, body: Json, stream = false): Promise<Json> {
  const response = await post(gateway.url + PATHS[protocol]('p/m', stream), body, HEADERS[protocol]);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  if (!stream) return JSON.parse(text);
  return text
    .split(/\r?\n\r?\n/)
    .filter((frame) => frame.startsWith('data: {') || frame.includes('\ndata: {'))
    .map((frame) => JSON.parse(frame.slice(frame.indexOf('{'))));
}

function events(list: Json[]): string {
  return list.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`).join('');
}

const USED = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } };

function messageOf(content: Json[], stop_reason: string): Json {
  const usage = { input_tokens: 10, output_tokens: 5 };
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content,
    stop_reason,
    stop_sequence: null,
    usage,
  };
}

function streamOf(content: Json[], stop_reason: string): string {
  const message = { ...messageOf([], 'end_turn'), stop_reason: null };
  const blocks = content.flatMap((block, index) => {
    const start = block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} };
    const delta =
      block.type === 'text'
        ? { type: 'text_delta', text: block.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
    return [
      { type: 'content_block_start', index, content_block: start },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ];
  });
  return events([
    { type: 'message_start', message },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]);
}

describe('checklist 73: a paused answer goes on', () => {
  const pauses: Answerer = (call, response) => {
    const paused = call.body.messages.at(-1).role === 'user';
    const content = paused ? [{ type: 'text', text: 'Searching. ' }, USED] : [{ type: 'text', text: 'Found.' }];
    const reason = paused ? 'pause_turn' : 'end_turn';
    if (call.body.stream) answerEvents(response, streamOf(content, reason));
    else answerJson(response, messageOf(content, reason));
  };

  for (const stream of [false, true]) {
    test(`pause_turn for a chat client, ${stream ? 'streamed' : 'whole'}: one answer, usage summed`, async () => {
      await start('anthropic', pauses);
      const body = {
        ...question('chat', 'p/m', 'look it up', stream),
        ...(stream && { stream_options: { include_usage: true } }),
      };
      const answer = await send('chat', body, stream);
      assert.equal(upstream.calls.length, 2);
      assert.deepEqual(upstream.calls[1]?.body.messages.at(-1), {
        role: 'assistant',
        content: [{ type: 'text', text: 'Searching. ' }, USED],
      });
      const text = stream
        ? answer.map((chunk: Json) => chunk.choices[0]?.delta.content ?? '').join('')
        : answer.choices[0].message.content;
      assert.equal(text, 'Searching. Found.');
      const reasons = stream
        ? answer.map((chunk: Json) => chunk.choices[0]?.finish_reason).filter(Boolean)
        : [answer.choices[0].finish_reason];
      assert.deepEqual(reasons, ['stop']);
      const { usage } = stream ? answer.at(-1) : answer;
      assert.deepEqual([usage.prompt_tokens, usage.completion_tokens], [20, 10]);
    });
  }

  test('an answer that never stops pausing ends as cut by length', async () => {
    await start('anthropic', (_call, response) => answerJson(response, messageOf([USED], 'pause_turn')));
    const answer = await send('chat', question('chat', 'p/m', 'look it up'));
    assert.equal(answer.choices[0].finish_reason, 'length');
    assert.equal(upstream.calls.length, 8);
  });

  for (const stream of [false, true]) {
    test(`a text that its model does not go on with ends as cut by length, ${stream ? 'streamed' : 'whole'}`, async () => {
      const content = [{ type: 'text', text: 'One moment.' }];
      await start('anthropic', (call, response) => {
        if (call.body.stream) answerEvents(response, streamOf(content, 'pause_turn'));
        else answerJson(response, messageOf(content, 'pause_turn'));
      });
      const answer = await send('chat', question('chat', 'p/m', 'look it up', stream), stream);
      const choices: Json[] = stream ? answer.flatMap((chunk: Json) => chunk.choices ?? []) : answer.choices;
      assert.equal(choices.map(({ delta, message }) => (delta ?? message).content ?? '').join(''), 'One moment.');
      assert.deepEqual(
        choices.flatMap(({ finish_reason }) => finish_reason ?? []),
        ['length'],
      );
      assert.equal(upstream.calls.length, 1);
    });
  }

  test('a text that its model goes on with is continued', async () => {
    const isFirst = (call: Json): boolean => call.body.messages.at(-1).role === 'user';
    await start(
      'anthropic',
      (call, response) => {
        const text = isFirst(call) ? 'One moment.' : ' Found.';
        answerJson(response, messageOf([{ type: 'text', text }], isFirst(call) ? 'pause_turn' : 'end_turn'));
      },
      '{ prefill: true }',
    );
    const answer = await send('chat', question('chat', 'p/m', 'look it up'));
    assert.equal(answer.choices[0].message.content, 'One moment. Found.');
  });

  test('an error in a later round of a stream ends the stream as an error', async () => {
    await start('anthropic', (call, response) => {
      if (call.body.messages.at(-1).role === 'user')
        answerEvents(response, streamOf([{ type: 'text', text: 'a' }, USED], 'pause_turn'));
      else answerJson(response, { type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, 529);
    });
    const chunks = await send('chat', question('chat', 'p/m', 'x', true), true);
    assert.equal(chunks.at(-1).error.code, 'server_is_overloaded');
  });

  for (const client of ['chat', 'messages'] as const) {
    test(`CONTINUATION of a generate upstream for a ${client} client repeats the request with the token`, async () => {
      await start('google', (call, response) => {
        const first = call.body.continuationToken === undefined;
        const candidate = {
          content: { role: 'model', parts: [{ text: first ? 'one ' : 'two' }] },
          ...(first ? { finishReason: 'CONTINUATION', continuationToken: 'token-1' } : { finishReason: 'STOP' }),
        };
        const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 };
        answerJson(response, { candidates: [candidate], usageMetadata, modelVersion: 'm', responseId: 'r' });
      });
      const answer = await send(client, question(client, 'p/m', 'long'));
      assert.equal(upstream.calls[1]?.body.continuationToken, 'token-1');
      assert.deepEqual(upstream.calls[1]?.body.contents, upstream.calls[0]?.body.contents);
      const text =
        client === 'chat'
          ? answer.choices[0].message.content
          : answer.content.map((block: Json) => block.text).join('');
      assert.equal(text, 'one two');
    });
  }
});

test('the prompt of each round decides by which price of context length it is charged', async () => {
  upstream = await startUpstream((call, response) => {
    const first = call.body.continuationToken === undefined;
    const candidate = {
      content: { role: 'model', parts: [{ text: first ? 'one ' : 'two' }] },
      ...(first ? { finishReason: 'CONTINUATION', continuationToken: 'token-1' } : { finishReason: 'STOP' }),
    };
    const usageMetadata = { promptTokenCount: 150_000, candidatesTokenCount: 2, totalTokenCount: 150_002 };
    answerJson(response, { candidates: [candidate], usageMetadata, modelVersion: 'm', responseId: 'r' });
  });
  // Its prices are higher from 200,000 tokens.
  gateway = await startTestGateway(
    `providers: { p: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: gemini-2.5-pro }] } }`,
  );
  for (const stream of [false, true]) {
    const { id, text } = await hear(gateway.url, { protocol: 'chat', model: 'p/gemini-2.5-pro', text: 'Hi', stream });
    assert.match(text, /"upstream_inference_prompt_cost":0.375,/);
    const { total_cost, tokens_prompt } = await recordOf(gateway.url, id);
    assert.deepEqual([total_cost, tokens_prompt], [0.37504, 300_000]);
  }
});

test('all rounds share the output that was reserved, by the counts of the upstream', async () => {
  upstream = await startUpstream((call, response) => {
    const paused = call.body.messages.at(-1).role === 'user';
    const answer = messageOf(
      [{ type: 'text', text: 'x' }, ...(paused ? [USED] : [])],
      paused ? 'pause_turn' : 'end_turn',
    );
    answerJson(response, { ...answer, usage: { input_tokens: 10, output_tokens: 400 } });
  });
  gateway = await startTestGateway(`
key_defaults: { budgets: { day: "1" } }
providers:
  p:
    type: anthropic
    base_url: "${upstream.url}"
    api_key: k
    models: [{ id: m, pricing: { prompt: "0.000001", completion: "0.00001" } }]
`);
  await send('chat', { ...question('chat', 'p/m', 'look it up'), max_tokens: 500 });
  assert.deepEqual(
    upstream.calls.map(({ body }) => body.max_tokens),
    [500, 100],
  );
});

for (const stream of [false, true])
  test(`each further round reserves its input, and ends the answer where the budget leaves less, ${stream ? 'streamed' : 'whole'}`, async () => {
    const key = 'sk-test-of-rounds-0123456789';
    const used = { input_tokens: 1600, output_tokens: 5 };
    upstream = await startUpstream(({ body }, response) => {
      const paused = { ...messageOf([USED], 'pause_turn'), usage: used };
      if (!body.stream) answerJson(response, paused);
      else answerEvents(response, streamOf([{ type: 'text', text: 'Searching. ' }, USED], 'pause_turn'));
    });
    const model = '{ id: m, pricing: { prompt: "0.0001", completion: "0" } }';
    gateway = await startTestGateway(
      `providers: { p: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [${model}] } }`,
      { keys: [`{ name: poor, key: ${key}, budgets: { total: "0.6" } }`] },
    );
    // About 1,700 tokens, which cost 0.17 USD.
    const text = 'a boat on a river '.repeat(400);
    const { text: heard, status } = await hear(gateway.url, { protocol: 'chat', model: 'p/m', text, stream, key });
    assert.equal(upstream.calls.length, 3);
    assert.match(heard, /may spend 0\.6 USD in all/);
    assert.equal(status, stream ? 200 : 402);
    const { data } = (await get(gateway.url, '/v1/key', key)).body;
    assert.equal(data.held.total, '0');
    if (!stream) assert.equal(data.spent.total, '0.48');
  });

describe('state that a client loses', () => {
  const thinking = { type: 'thinking', thinking: 'Hmm.', signature: 'c2lnbmVk' };
  const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } };
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }];

  for (const stream of [false, true]) {
    test(`checklist 70: thinking comes back to its provider by the id of the call, ${stream ? 'streamed' : 'whole'}`, async () => {
      await start('anthropic', (call, response) => {
        if (call.body.stream) {
          const [start, ...rest] = [
            { type: 'message_start', message: { ...messageOf([], 'x'), stop_reason: null } },
            { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
            { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hmm.' } },
            { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } },
            { type: 'content_block_stop', index: 0 },
            { type: 'content_block_start', index: 1, content_block: { ...toolUse, input: {} } },
            { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
            { type: 'content_block_stop', index: 1 },
            {
              type: 'message_delta',
              delta: { stop_reason: 'tool_use', stop_sequence: null },
              usage: { output_tokens: 5 },
            },
            { type: 'message_stop' },
          ];
          answerEvents(response, events([start, ...rest]));
        } else answerJson(response, messageOf([thinking, toolUse], 'tool_use'));
      });
      await send('chat', { ...question('chat', 'p/m', 'go', stream), tools }, stream);
      const call = { id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
      await send('chat', {
        model: 'p/m',
        tools,
        messages: [
          { role: 'user', content: 'go' },
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', tool_call_id: 'toolu_1', content: 'done' },
        ],
      });
      assert.deepEqual(upstream.calls[1]?.body.messages[1], { role: 'assistant', content: [thinking, toolUse] });
    });
  }

  test('checklist 71: a Gemini tool loop keeps its signature through a chat client that keeps nothing', async () => {
    const part = { functionCall: { id: 'call_9', name: 'f', args: { a: 1 } }, thoughtSignature: 'c2lnbmVk' };
    await start('google', (_call, response) => {
      const candidates = [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }];
      answerJson(response, { candidates, modelVersion: 'm', responseId: 'r' });
    });
    const first = await send('chat', { ...question('chat', 'p/m', 'go'), tools });
    const [call] = first.choices[0].message.tool_calls;
    await send('chat', {
      model: 'p/m',
      tools,
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: null, tool_calls: [{ id: call.id, type: 'function', function: call.function }] },
        { role: 'tool', tool_call_id: call.id, content: 'done' },
      ],
    });
    assert.deepEqual(upstream.calls[1]?.body.contents[1].parts, [part]);
  });
});

test('a free-text tool of a chat client is a function upstream, and its call free text again', async () => {
  const use = { type: 'tool_use', id: 'toolu_1', name: 'patch', input: { input: 'line 1\n"line 2"' } };
  await start('anthropic', (_call, response) => answerJson(response, messageOf([use], 'tool_use')));
  const tools = [{ type: 'custom', custom: { name: 'patch', description: 'applies a patch' } }];
  const answer = await send('chat', { ...question('chat', 'p/m', 'patch it'), tools });
  assert.deepEqual(Object.keys(upstream.calls[0]?.body.tools[0].input_schema.properties), ['input']);
  assert.deepEqual(answer.choices[0].message.tool_calls, [
    { id: 'toolu_1', type: 'custom', custom: { name: 'patch', input: 'line 1\n"line 2"' } },
  ]);
});

describe('an answer by a schema of a list, for a client of generateContent', () => {
  const entry = { $ref: '#/$defs/entry' };
  const $defs = { entry: { type: 'object', properties: { name: { type: 'string' } } } };
  const asked = {
    ...question('generate', 'p/m', 'two names'),
    generationConfig: {
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'array', items: entry, $defs },
    },
  };
  const list = [{ name: 'a }' }, { name: '{"answer":' }];
  const written = ` {\n "answer" : ${JSON.stringify(list, undefined, 1)}\n}\n`;
  const wrapped = {
    type: 'object',
    properties: { answer: { type: 'array', items: entry } },
    required: ['answer'],
    additionalProperties: false,
    $defs,
  };
  const textsOf = (chunks: Json[]): string =>
    chunks.map(({ candidates }) => candidates?.[0]?.content?.parts?.[0]?.text ?? '').join('');

  test('is asked for inside of an object where answers are objects, and taken out of it', async () => {
    await start('openai-compatible', (call, response) => {
      const frame = (delta: Json, finish_reason: string | null = null) =>
        `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
      const frames = Array.from(written, (content) => frame({ content })).join('');
      if (call.body.stream) return answerEvents(response, `${frames}${frame({}, 'stop')}data: [DONE]\n\n`);
      const choices = [{ index: 0, message: { role: 'assistant', content: written }, finish_reason: 'stop' }];
      answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices });
    });
    const whole = await send('generate', asked);
    assert.deepEqual(JSON.parse(textsOf([whole])), list);
    assert.deepEqual(JSON.parse(textsOf(await send('generate', asked, true))), list);
    for (const { body } of upstream.calls) assert.deepEqual(body.response_format.json_schema.schema, wrapped);
  });

  test('stays as it is where the upstream writes the list all the same, or breaks off', async () => {
    const answers = [JSON.stringify(list), '{"answer":[{"name":"b"}', '{"other":[]}'];
    await start('openai-compatible', (_call, response) => {
      const content = answers[upstream.calls.length - 1];
      const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'length' }];
      answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices });
    });
    const got = [];
    for (const _answer of answers) got.push(textsOf([await send('generate', asked)]));
    assert.deepEqual(got, [answers[0], '[{"name":"b"}', answers[2]]);
  });
});

describe('arguments of calls in an answer', () => {
  async function answered(protocol: ProtocolId, args: string[], stream: boolean): Promise<string> {
    const calls = args.map((text, index) => ({
      ...{ index, id: `call_${index}`, type: 'function', function: { name: 'f', arguments: text } },
    }));
    const head = { id: 'c', object: 'chat.completion', created: 1, model: 'm' };
    await start('openai-compatible', (_call, response) => {
      if (!stream) {
        const message = { role: 'assistant', content: null, tool_calls: calls };
        return answerJson(response, { ...head, choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
      }
      const frame = (delta: Json, finish_reason: string | null = null) =>
        `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
      const frames = calls.map((call) => frame({ tool_calls: [call] }));
      answerEvents(response, `${frames.join('')}${frame({}, 'tool_calls')}data: [DONE]\n\n`);
    });
    const body = question(protocol, 'p/m', 'call it');
    const streamed = stream && protocol !== 'generate' ? { stream: true } : {};
    const path = PATHS[protocol]('p/m', stream);
    const response = await post(gateway.url + path, { ...body, ...streamed }, HEADERS[protocol]);
    return response.text();
  }

  for (const protocol of ['messages', 'generate'] as const) {
    for (const stream of [false, true]) {
      const way = `${protocol}, ${stream ? 'streamed' : 'whole'}`;
      test(`have a bound of values together (${way})`, async () => {
        const values = `{"a":[${'1,'.repeat(60_000)}1]}`;
        const text = await answered(protocol, Array(5).fill(values), stream);
        assert.match(text, /The arguments of the calls in the answer have too much/);
      });

      test(`may be long (${way})`, async () => {
        const long = JSON.stringify({ a: 'b,'.repeat(500_000) });
        assert.ok((await answered(protocol, [long], stream)).includes('b,'.repeat(1000)));
      });
    }
  }
});

test('reasoning without a signature never goes to a provider that signs', async () => {
  await start('anthropic', (_call, response) =>
    answerJson(response, messageOf([{ type: 'text', text: 'ok' }], 'end_turn')),
  );
  await send('messages', {
    model: 'p/m',
    max_tokens: 10,
    messages: [
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'from elsewhere', signature: '' },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'user', content: 'c' },
    ],
  });
  assert.deepEqual(upstream.calls[0]?.body.messages[1].content, [{ type: 'text', text: 'b' }]);
});

describe('an upstream that reports no usage', () => {
  const text = 'The capital of France is Paris, a city of some two million people.';
  const whole = {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
  };

  for (const stream of [false, true]) {
    test(`gets an estimate that says so, ${stream ? 'streamed' : 'whole'}`, async () => {
      await start('openai-compatible', (call, response) => {
        if (!call.body.stream) return answerJson(response, whole);
        const [{ message, ...choice }] = whole.choices as [Json];
        answerEvents(
          response,
          `data: ${JSON.stringify({ ...whole, object: 'chat.completion.chunk', choices: [{ ...choice, delta: message }] })}\n\ndata: [DONE]\n\n`,
        );
      });
      for (const client of ['messages', 'generate'] as const) {
        const answer = await send(client, question(client, 'p/m', 'What is the capital of France?', stream), stream);
        const last = stream ? answer.find((event: Json) => event.usage ?? event.usageMetadata) : answer;
        const usage = last.usage ?? last.usageMetadata;
        assert.equal(usage.estimated, true);
        assert.ok((usage.input_tokens ?? usage.promptTokenCount) > 3);
        const output = usage.output_tokens ?? usage.candidatesTokenCount;
        assert.ok(output > 8 && output < 30, `${output} tokens`);
      }
    });
  }
});
