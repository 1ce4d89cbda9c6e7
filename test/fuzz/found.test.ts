/** Failures that fuzzing found: the smallest case of each kind. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import { isObject, parseObject, read, spans } from '../../src/core/json/json.ts';
import { count, list, record, text } from '../../src/core/json/shape.ts';
import { protocolOf } from '../../src/protocols/index.ts';
import { frame, named } from '../conformance/answers.ts';
import { checkStream } from '../validators/index.ts';
import { type Asked, deliver } from './delivery.ts';

const chat = protocolOf('chat');
const messages = protocolOf('messages');
const generate = protocolOf('generate');
const responses = protocolOf('responses');
const target = { origin: 'upstream', model: 'm', rules: {} };

function streamed(asked: Omit<Asked, 'stream'>, ...frames: string[]): ReturnType<typeof deliver> {
  return deliver({ ...asked, stream: true }, { type: 'text/event-stream', chunks: [Buffer.from(frames.join(''))] });
}

const choice = (delta: object, more = {}) => frame({ id: '1', choices: [{ index: 0, delta, ...more }] });
const stop = choice({}, { finish_reason: 'stop' });
const begin = named({ type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 1, output_tokens: 1 } } });
const finish = named({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } });
const ends = finish + named({ type: 'message_stop' });

test('a shape takes out what does not fit, in place, and leaves what it does not know', () => {
  const shape = record({ name: text, counts: list(count), inner: record({ name: text }, 'name') });
  const given = { name: 1, counts: [1, -1, null, '2', 1.5, {}], inner: { name: null }, other: [1] };
  assert.deepEqual(shape(given), { counts: [1, 2], other: [1] });
  assert.equal(shape([]), undefined);
  const good = { name: null, counts: [1], inner: { name: 'x' } };
  assert.equal(shape(good), good);
  assert.deepEqual(good, { name: null, counts: [1], inner: { name: 'x' } });
});

test('a number with more digits than a double has is no object', () => {
  assert.equal(isObject(read('1e400')), false);
});

test('a broken escape in a key does not hide the keys after it', () => {
  assert.deepEqual([...spans(Buffer.from('{"\\q":1,"model":"m"}'), ['model']).keys()], ['model']);
});

describe('answers of upstreams', () => {
  test('values of other types count as absent', () => {
    const odd = { toString: 1 };
    const choices = [null, { index: odd, message: { content: 'Hi', tool_calls: odd, reasoning_details: [null] } }];
    const body = { id: odd, created: [], choices, usage: { prompt_tokens: 1, completion_tokens: odd } };
    const [first] = chat.operations.complete.decodeResponse(body, target).candidates;
    assert.deepEqual(first?.parts, [{ type: 'text', text: 'Hi' }]);
    const blocks = [null, { type: odd }, { type: 'text', text: 'Hi', citations: 1 }];
    assert.deepEqual(
      messages.operations.complete.decodeResponse({ id: odd, content: blocks }, target).candidates[0]?.parts,
      [{ type: 'text', text: 'Hi' }],
    );
    const parts = [null, { text: 'Hi', inlineData: {} }];
    const candidates = [null, { content: { parts }, finishReason: 'STOP', groundingMetadata: { groundingChunks: 1 } }];
    assert.deepEqual(generate.operations.complete.decodeResponse({ candidates }, target).candidates[0]?.parts, [
      { type: 'text', text: 'Hi' },
    ]);
  });

  test('counts are natural numbers', () => {
    assert.equal(chat.operations.complete.usageOf({ usage: { prompt_tokens: -1, completion_tokens: 1 } }), undefined);
    assert.deepEqual(messages.operations.complete.usageOf({ usage: { input_tokens: 1.5, output_tokens: 3 } }), {
      output: 3,
    });
    assert.deepEqual(
      generate.operations.complete.usageOf({ usageMetadata: { promptTokenCount: '7', candidatesTokenCount: {} } }),
      {
        input: 7,
        output: 0,
      },
    );
  });

  test('a candidate far ahead does not make billions before it', () => {
    const candidates = [{ index: 4_000_000_000, content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }];
    assert.equal(generate.operations.complete.decodeResponse({ candidates }, target).candidates.length, 1);
  });

  test('pieces of arguments cannot make an array long by its length', () => {
    const partialArgs = [
      { jsonPath: '$.list[0]', stringValue: 'x' },
      { jsonPath: '$.list.length', numberValue: 4_000_000_000 },
    ];
    const candidates = [{ content: { parts: [{ functionCall: { name: 'f', partialArgs } }] }, finishReason: 'STOP' }];
    const [part] = generate.operations.complete.decodeResponse({ candidates }, target).candidates[0]?.parts ?? [];
    assert.equal(part?.type === 'call' && part.args, '{"list":["x"]}');
  });

  test('errors of odd types are errors still', () => {
    const odd = { toString: 1 };
    assert.ok(chat.errorIn({ error: { code: odd, status: odd } }) instanceof GatewayError);
    assert.ok(generate.decodeError(400, { error: { details: [{ reason: odd }] } }) instanceof GatewayError);
  });

  test('a response that nests too deeply is an error of the upstream', () => {
    const deep = `${'[{"a":'.repeat(20_000)}1${'}]'.repeat(20_000)}`;
    const bodies: Record<string, string> = {
      chat: `{"choices":[{"message":{"content":{"a":${deep}}},"finish_reason":"stop"}]}`,
      messages: `{"content":[{"type":"tool_use","id":"a","name":"f","input":{"a":${deep}}}]}`,
      generate: `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":${deep}}}}]}}]}`,
    };
    for (const upstream of [chat, messages, generate]) {
      const client = upstream === chat ? messages : chat;
      const chunks = [Buffer.from(bodies[upstream.id] ?? '')];
      assert.equal(deliver({ client, upstream, stream: false }, { chunks }).error?.code, 'upstream_error');
    }
  });

  test('a call without a name is no call', () => {
    const { error } = streamed(
      { client: chat, upstream: messages },
      begin,
      named({ type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a' } }),
      ends,
    );
    assert.match(error?.message ?? '', /without its name/);
  });

  test('arguments of white space are the empty object', () => {
    const call = choice({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '\n' } }] });
    assert.equal(parseObject('\u2028'), undefined);
    for (const client of [messages, generate, responses]) {
      const { text = '' } = streamed({ client, upstream: chat }, call, stop);
      checkStream(client.id, text.replace(/: incomplete$/, ''));
    }
  });
});

describe('streams of upstreams', () => {
  test('a message begins once and before all else', () => {
    const block = named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
    const delta = named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } });
    for (const frames of [
      [block, begin, delta],
      [begin, block, begin, delta],
    ]) {
      checkStream('chat', streamed({ client: chat, upstream: messages }, ...frames, ends).text ?? '');
    }
  });

  test('output tokens never shrink', () => {
    const chunk = (count: number, more = {}) =>
      frame({
        candidates: [{ content: { parts: [{ text: 'x' }] }, ...more }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: count },
      });
    const { text = '' } = streamed(
      { client: messages, upstream: generate },
      chunk(9),
      chunk(2, { finishReason: 'STOP' }),
    );
    checkStream('messages', text);
  });

  describe('garbage after the end of one of two candidates', () => {
    const candidate = (index: number, more: object = {}) =>
      frame({ responseId: 'r', candidates: [{ index, content: { parts: [{ text: 'x' }] }, ...more }] });
    const both = [candidate(0), candidate(1), candidate(0, { finishReason: 'STOP' })];
    for (const client of [chat, messages, responses]) {
      test(`is an error for ${client.id} while the other has none`, () => {
        const { text = '', error } = streamed({ client, upstream: generate }, ...both, 'data: null\n\n');
        assert.equal(error?.code, 'upstream_error');
        assert.equal(checkStream(client.id, text).ending, 'error');
      });
      test(`is ignored for ${client.id} after the end of both`, () => {
        const last = candidate(1, { finishReason: 'STOP' });
        const { text = '', error } = streamed({ client, upstream: generate }, ...both, last, 'data: null\n\n');
        assert.equal(error, undefined);
        assert.equal(checkStream(client.id, text).ending, 'complete');
      });
    }
  });

  test('an error after a last event without a response is an error', () => {
    const begun = named({ type: 'response.created', response: { id: 'resp_1', output: [] } });
    const text = { type: 'response.output_text.delta', output_index: 0, delta: 'Hi' };
    const last = 'event: response.completed\ndata: null\n\n';
    const stream = [begun, named(text), last, 'data: {"error":{"message":"broken"}}\n\n'].join('');
    const { text: told = '', error } = streamed({ client: messages, upstream: responses }, stream);
    assert.equal(error?.message, 'broken');
    assert.equal(checkStream('messages', told).ending, 'error');
  });

  test('a candidate that never came has an end', () => {
    const second = frame({ candidates: [{ index: 1, content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }] });
    checkStream('chat', streamed({ client: chat, upstream: generate }, second).text ?? '');
  });

  test('a relayed error that comes with a finish reason is an error', () => {
    const failed = frame({
      error: { message: 'broken', code: 502 },
      choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
    });
    const { text = '', error } = streamed({ client: chat, upstream: chat }, choice({ content: 'Hi' }), failed);
    assert.equal(error?.message, 'broken');
    assert.match(text, /"message":"broken"/);
  });

  for (const client of [chat, messages, generate, responses])
    test(`an error behind the finish reason of a chat stream changes nothing, for a client of ${client.id}`, () => {
      const late = frame({ error: { message: 'late', code: 500 } });
      const frames = [choice({ content: 'Hi' }), stop, late, 'data: [DONE]\n\n'];
      const { text = '', error } = streamed({ client, upstream: chat }, ...frames);
      assert.equal(error, undefined);
      assert.doesNotMatch(text, /late/);
    });

  test('a broken frame after the end of a relayed stream does not cut off the rest', () => {
    const { text = '', error } = streamed(
      { client: chat, upstream: chat },
      choice({ content: 'Hi' }),
      stop,
      'data: {"prompt_tokens"\n\n',
      'data: [DONE]\n\n',
    );
    assert.equal(error, undefined);
    assert.ok(text.endsWith('data: [DONE]\n\n'));
  });

  test('an element of an array is JSON', () => {
    const good = frame({ candidates: [{ content: { parts: [{ text: 'x' }] } }] });
    const { text = '', error } = streamed(
      { client: generate, upstream: generate, array: true },
      good,
      'data: <html>\n\n',
    );
    assert.equal(error?.code, 'upstream_error');
    assert.equal(JSON.parse(text).length, 2);
  });
});

test('bodies of any kind go through the restoring of state', () => {
  for (const body of [
    {},
    { messages: 1 },
    { messages: [null, { content: 1 }, { content: [null] }] },
    { contents: [null] },
  ]) {
    for (const protocol of [chat, messages, generate])
      assert.equal(protocol.operations.complete.state?.restore(structuredClone(body), 'o'), false);
  }
});

test('a system block of an unknown type may hold anything', () => {
  const body = { messages: [{ role: 'user', content: 'x' }], system: [{ type: 'novel', text: { a: 1 } }] };
  assert.doesNotThrow(() => messages.operations.complete.decodeRequest(body));
});

test('what is read as text in requests is refused when it is none', () => {
  const user = { role: 'user', content: 'x' };
  const odd = { toString: 1 };
  const bodies: [param: string, body: object][] = [
    ['tools[0].type', { messages: [user], tools: [{ type: odd }] }],
    ['messages[0].name', { messages: [{ role: 'tool', content: 'x', tool_call_id: 'a', name: odd }] }],
    [
      'messages[0].reasoning_details[0].id',
      { messages: [{ role: 'assistant', content: 'x', reasoning_details: [{ type: 'reasoning.text', id: odd }] }] },
    ],
  ];
  for (const [param, body] of bodies) {
    assert.throws(() => chat.operations.complete.check({ model: 'm', ...body }), { name: 'GatewayError', param });
  }
  for (const image_url of [odd, 'data:,%zz']) {
    const input = [{ type: 'computer_call_output', call_id: 'a', output: { image_url } }];
    const param = 'input[0].output.image_url';
    assert.throws(() => responses.operations.complete.check({ model: 'm', input }), { name: 'GatewayError', param });
  }
});

test('a nullable schema may list its values in any way', () => {
  const parameters = { type: 'OBJECT', properties: { status: { type: 'STRING', enum: 1, nullable: true } } };
  const body = {
    contents: [{ parts: [{ text: 'x' }] }],
    tools: [{ functionDeclarations: [{ name: 'f', parameters }] }],
  };
  assert.doesNotThrow(() => generate.operations.complete.decodeRequest(body));
});

test('numbers too large for a double stand where text is expected', () => {
  const huge = read('{"number":1e400}').number;
  const thinking = [{ type: 'thinking', thinking: [{ type: 'text', text: huge }] }];
  assert.doesNotThrow(() =>
    chat.operations.complete.decodeRequest({ messages: [{ role: 'assistant', content: thinking }] }),
  );
  const schema = { type: 'object', properties: { age: { type: 'integer', minimum: 0, description: huge } } };
  const request = generate.operations.complete.decodeRequest({
    contents: [],
    generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema },
  });
  request.turns.push({ role: 'user', parts: [{ type: 'text', text: 'x' }] });
  assert.doesNotThrow(() =>
    messages.operations.complete.encodeRequest(request, { origin: 'o', model: 'm', rules: {} }),
  );
});
