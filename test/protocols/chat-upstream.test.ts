/** Requests to upstreams of chat completions as their rules want them, and state on its way back. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChatRequest, Part, Turn } from '../../src/core/chat.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { ModelRules } from '../../src/core/model.ts';
import { wrap } from '../../src/core/opaque.ts';
import { chat } from '../../src/protocols/chat/index.ts';

const ORIGIN = 'acme/family';
const TOOL = { name: 'look', parameters: { type: 'object', properties: { at: { type: 'string' } } } };

function encode(request: Partial<ChatRequest>, rules: ModelRules = {}): { body: Json; dropped: string[] } {
  const whole: ChatRequest = { stream: false, turns: [user('Hi')], tools: [], dropped: [], ...request };
  return chat.operations.complete.encodeRequest(whole, { origin: ORIGIN, model: 'one', rules });
}

function user(text: string, ...more: Part[]): Turn {
  return { role: 'user', parts: [{ type: 'text', text }, ...more] };
}

function assistant(...parts: Part[]): Turn {
  return { role: 'assistant', parts };
}

describe('fields', () => {
  test('fields that the client did not set are not sent', () => {
    assert.deepEqual(encode({}).body, { model: 'one', messages: [{ role: 'user', content: 'Hi' }] });
  });

  test('a stream always asks for usage', () => {
    assert.deepEqual(encode({ stream: true }).body.stream_options, { include_usage: true });
  });

  test('the output limit uses the token field of the rules', () => {
    assert.equal(encode({ maxTokens: 5 }).body.max_tokens, 5);
    const { body } = encode({ maxTokens: 5 }, { tokenField: 'max_completion_tokens' });
    assert.equal(body.max_completion_tokens, 5);
    assert.equal(body.max_tokens, undefined);
  });

  test('sampling parameters follow the model rules', () => {
    const asked = { temperature: 0.5, topP: 0.9 };
    assert.deepEqual(encode(asked).dropped, []);
    assert.deepEqual(encode(asked, { sampling: 'never' }).dropped, ['temperature', 'topP']);
    assert.deepEqual(encode(asked, { bothSampling: false }).dropped, ['topP']);
    const off = encode({ ...asked, reasoning: { effort: 'none' } }, { sampling: 'without-reasoning' });
    assert.equal(off.body.temperature, 0.5);
    const on = encode({ ...asked, reasoning: { effort: 'low' } }, { sampling: 'without-reasoning' });
    assert.deepEqual(on.dropped, ['temperature', 'topP']);
  });

  test('penalties, log probabilities, biases and stops follow the model rules', () => {
    const asked = { frequencyPenalty: 1, logprobs: 2, logitBias: { 1: 1 }, stop: ['x'], topK: 3 };
    const { body, dropped } = encode(asked, { penalties: false, logprobs: false, logitBias: false, stop: false });
    assert.deepEqual(Object.keys(body), ['model', 'messages']);
    assert.deepEqual(dropped.sort(), ['frequencyPenalty', 'logitBias', 'logprobs', 'stop', 'topK']);
    const { logprobs, top_logprobs } = encode(asked).body;
    assert.deepEqual([logprobs, top_logprobs], [true, 2]);
  });

  test('more than four stops are refused', () => {
    assert.throws(() => encode({ stop: ['1', '2', '3', '4', '5'] }), { code: 'unsupported_parameter', param: 'stop' });
  });

  test('the effort is the requested one, the nearest one, off, or derived from a budget', () => {
    const effort = (reasoning: ChatRequest['reasoning'], rules?: ModelRules) =>
      encode({ reasoning }, rules).body.reasoning_effort;
    assert.equal(effort({ effort: 'max' }), 'max');
    assert.equal(effort({ effort: 'max' }, { efforts: ['low', 'medium', 'high'] }), 'high');
    assert.equal(effort({ effort: 'none' }, { efforts: ['low', 'medium'] }), 'low');
    assert.equal(effort({ effort: 'none' }, { efforts: ['none', 'low'], reasoningOff: false }), 'low');
    assert.equal(effort({ budget: 20_000 }, { maxOutput: 100_000 }), 'medium');
    assert.equal(effort({ budget: -1 }), undefined);
    assert.equal(effort({ effort: 'high' }, { reasoning: 'none' }), undefined);
    assert.deepEqual(encode({ reasoning: { effort: 'high' } }, { reasoning: 'none' }).dropped, ['reasoning']);
  });

  test('tools that need reasoning switched off', () => {
    const { body, dropped } = encode({ tools: [TOOL], reasoning: { effort: 'high' } }, { toolsNeedNoReasoning: true });
    assert.equal(body.reasoning_effort, 'none');
    assert.deepEqual(dropped, ['reasoning.effort']);
  });

  test('a strict schema is rewritten, another one is left alone', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string', minLength: 1 }, b: { type: 'integer' } },
      required: ['a'],
    };
    const strict = encode({ format: { type: 'schema', schema, strict: true } }).body.response_format.json_schema;
    assert.deepEqual(strict.schema.required, ['a', 'b']);
    assert.equal(strict.schema.additionalProperties, false);
    const loose = encode({ format: { type: 'schema', schema } }).body.response_format.json_schema;
    assert.deepEqual(loose, { name: 'response', schema });
  });

  test('a model without native schemas gets the schema in the system prompt', () => {
    const { body } = encode({ format: { type: 'schema', schema: { type: 'object' } } }, { schema: false });
    assert.deepEqual(body.response_format, { type: 'json_object' });
    assert.match(body.messages[0].content, /\{"type":"object"\}/);
  });

  test('tool choices', () => {
    const two = [TOOL, { name: 'listen' }];
    const choice = (toolChoice: ChatRequest['toolChoice'], rules?: ModelRules) =>
      encode({ tools: two, toolChoice }, rules);
    assert.deepEqual(choice({ type: 'named', name: 'look' }).body.tool_choice, {
      type: 'function',
      function: { name: 'look' },
    });
    const allowed = choice({ type: 'allowed', tools: [{ name: 'listen' }], required: true }).body;
    assert.deepEqual(
      [allowed.tools.length, allowed.tools[0].function.name, allowed.tool_choice],
      [1, 'listen', 'required'],
    );
    const refused = choice({ type: 'required' }, { forcedChoice: false });
    assert.deepEqual([refused.body.tool_choice, refused.dropped], ['auto', ['toolChoice']]);
  });

  test('a choice that concerns a search only', () => {
    const search = (toolChoice: ChatRequest['toolChoice']) => encode({ webSearch: {}, toolChoice });
    assert.equal(search({ type: 'none' }).body.web_search_options, undefined);
    const required = search({ type: 'required' });
    assert.deepEqual([required.body.web_search_options, required.dropped], [{}, ['toolChoice']]);
    assert.deepEqual(search({ type: 'auto' }).dropped, []);
  });

  test('kinds of media that the model does not read, and references, are refused', () => {
    const audio: Part = { type: 'media', kind: 'audio', mime: 'audio/wav', data: 'AAAA' };
    assert.throws(() => encode({ turns: [user('', audio)] }, { inputModalities: ['text'] }), {
      code: 'unsupported_modality',
    });
    const file: Part = { type: 'media', kind: 'document', fileId: 'file_1' };
    assert.throws(() => encode({ turns: [user('', file)] }), { code: 'unsupported_modality' });
  });

  test('cache marks follow the model rules', () => {
    const turns: Turn[] = [{ role: 'user', parts: [{ type: 'text', text: 'Long', cache: { ttl: '1h' } }] }];
    assert.deepEqual(encode({ turns }).dropped, ['cache']);
    const [part] = encode({ turns }, { cacheMarks: 'cache_control' }).body.messages[0].content;
    assert.deepEqual(part.cache_control, { type: 'ephemeral', ttl: '1h' });
    const [point] = encode({ turns }, { cacheMarks: 'prompt_cache_breakpoint' }).body.messages[0].content;
    assert.deepEqual(point.prompt_cache_breakpoint, { mode: 'explicit', ttl: '30m' });
  });
});

describe('turns', () => {
  const call: Part = { type: 'call', id: 'c1', name: 'look', args: '' };

  test('the role of system turns, and servers that take them only first', () => {
    const turns: Turn[] = [user('Hi'), { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] }];
    assert.equal(encode({ turns }, { systemRole: 'developer' }).body.messages[1].role, 'developer');
    assert.deepEqual(
      encode({ turns }, { midSystem: false }).body.messages.map((message: Json) => message.role),
      ['system', 'user'],
    );
  });

  test('results directly follow their calls, with errors and images described in text', () => {
    const image: Part = { type: 'media', kind: 'image', mime: 'image/png', data: 'AAAA' };
    const results: Turn = {
      role: 'user',
      parts: [
        { type: 'text', text: 'Go on.' },
        { type: 'result', callId: 'c1', isError: true, parts: [{ type: 'text', text: 'broken' }, image] },
      ],
    };
    const { messages } = encode({ turns: [user('Hi'), assistant(call), results] }).body;
    assert.deepEqual(messages[2], {
      role: 'tool',
      tool_call_id: 'c1',
      content: 'Error: broken\n[image attached below]',
    });
    assert.deepEqual(
      messages[3].content.map((part: Json) => part.type),
      ['text', 'image_url', 'text'],
    );
    assert.equal(messages[1].content, null);
    assert.equal(messages[1].tool_calls[0].function.arguments, '{}');
  });

  test('ids of calls and their results that are longer than upstreams take become short ones', () => {
    const id = `chatcmpl-tool-${'0'.repeat(32)}`;
    const result: Part = {
      type: 'result',
      callId: id,
      parts: [{ type: 'media', kind: 'image', data: 'iVBORw0KGgo=' }],
    };
    const turns = [
      user('Go'),
      assistant({ type: 'call', id, name: 'look', args: '' }),
      { ...user(''), parts: [result] },
    ];
    const [, { tool_calls }, { tool_call_id }, attached] = encode({ turns }).body.messages;
    assert.match(tool_call_id, /^call_[0-9a-f]{32}$/);
    assert.equal(tool_calls[0].id, tool_call_id);
    assert.ok(attached.content[0].text.includes(tool_call_id));
  });

  test('a text document in a result keeps its title and notes', () => {
    const document: Part = {
      type: 'media',
      kind: 'document',
      mime: 'text/plain',
      text: 'Words',
      title: 'T',
      context: 'C',
    };
    const result: Part = { type: 'result', callId: 'a', parts: [document] };
    const turns = [
      user('Go'),
      assistant({ type: 'call', id: 'a', name: 'look', args: '' }),
      { ...user(''), parts: [result] },
    ];
    const { body, dropped } = encode({ turns });
    assert.deepEqual([body.messages[2].content, dropped], ['T\n\nC\n\nWords', []]);
  });

  test('reasoning text of earlier turns follows the model rules', () => {
    const turns = [
      user('Hi'),
      assistant({ type: 'reasoning', text: 'Hm.' }, { type: 'text', text: 'Hello' }),
      assistant({ type: 'text', text: '!' }),
      user('So?'),
    ];
    const sent = (reasoningHistory?: ModelRules['reasoningHistory']) =>
      encode({ turns }, { reasoningHistory }).body.messages.map((message: Json) => message.reasoning_content);
    assert.deepEqual(sent(), [undefined, undefined, undefined, undefined]);
    assert.deepEqual(sent('forbidden'), [undefined, undefined, undefined, undefined]);
    assert.deepEqual(sent('accepted'), [undefined, 'Hm.', undefined, undefined]);
    assert.deepEqual(sent('required'), [undefined, 'Hm.', '', undefined]);
  });

  test('reasoning details are returned unmodified to their provider only', () => {
    const detail = { type: 'reasoning.text', text: 'Hm.', signature: 's', format: 'acme-v1', id: 'r1', index: 0 };
    const hidden = { type: 'reasoning.encrypted', data: 'd', format: 'acme-v1', index: 1 };
    const message = { role: 'assistant', content: 'Hello', reasoning_details: [detail, hidden] };
    const answer = { id: 'chatcmpl-1', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] };
    const target = { origin: ORIGIN, model: 'one', rules: {} };
    const [candidate] = chat.operations.complete.decodeResponse(answer, target).candidates;
    const turns = [user('Hi'), assistant(...(candidate?.parts ?? [])), user('So?')];
    assert.deepEqual(encode({ turns }).body.messages[1].reasoning_details, [detail, hidden]);
    const elsewhere = chat.operations.complete.encodeRequest(
      { stream: false, turns, tools: [], dropped: [] },
      { ...target, origin: 'other' },
    );
    assert.deepEqual(elsewhere.body.messages[1], { role: 'assistant', content: 'Hello' });
  });
});

describe('state in a relayed body', () => {
  const seal = (origin: string) => wrap({ kind: 'signature', value: 'raw', origin });
  const body = (origin: string): Json => ({
    messages: [
      {
        role: 'assistant',
        content: null,
        reasoning: 'Hm.',
        reasoning_content: 'Hm.',
        reasoning_details: [
          { type: 'reasoning.text', text: 'H', index: 0 },
          { type: 'reasoning.text', text: 'm.', signature: seal(origin), index: 0 },
        ],
        tool_calls: [{ id: 'c1', extra_content: { google: { thought_signature: seal(origin) } } }],
      },
    ],
  });

  test('of the target is unwrapped', () => {
    const relayed = body(ORIGIN);
    assert.ok(chat.operations.complete.state?.restore(relayed, ORIGIN));
    const [message] = relayed.messages;
    assert.equal(message.reasoning_details[1].signature, 'raw');
    assert.equal(message.tool_calls[0].extra_content.google.thought_signature, 'raw');
    assert.equal(message.reasoning, 'Hm.');
  });

  test('of other providers is removed with its reasoning', () => {
    const relayed = body('other');
    assert.ok(chat.operations.complete.state?.restore(relayed, ORIGIN));
    assert.deepEqual(relayed.messages[0], { role: 'assistant', content: null, tool_calls: [{ id: 'c1' }] });
  });

  test('raw state of the protocol itself is kept', () => {
    const relayed = {
      messages: [{ role: 'assistant', reasoning_details: [{ type: 'reasoning.text', signature: 's' }] }],
    };
    assert.equal(chat.operations.complete.state?.restore(relayed, ORIGIN), false);
  });
});
