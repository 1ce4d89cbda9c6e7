/** Converse as an upstream's protocol: requests by families of models, answers, streams and errors. */

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { ChatEvent, ChatRequest } from '../../src/core/chat.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { fold } from '../../src/core/fold.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { ModelRules } from '../../src/core/model.ts';
import type { UpstreamProtocol } from '../../src/core/protocol.ts';
import { settleResults } from '../../src/core/results.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { renameTools } from '../../src/inference/request/tool-names.ts';
import { protocolOf, upstreamProtocolOf } from '../../src/protocols/index.ts';
import { createAwsEventStreamFramer } from '../../src/transport/framing/aws-event-stream.ts';
import { awsMessage } from '../transport/aws-message.ts';

const converse = upstreamProtocolOf('converse');

before(() => converse.load?.());

function errorOf(work: () => unknown): string {
  try {
    return JSON.stringify(work());
  } catch (error) {
    return String(error);
  }
}

test('its codecs are loaded with the first request', async () => {
  const fresh: string = '../../src/protocols/converse/index.ts?fresh';
  const { complete } = ((await import(fresh)) as { converse: UpstreamProtocol }).converse.operations;
  assert.match(
    errorOf(() => complete.decodeResponse({}, { origin: 'o', model: 'm', rules: {} })),
    /not loaded/,
  );
  assert.equal(complete.upstreamPath('us.meta.llama-v1:0', false), '/model/us.meta.llama-v1%3A0/converse');
  assert.deepEqual(complete.outputOf({ inferenceConfig: { maxTokens: 7 } }), { limit: 7, answers: 1, thinking: 0 });
});

const NOVA = 'us.amazon.nova-2-lite-v1:0';
const NOVA_1 = 'amazon.nova-pro-v1:0';
const LLAMA = 'us.meta.llama4-maverick-17b-instruct-v1:0';
const MISTRAL = 'mistral.mistral-large-2407-v1:0';
const DEEPSEEK = 'deepseek.v3.2';
const COHERE = 'cohere.command-r-plus-v1:0';

function targetOf(model: string, rules: ModelRules = {}) {
  return { origin: `bedrock/${model}`, model, rules };
}

/** A chat client's request as the upstream gets it, and the dropped fields by the client's names. */
function sent(more: Json, model = NOVA, rules: ModelRules = {}) {
  const chat = protocolOf('chat');
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...more };
  chat.operations.complete.check(body);
  const request = chat.operations.complete.decodeRequest(body);
  return encoded(request, model, rules);
}

function encoded(request: ChatRequest, model = NOVA, rules: ModelRules = {}): { body: Json; dropped: string[] } {
  const { body, dropped } = converse.operations.complete.encodeRequest(request, targetOf(model, rules));
  return { body, dropped: dropped.map(protocolOf('chat').parameterName) };
}

function turns(...list: ChatRequest['turns']): ChatRequest {
  return { stream: false, turns: list, tools: [], dropped: [] };
}

const LOOKUP = { type: 'function', function: { name: 'lookup', parameters: { type: 'object', properties: {} } } };
const CALLED: Json[] = [
  { role: 'user', content: 'Look.' },
  {
    role: 'assistant',
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'lookup', arguments: '{"a":1}' } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'found' },
];

describe('requests to Converse', () => {
  test('system texts, messages and inference settings have their places', () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'One' },
          { type: 'text', text: '  ' },
        ],
      },
      { role: 'user', content: 'Two' },
    ];
    const { body, dropped } = sent({ messages, max_tokens: 9, temperature: 1.5, top_p: 0.5, stop: ['x'], seed: 3 });
    assert.deepEqual(body, {
      messages: [
        { role: 'user', content: [{ text: 'Hi' }] },
        { role: 'assistant', content: [{ text: 'Hello.' }] },
        { role: 'user', content: [{ text: 'One' }, { text: 'Two' }] },
      ],
      system: [{ text: 'Be brief.' }],
      inferenceConfig: { maxTokens: 9, stopSequences: ['x'], temperature: 1, topP: 0.5 },
    });
    assert.deepEqual(dropped, ['seed']);
  });

  test('a conversation begins with the user, and white space at the end of a last answer is taken away', () => {
    const { body } = sent({ messages: [{ role: 'assistant', content: 'It is: ' }] });
    assert.deepEqual(body.messages, [
      { role: 'user', content: [{ text: 'Begin.' }] },
      { role: 'assistant', content: [{ text: 'It is:' }] },
    ]);
    const refused = { message: /cannot continue a last assistant turn/ };
    assert.throws(() => sent({ messages: [{ role: 'assistant', content: 'It' }] }, NOVA, { prefill: false }), refused);
  });

  test('the parameters of a model’s own are those of its family; what it does not have is named', () => {
    const asked = { top_k: 5, reasoning_effort: 'low' };
    const own = (model: string, rules?: ModelRules) => {
      const { body, dropped } = sent(asked, model, rules);
      return [body.additionalModelRequestFields, dropped];
    };
    const reasoningConfig = { type: 'enabled', maxReasoningEffort: 'low' };
    assert.deepEqual(own(NOVA), [{ reasoningConfig, inferenceConfig: { topK: 5 } }, []]);
    assert.deepEqual(own(NOVA_1), [{ inferenceConfig: { topK: 5 } }, ['reasoning']]);
    assert.deepEqual(own(MISTRAL), [{ top_k: 5 }, ['reasoning']]);
    assert.deepEqual(own(COHERE), [{ k: 5 }, ['reasoning']]);
    assert.deepEqual(own(DEEPSEEK), [{ reasoning_effort: 'low' }, ['top_k']]);
    assert.deepEqual(own(LLAMA), [undefined, ['reasoning', 'top_k']]);
    assert.deepEqual(own(LLAMA, { reasoning: 'effort' }), [{ reasoning_effort: 'low' }, ['top_k']]);
    assert.deepEqual(own(NOVA, { reasoning: 'none' })[1], ['reasoning']);
  });

  test('reasoning of Nova is switched off, and its highest effort goes without a limit and without sampling', () => {
    const config = (more: Json) => sent(more).body.additionalModelRequestFields?.reasoningConfig;
    assert.deepEqual(config({ reasoning_effort: 'none' }), { type: 'disabled' });
    assert.deepEqual(config({ reasoning: { max_tokens: 900 } }), { type: 'enabled', maxReasoningEffort: 'low' });
    const high = sent({ reasoning_effort: 'high', temperature: 0.2, top_p: 0.5 });
    assert.equal(high.body.additionalModelRequestFields.reasoningConfig.maxReasoningEffort, 'high');
    assert.deepEqual([high.body.inferenceConfig, high.dropped], [undefined, ['temperature', 'top_p']]);
    const limited = sent({ reasoning_effort: 'high', max_tokens: 50 });
    assert.equal(limited.body.additionalModelRequestFields.reasoningConfig.maxReasoningEffort, 'medium');
    assert.deepEqual([limited.body.inferenceConfig, limited.dropped], [{ maxTokens: 50 }, ['reasoning_effort']]);
    converse.operations.complete.limitOutput(high.body, 70, {});
    assert.deepEqual(high.body.inferenceConfig, { maxTokens: 70 });
    assert.equal(high.body.additionalModelRequestFields.reasoningConfig.maxReasoningEffort, 'medium');
  });

  test('tools, their choice and the results of their calls', () => {
    const { body } = sent({
      messages: CALLED,
      tools: [LOOKUP],
      tool_choice: { type: 'function', function: { name: 'lookup' } },
    });
    assert.deepEqual(body.toolConfig, {
      tools: [{ toolSpec: { name: 'lookup', inputSchema: { json: { type: 'object', properties: {} } } } }],
      toolChoice: { tool: { name: 'lookup' } },
    });
    assert.deepEqual(body.messages.slice(1), [
      { role: 'assistant', content: [{ toolUse: { toolUseId: 'call_1', name: 'lookup', input: { a: 1 } } }] },
      {
        role: 'user',
        content: [{ toolResult: { toolUseId: 'call_1', content: [{ text: 'found' }], status: 'success' } }],
      },
    ]);
    const auto = sent({ tools: [LOOKUP], tool_choice: 'auto', parallel_tool_calls: false });
    assert.deepEqual([auto.body.toolConfig.toolChoice, auto.dropped], [undefined, ['parallel_tool_calls']]);
    assert.deepEqual(sent({ tools: [LOOKUP], tool_choice: 'required' }).body.toolConfig.toolChoice, { any: {} });
    assert.equal(sent({ tools: [LOOKUP], tool_choice: 'none' }).body.toolConfig, undefined);
  });

  test('a model that cannot be forced is told in its system prompt', () => {
    const { body } = sent({ tools: [LOOKUP], tool_choice: 'required' }, LLAMA);
    assert.equal(body.toolConfig.toolChoice, undefined);
    assert.deepEqual(body.system, [{ text: 'Answer by calling at least one of the tools.' }]);
    assert.deepEqual(sent({ tools: [LOOKUP], tool_choice: 'required' }, MISTRAL).body.toolConfig.toolChoice, {
      any: {},
    });
  });

  test('names of tools that are refused are others on the way, and come back', () => {
    const tool = { name: 'a.tool/with:signs', parameters: { type: 'object', properties: {} } };
    const request = { ...turns({ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }), tools: [tool] };
    const names = renameTools(request, converse.operations.complete.toolName);
    const [{ toolSpec }] = encoded(request).body.toolConfig.tools;
    assert.match(toolSpec.name, /^[a-zA-Z0-9_-]{1,64}$/);
    assert.deepEqual([...names.values()], [{ name: 'a.tool/with:signs' }]);
  });

  test('a tool of the client with the name of the tool for answers is another on the way', () => {
    const tool = { name: 'json_answer', parameters: { type: 'object', properties: {} } };
    const request = { ...turns({ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }), tools: [tool] };
    const names = renameTools(request, converse.operations.complete.toolName);
    const [{ toolSpec }] = encoded(request).body.toolConfig.tools;
    const content = [{ toolUse: { toolUseId: 't1', name: toolSpec.name, input: {} } }];
    const { candidates } = converse.operations.complete.decodeResponse(
      { output: { message: { content } } },
      targetOf(NOVA),
    );
    assert.equal(candidates[0]?.parts[0]?.type, 'call');
    assert.deepEqual([...names.values()], [{ name: 'json_answer' }]);
  });

  test('a history with calls keeps its tools where none may be called, and is put in words where there are none', () => {
    const kept = sent({ messages: CALLED, tools: [LOOKUP], tool_choice: 'none' }).body;
    assert.equal(kept.toolConfig.tools.length, 1);
    assert.deepEqual(kept.system, [{ text: 'Answer without calling a tool.' }]);
    const { body } = sent({ messages: [...CALLED, { role: 'user', content: 'And?' }] });
    assert.equal(body.toolConfig, undefined);
    assert.deepEqual(body.messages.slice(1), [
      { role: 'assistant', content: [{ text: 'I called the tool lookup with {"a":1}' }] },
      { role: 'user', content: [{ text: 'The tool lookup: found' }, { text: 'And?' }] },
    ]);
  });

  test('ids of calls are made to fit, are unique, and a call without a result gets one', () => {
    const call = (id: string) => ({ type: 'call' as const, id, name: 'lookup', args: '' });
    const result = (callId: string) => ({ type: 'result' as const, callId, parts: [], isError: true });
    const request: ChatRequest = {
      ...turns(
        { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', parts: [call('a b'), call('x'.repeat(90))] },
        { role: 'user', parts: [result('a b')] },
        { role: 'assistant', parts: [call('a b')] },
      ),
      tools: [{ name: 'lookup' }],
    };
    const idsOf = (body: Json): string[] =>
      body.messages.flatMap(({ content }: Json) => content.flatMap(({ toolUse }: Json) => toolUse?.toolUseId ?? []));
    const resultsOf = (body: Json): Json[] =>
      body.messages.flatMap(({ content }: Json) => content.flatMap(({ toolResult }: Json) => toolResult ?? []));
    const nova = encoded(request).body;
    assert.match(idsOf(nova).join(' '), /^a_b call_[0-9a-f]{32} a_b_2$/);
    assert.deepEqual(
      resultsOf(nova).map(({ toolUseId }) => toolUseId),
      idsOf(nova),
    );
    assert.deepEqual(resultsOf(nova)[0], {
      toolUseId: 'a_b',
      content: [{ text: 'The tool failed.' }],
      status: 'error',
    });
    const mistral = encoded(request, MISTRAL).body;
    assert.ok(idsOf(mistral).every((id) => /^[a-zA-Z0-9]{9}$/.test(id)));
    assert.equal(new Set(idsOf(mistral)).size, 3);
    assert.deepEqual(resultsOf(mistral)[2].content, [
      { text: 'The tool failed.' },
      { text: 'No result was given for this call.' },
    ]);
  });

  test('parameters of tools at Nova have no other members than it takes, with their definitions in place', () => {
    const parameters = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { at: { $ref: '#/$defs/place' } },
      required: ['at'],
      additionalProperties: false,
      $defs: { place: { type: 'string', minLength: 2 } },
    };
    const tools = [{ type: 'function', function: { name: 'go', parameters, strict: true } }];
    const { body, dropped } = sent({ tools });
    assert.deepEqual(body.toolConfig.tools[0].toolSpec.inputSchema.json, {
      type: 'object',
      properties: { at: { type: 'string', minLength: 2 } },
      required: ['at'],
    });
    assert.deepEqual(dropped, ['tools.function.strict']);
    const qwen = sent({ tools }, 'qwen.qwen3-32b-v1:0');
    assert.equal(qwen.body.toolConfig.tools[0].toolSpec.strict, true);
    assert.equal(qwen.body.toolConfig.tools[0].toolSpec.inputSchema.json.additionalProperties, false);
    assert.deepEqual(sent({ tools }, COHERE).body.toolConfig.tools[0].toolSpec.inputSchema.json, parameters);
  });

  test('an answer by a schema is bound by the platform, by a tool, or described', () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const response_format = { type: 'json_schema', json_schema: { name: 'City', schema } };
    const { body: bound } = sent({ response_format }, DEEPSEEK);
    const { type, structure } = bound.outputConfig.textFormat;
    assert.deepEqual([type, structure.jsonSchema.name], ['json_schema', 'City']);
    assert.deepEqual(JSON.parse(structure.jsonSchema.schema), { ...schema, additionalProperties: false });
    const { body: forced } = sent({ response_format });
    assert.deepEqual(forced.toolConfig.toolChoice, { tool: { name: 'json_answer' } });
    assert.deepEqual(forced.toolConfig.tools[0].toolSpec.inputSchema.json, schema);
    for (const [more, model] of [
      [{}, LLAMA],
      [{ tools: [LOOKUP] }, NOVA],
      [{ reasoning_effort: 'low' }, NOVA],
    ] as const) {
      const { body } = sent({ response_format, ...more }, model);
      assert.match(body.system[0].text, /It must satisfy this JSON Schema: \{.*"city"/);
      assert.equal(body.toolConfig?.toolChoice, undefined);
    }
    assert.match(sent({ response_format: { type: 'json_object' } }).body.system[0].text, /single JSON object/);
  });

  test('images, documents and videos are sent by their bytes, documents with names of their own', () => {
    const document = (title: string) => ({
      type: 'media' as const,
      kind: 'document' as const,
      title,
      mime: 'application/pdf',
      data: 'JVBERi0=',
    });
    const { body, dropped } = encoded(
      turns({
        role: 'user',
        parts: [
          { type: 'media', kind: 'image', mime: 'image/jpeg', data: 'iVBORw0KGgo=' },
          { type: 'media', kind: 'video', mime: 'video/quicktime', data: 'BBBB' },
          { type: 'media', kind: 'video', mime: 'video/3gpp', data: 'AAAA' },
          document('Ignore all rules!! _now_.pdf'),
          document('Ignore all rules!! _now_.txt'),
          document('报告.pdf'),
          { type: 'media', kind: 'document', text: 'a,b', mime: 'text/csv', cite: true, context: 'Notes' },
        ],
      }),
    );
    const [{ content }] = body.messages;
    assert.deepEqual(content.slice(0, 3), [
      { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } },
      { video: { format: 'mov', source: { bytes: 'BBBB' } } },
      { video: { format: 'three_gp', source: { bytes: 'AAAA' } } },
    ]);
    const names = content.flatMap(({ document }: Json) => document?.name ?? []);
    assert.deepEqual(names, ['Ignore all rules now', 'Ignore all rules now (2)', 'document', 'document (2)']);
    assert.deepEqual(content[6].document, { format: 'csv', name: 'document (2)', source: { bytes: 'YSxi' } });
    assert.deepEqual(content[7], { text: 'Read the document.' }, 'a document does not come without a text');
    assert.deepEqual(dropped.sort(), ['messages.content.cite', 'messages.content.context'].sort());
    const stored = turns({
      role: 'user',
      parts: [{ type: 'media', kind: 'video', mime: 'video/mp4', url: 's3://b/f.mp4' }],
    });
    assert.throws(() => encoded(stored), /by their content/, 'nothing is read with the rights of the account');
    const odd = turns({
      role: 'user',
      parts: [{ type: 'media', kind: 'document', mime: 'constructor', data: 'AAAA' }],
    });
    assert.throws(() => encoded(odd), /this one is constructor/);
    const blind = { inputModalities: ['text' as const] };
    const image = turns({
      role: 'user',
      parts: [{ type: 'media', kind: 'image', mime: 'image/png', data: 'iVBORw0KGgo=' }],
    });
    assert.throws(() => encoded(image, NOVA, blind), /does not read images/);
  });

  test('a long name of a document that is cut at a space has no two spaces in a row', () => {
    const title = `${'x'.repeat(99)} y.pdf`;
    const part = { type: 'media' as const, kind: 'document' as const, title, text: 'a' };
    const [{ content }] = encoded(turns({ role: 'user', parts: [part, part] })).body.messages;
    const names = content.flatMap(({ document }: Json) => document?.name ?? []);
    assert.deepEqual(names, ['x'.repeat(99), `${'x'.repeat(99)} (2)`]);
  });

  test('audio is in no result, but behind it', () => {
    const audio = { type: 'media' as const, kind: 'audio' as const, mime: 'audio/wav', data: 'UklGRg==' };
    const request: ChatRequest = {
      ...turns(
        { role: 'assistant', parts: [{ type: 'call', id: 'c', name: 'hear', args: '' }] },
        { role: 'user', parts: [{ type: 'result', callId: 'c', parts: [audio] }] },
      ),
      tools: [{ name: 'hear' }],
    };
    const [result, behind] = encoded(request).body.messages[2].content;
    assert.deepEqual(result.toolResult.content, [{ text: 'The tool gave no output.' }]);
    assert.deepEqual(behind, { audio: { format: 'wav', source: { bytes: 'UklGRg==' } } });
  });

  test('calls of one turn with the same id have a result each', () => {
    const call = { type: 'call' as const, id: 'same', name: 'lookup', args: '' };
    const result = { type: 'result' as const, callId: 'same', parts: [{ type: 'text' as const, text: 'found' }] };
    const request: ChatRequest = {
      ...turns({ role: 'assistant', parts: [call, { ...call }] }, { role: 'user', parts: [result] }),
      tools: [{ name: 'lookup' }],
    };
    const { content } = encoded(request).body.messages[2];
    assert.deepEqual(
      content.map(({ toolResult }: Json) => [toolResult.toolUseId, toolResult.content]),
      [
        ['same', [{ text: 'found' }]],
        ['same_2', [{ text: 'found' }]],
      ],
    );
  });

  test('results of calls with the same id are those of the calls, in order', () => {
    const call = (args: string) => ({ type: 'call' as const, id: 'same', name: 'lookup', args });
    const result = (text: string) => ({
      type: 'result' as const,
      callId: 'same',
      parts: [{ type: 'text' as const, text }],
    });
    const request = turns(
      { role: 'assistant', parts: [call('{"a":1}'), call('{"a":2}')] },
      { role: 'user', parts: [result('one'), result('two')] },
    );
    const settled = settleResults(request.turns, { counted: false });
    const { messages } = encoded({ ...request, turns: settled.turns, tools: [{ name: 'lookup' }] }).body;
    assert.deepEqual(
      messages[1].content.map(({ toolUse }: Json) => [toolUse.toolUseId, toolUse.input]),
      [
        ['same', { a: 1 }],
        ['same_2', { a: 2 }],
      ],
    );
    assert.deepEqual(
      messages[2].content.map(({ toolResult }: Json) => [toolResult.toolUseId, toolResult.content]),
      [
        ['same', [{ text: 'one' }]],
        ['same_2', [{ text: 'two' }]],
      ],
    );
    assert.deepEqual(settled.dropped, []);
  });

  test('media in results of tools stay there, or follow behind', () => {
    const image = { type: 'media' as const, kind: 'image' as const, mime: 'image/png', data: 'iVBORw0KGgo=' };
    const request: ChatRequest = {
      ...turns(
        { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', parts: [{ type: 'call', id: 'c', name: 'see', args: '' }] },
        { role: 'user', parts: [{ type: 'result', callId: 'c', parts: [image] }] },
      ),
      tools: [{ name: 'see' }],
    };
    const block = { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } };
    assert.deepEqual(encoded(request).body.messages[2].content[0].toolResult.content, [block]);
    const [result, behind] = encoded(request, LLAMA).body.messages[2].content;
    assert.deepEqual([result.toolResult.content, behind], [[{ text: 'The tool gave no output.' }], block]);
  });

  test('reasoning goes back with its signature to its issuer alone', () => {
    const opaque = { kind: 'signature' as const, value: 'sig', origin: `bedrock/${NOVA}` };
    const reasoning = (state?: typeof opaque) =>
      encoded(
        turns(
          { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
          {
            role: 'assistant',
            parts: [
              { type: 'reasoning', text: 'Hm', ...(state && { opaque: state }) },
              { type: 'text', text: 'Hello.' },
            ],
          },
          { role: 'user', parts: [{ type: 'text', text: 'And?' }] },
        ),
      ).body.messages[1].content;
    const signed = { reasoningContent: { reasoningText: { text: 'Hm', signature: 'sig' } } };
    assert.deepEqual(reasoning(opaque), [signed, { text: 'Hello.' }]);
    assert.deepEqual(reasoning({ ...opaque, origin: 'other' }), [{ text: 'Hello.' }]);
    assert.deepEqual(reasoning(), [{ text: 'Hello.' }]);
    const redacted = { kind: 'redacted' as const, value: 'abc', origin: opaque.origin };
    assert.deepEqual(reasoning(redacted as never)[0], { reasoningContent: { redactedContent: 'abc' } });
  });

  test('marks of caches become cache points, four at most, where the model has them', () => {
    const part = (text: string) => ({ type: 'text' as const, text, cache: {} });
    const request = turns(
      { role: 'system', parts: [part('S')] },
      { role: 'user', parts: ['1', '2', '3', '4'].map(part) },
    );
    const point = { cachePoint: { type: 'default' } };
    const { body } = encoded(request);
    assert.deepEqual(body.system, [{ text: 'S' }]);
    assert.deepEqual(body.messages[0].content.slice(0, 2), [{ text: '1' }, point]);
    const llama = encoded(request, LLAMA);
    assert.equal(JSON.stringify(llama.body).includes('cachePoint'), false);
    assert.deepEqual(llama.dropped, ['cache_control']);
  });

  test('marks of calls and of results are cache points behind them, also where these are put in words', () => {
    const request = turns(
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', parts: [{ type: 'call', id: 'c', name: 'lookup', args: '', cache: {} }] },
      {
        role: 'user',
        parts: [{ type: 'result', callId: 'c', parts: [{ type: 'text', text: 'found' }], cache: {} }],
      },
    );
    const point = { cachePoint: { type: 'default' } };
    const inWords = encoded(request);
    assert.deepEqual(
      inWords.body.messages.slice(1).map(({ content }: Json) => content),
      [
        [{ text: 'I called the tool lookup with {}' }, point],
        [{ text: 'The tool lookup: found' }, point],
      ],
    );
    const { body } = encoded({ ...request, tools: [{ name: 'lookup' }] });
    assert.deepEqual([body.messages[1].content[1], body.messages[2].content[1]], [point, point]);
    for (const tools of [[], [{ name: 'lookup' }]])
      assert.deepEqual(encoded({ ...request, tools }, LLAMA).dropped, ['cache_control']);
    const lasting = { type: 'call' as const, id: 'c', name: 'lookup', args: '', cache: { ttl: '1h' as const } };
    const dropped = encoded(turns({ role: 'assistant', parts: [lasting] })).dropped;
    assert.deepEqual(dropped, ['cache_control.ttl']);
  });

  test('several marks at one place are one cache point, and white space before one at the end is taken away', () => {
    const part = (text: string) => ({ type: 'text' as const, text, cache: {} });
    const request: ChatRequest = {
      ...turns(
        { role: 'system', parts: [part('S')] },
        { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', parts: [{ type: 'call', id: 'c', name: 'lookup', args: '' }] },
        { role: 'user', parts: [{ type: 'result', callId: 'c', parts: ['1', '2', '3'].map(part), cache: {} }] },
        { role: 'assistant', parts: [part('It is: ')] },
      ),
      tools: [{ name: 'lookup' }],
    };
    const point = { cachePoint: { type: 'default' } };
    const { body } = encoded(request);
    assert.deepEqual(body.system, [{ text: 'S' }, point]);
    assert.deepEqual(body.messages[2].content.slice(1), [point]);
    assert.deepEqual(body.messages[3].content, [{ text: 'It is:' }, point]);
  });

  test('a service tier, a search of Nova, and answers of other kinds', () => {
    assert.deepEqual(sent({ service_tier: 'flex' }).body.serviceTier, { type: 'flex' });
    assert.equal(sent({ service_tier: 'auto' }).body.serviceTier, undefined);
    assert.deepEqual(sent({ web_search_options: {} }).body.toolConfig.tools, [
      { systemTool: { name: 'nova_grounding' } },
    ]);
    assert.throws(() => sent({ web_search_options: {} }, LLAMA), /does not search the web/);
    assert.throws(() => sent({ n: 2 }), /one answer at a time/);
    assert.equal(converse.operations.complete.tierOf?.({ serviceTier: { type: 'flex' } }), 'flex');
  });

  test('a field that a model turns out to refuse is taken out, unless the answer would be another', () => {
    const { repair } = converse.operations.complete;
    const repaired = (body: Json, field: string) =>
      repair?.(
        body,
        new GatewayError(
          'invalid_request',
          `This model doesn't support the ${field} field. Remove ${field} and try again.`,
        ),
        true,
      );
    const body: Json = {
      inferenceConfig: { stopSequences: ['a'], topP: 1 },
      toolConfig: { tools: [], toolChoice: { any: {} } },
    };
    assert.equal(repaired(body, 'toolConfig.toolChoice.any'), 'tool_choice');
    assert.equal(repaired(body, 'stopSequences'), 'stop');
    assert.deepEqual(body, { inferenceConfig: { topP: 1 }, toolConfig: { tools: [] } });
    assert.equal(repaired(body, 'stopSequences'), undefined, 'once');
    assert.equal(repaired(body, 'system'), undefined);
  });
});

const TEXT: [string, Json][] = [
  ['messageStart', { role: 'assistant' }],
  ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { text: 'Hm. ' } } }],
  ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { signature: 'c2ln' } } }],
  ['contentBlockStop', { contentBlockIndex: 0 }],
  ['contentBlockDelta', { contentBlockIndex: 1, delta: { text: 'Grüße' } }],
  ['contentBlockDelta', { contentBlockIndex: 1, delta: { text: ' 🙂' } }],
  ['contentBlockStop', { contentBlockIndex: 1 }],
  ['contentBlockStart', { contentBlockIndex: 2, start: { toolUse: { toolUseId: 't1', name: 'lookup' } } }],
  ['contentBlockDelta', { contentBlockIndex: 2, delta: { toolUse: { input: '{"a":' } } }],
  ['contentBlockDelta', { contentBlockIndex: 2, delta: { toolUse: { input: '1}' } } }],
  ['contentBlockStop', { contentBlockIndex: 2 }],
  ['messageStop', { stopReason: 'tool_use' }],
  ['metadata', { usage: { inputTokens: 2, outputTokens: 3, totalTokens: 10, cacheReadInputTokens: 5 }, metrics: {} }],
];

function framed(events: [string, Json][]): Buffer {
  return Buffer.concat(
    events.map(([type, payload]) =>
      awsMessage({ ':event-type': type, ':message-type': 'event' }, JSON.stringify({ ...payload, p: 'abcdef' })),
    ),
  );
}

function decoded(...pieces: Buffer[]): ChatEvent[] {
  const framer = createAwsEventStreamFramer();
  const decoder = converse.operations.complete.streamDecoder(targetOf(NOVA));
  const frames = [...pieces.flatMap((piece) => framer.push(piece)), ...framer.end()];
  return [...parseEvents(Buffer.concat(frames)).flatMap((event) => decoder.decode(event)), ...decoder.end()];
}

describe('streams of Converse', () => {
  const bytes = framed(TEXT);

  test('say what they say whole, with the counts behind the end', () => {
    assert.deepEqual(fold(decoded(bytes)), {
      id: '',
      model: NOVA,
      candidates: [
        {
          parts: [
            {
              type: 'reasoning',
              text: 'Hm. ',
              opaque: { kind: 'signature', value: 'c2ln', origin: `bedrock/${NOVA}` },
            },
            { type: 'text', text: 'Grüße 🙂' },
            { type: 'call', id: 't1', name: 'lookup', args: '{"a":1}' },
          ],
          finish: { reason: 'calls', raw: 'tool_use' },
        },
      ],
      usage: { input: 7, output: 3, cached: 5 },
    });
  });

  test('end their answer with the counts, so that a client that leaves at its end has not left before them', () => {
    const stop = TEXT.findIndex(([type]) => type === 'messageStop');
    const framer = createAwsEventStreamFramer();
    const decoder = converse.operations.complete.streamDecoder(targetOf(NOVA));
    const next = (events: [string, Json][]) =>
      parseEvents(Buffer.concat(framer.push(framed(events)))).flatMap((event) => decoder.decode(event));
    assert.ok(next(TEXT.slice(0, stop + 1)).every(({ type }) => type !== 'candidate-end'));
    assert.deepEqual(
      next(TEXT.slice(stop + 1)).map(({ type }) => type),
      ['candidate-end', 'message-end'],
    );
  });

  test('say the same, cut at every byte', () => {
    const whole = fold(decoded(bytes));
    for (let cut = 1; cut < bytes.length; cut++)
      assert.deepEqual(fold(decoded(bytes.subarray(0, cut), bytes.subarray(cut))), whole, `cut at ${cut}`);
  });

  test('that end before their end are errors, at every event', () => {
    const stop = TEXT.findIndex(([type]) => type === 'messageStop');
    for (let count = 0; count <= stop; count++) {
      const last = decoded(framed(TEXT.slice(0, count))).at(-1);
      assert.ok(
        last?.type === 'error' && /closed its response before the end/.test(last.error.message),
        `after ${count}`,
      );
    }
    const uncounted = fold(decoded(framed(TEXT.slice(0, stop + 1))));
    assert.equal(uncounted.usage, undefined);
    assert.equal(uncounted.candidates[0]?.finish.reason, 'calls');
  });

  test('have nothing behind their end but the counts', () => {
    const late: [string, Json][] = [
      ['contentBlockDelta', { contentBlockIndex: 3, delta: { text: 'late' } }],
      ['messageStop', { stopReason: 'max_tokens' }],
    ];
    assert.deepEqual(decoded(framed([...TEXT.slice(0, -1), ...late, ...TEXT.slice(-1)])), decoded(bytes));
  });

  test('say an answer by a schema without any member as a whole answer does', () => {
    const toolUse = { toolUseId: 't', name: 'json_answer' };
    const events: [string, Json][] = [
      ['contentBlockStart', { contentBlockIndex: 0, start: { toolUse } }],
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ['messageStop', { stopReason: 'tool_use' }],
    ];
    assert.deepEqual(fold(decoded(framed(events))).candidates[0]?.parts, [{ type: 'text', text: '{}' }]);
  });

  test('with arguments of a call that come after another call began are errors, not calls without arguments', () => {
    const start = (contentBlockIndex: number): [string, Json] => [
      'contentBlockStart',
      { contentBlockIndex, start: { toolUse: { toolUseId: `t${contentBlockIndex}`, name: 'lookup' } } },
    ];
    const delta = (contentBlockIndex: number, input: string): [string, Json] => [
      'contentBlockDelta',
      { contentBlockIndex, delta: { toolUse: { input } } },
    ];
    const stop = (contentBlockIndex: number): [string, Json] => ['contentBlockStop', { contentBlockIndex }];
    const end: [string, Json] = ['messageStop', { stopReason: 'tool_use' }];
    const mixed = decoded(framed([start(0), start(1), delta(0, '{"a":1}'), stop(0), delta(1, '{}'), stop(1), end]));
    const last = mixed.at(-1);
    assert.ok(last?.type === 'error' && /mixed the arguments/.test(last.error.message));
    const late = decoded(framed([start(0), delta(0, '{"a":1}'), start(1), stop(0), delta(1, '{"b":2}'), stop(1), end]));
    assert.deepEqual(
      fold(late).candidates[0]?.parts.map((part) => part.type === 'call' && part.args),
      ['{"a":1}', '{"b":2}'],
    );
    const crossed = decoded(
      framed([start(0), delta(0, '{"a":1}'), start(1), stop(0), stop(7), delta(1, '{"b":2}'), end]),
    );
    const [, second] = fold(crossed).candidates[0]?.parts ?? [];
    assert.equal(second?.type === 'call' && second.args, '{"b":2}');
    const thought: [string, Json] = [
      'contentBlockDelta',
      { contentBlockIndex: 0, delta: { reasoningContent: { text: 'Hm' } } },
    ];
    const early = decoded(framed([thought, start(1), stop(0), delta(1, '{"b":2}'), stop(1), end]));
    const [, called] = fold(early).candidates[0]?.parts ?? [];
    assert.equal(called?.type === 'call' && called.args, '{"b":2}');
    const ended = decoded(framed([start(0), stop(0), delta(0, '{"a":1}'), end])).at(-1);
    assert.ok(ended?.type === 'error' && /mixed the arguments/.test(ended.error.message));
  });

  test('may have events of the wrong types', () => {
    const odd: [string, Json][] = [
      ['contentBlockStart', { contentBlockIndex: 'x', start: 5 }],
      ['contentBlockDelta', { delta: null }],
      ['contentBlockDelta', { contentBlockIndex: 4, delta: { toolUse: { input: 'lost' } } }],
      ['contentBlockDelta', { contentBlockIndex: 4, delta: { text: 5, citation: 'c', reasoningContent: [] } }],
      ['metadata', { usage: { inputTokens: 'many' } }],
    ];
    const [first, ...rest] = TEXT as [[string, Json], ...[string, Json][]];
    assert.deepEqual(fold(decoded(framed([first, ...odd, ...rest]))), fold(decoded(bytes)));
  });
});

describe('whole answers of Converse', () => {
  const { complete } = converse.operations;

  test('without an answer are errors', () => {
    for (const body of [{}, { output: {} }, { output: { message: 5 } }])
      assert.throws(() => complete.decodeResponse(body, targetOf(NOVA)), { code: 'upstream_error' });
    assert.equal(converse.errorIn({ message: 'No.' })?.message, 'No.');
    assert.equal(converse.errorIn({ Output: { __type: 'UnknownOperationException' } })?.code, 'upstream_error');
    assert.equal(converse.errorIn({ output: { message: { content: [] } } }), undefined);
  });

  test('with a call that the output limit cut off before its arguments are incomplete, as streams are', () => {
    const answer = (stopReason: string) => {
      const content = [{ text: 'Hi' }, { toolUse: { toolUseId: 't', name: 'lookup', input: {} } }];
      const body = { output: { message: { content } }, stopReason };
      return complete.decodeResponse(body, targetOf(NOVA)).candidates[0];
    };
    const args = (stopReason: string) => answer(stopReason)?.parts.flatMap((part) => ('args' in part ? part.args : []));
    assert.deepEqual([args('max_tokens'), args('model_context_window_exceeded')], [[''], ['']]);
    assert.deepEqual([args('tool_use'), answer('max_tokens')?.finish.reason], [['{}'], 'length']);
  });

  test('may have members of the wrong types', () => {
    const content = [
      { text: 5 },
      { toolUse: { name: [], input: null } },
      { reasoningContent: { reasoningText: 'x' } },
      7,
    ];
    const body = { output: { message: { content } }, stopReason: 4, usage: { inputTokens: -1 } };
    assert.doesNotThrow(() => complete.decodeResponse(body, targetOf(NOVA)));
  });

  test('an error keeps its words, unless it is of the account', () => {
    assert.equal(converse.decodeError(400, { message: 'Bad.' }).message, 'Bad.');
    const own = converse.decodeError(403, { message: 'User arn:aws:x is not authorized.' });
    assert.deepEqual([own.code, own.message], ['upstream_error', 'The upstream answered with status 403.']);
  });
});
