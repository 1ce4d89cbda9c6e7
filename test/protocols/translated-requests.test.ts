/** Requests between two protocols: what arrives, and what is named as dropped. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { type ProtocolId, sent } from './translated.ts';

const hi = {
  chat: { messages: [{ role: 'user', content: 'hi' }] },
  generate: { contents: [{ parts: [{ text: 'hi' }] }] },
};

/** A conversation of one empty text. */
const silent = {
  chat: { messages: [{ role: 'user', content: '' }] },
  messages: { max_tokens: 5, messages: [{ role: 'user', content: '' }] },
  generate: { contents: [{ parts: [{ text: '' }] }] },
  responses: { input: '' },
};

for (const client of ['messages', 'generate', 'responses'] as const)
  test(`a conversation of ${client} that says nothing is one empty message of chat completions`, () => {
    assert.deepEqual(sent(client, 'chat', silent[client]).body.messages, [{ role: 'user', content: '' }]);
  });

for (const client of ['chat', 'messages', 'generate'] as const)
  test(`a conversation of ${client} that says nothing is one empty message of Responses`, () => {
    const { input } = sent(client, 'responses', silent[client]).body;
    assert.deepEqual(input, [{ type: 'message', role: 'user', content: '' }]);
  });

describe('schemas', () => {
  /** Parameters that Claude models accept and OpenAI's refuse. */
  const loose: Json = {
    type: 'object',
    properties: {
      tags: { type: 'array', default: [{ type: 'array' }] },
      rows: { type: ['array', 'null'], items: { type: 'array' } },
      either: { anyOf: [{ type: 'array' }, { type: 'string' }] },
    },
  };
  const complete: Json = {
    type: 'object',
    properties: {
      tags: { type: 'array', default: [{ type: 'array' }], items: {} },
      rows: { type: ['array', 'null'], items: { type: 'array', items: {} } },
      either: { anyOf: [{ type: 'array', items: {} }, { type: 'string' }] },
    },
  };
  const tools = [
    { name: 'now', input_schema: { type: 'object' } },
    { name: 'tag', input_schema: loose },
  ];

  test('parameters of tools have the properties and items without which OpenAI refuses them', () => {
    const body = { max_tokens: 5, ...hi.chat, tools };
    const chat = sent('messages', 'chat', body).body.tools.map(({ function: { parameters } }: Json) => parameters);
    const responses = sent('messages', 'responses', body).body.tools.map(({ parameters }: Json) => parameters);
    const expected = [{ type: 'object', properties: {} }, complete];
    assert.deepEqual([chat, responses], [expected, expected]);
    const empty = sent('generate', 'chat', {
      ...hi.generate,
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: {} }] }],
    });
    assert.deepEqual(empty.body.tools[0].function.parameters, { type: 'object', properties: {} });
  });

  test('the order of properties that a generate client asks for is that of the schema elsewhere', () => {
    const properties = { a: { type: 'STRING' }, b: { type: 'STRING' }, c: { type: 'STRING' } };
    const responseSchema = {
      type: 'ARRAY',
      items: { type: 'OBJECT', properties, propertyOrdering: ['c', 'none', 'a'] },
    };
    const { body, dropped } = sent('generate', 'chat', { ...hi.generate, generationConfig: { responseSchema } });
    assert.deepEqual(Object.keys(body.response_format.json_schema.schema.items.properties), ['c', 'a', 'b']);
    assert.deepEqual(dropped, []);
  });

  test('arrays of parameters and formats have items at Gemini and OpenAI', () => {
    const format = { type: 'json_schema', json_schema: { name: 'x', schema: loose } };
    const { body } = sent('messages', 'generate', { max_tokens: 5, ...hi.chat, tools });
    const [, declared] = body.tools[0].functionDeclarations;
    assert.deepEqual(declared.parametersJsonSchema.properties.tags, { type: 'array', items: {} });
    const asked = sent('chat', 'generate', { ...hi.chat, response_format: format }).body.generationConfig;
    assert.deepEqual(asked.responseJsonSchema.properties.tags, { type: 'array', items: {} });
    assert.deepEqual(
      sent('chat', 'responses', { ...hi.chat, response_format: format }).body.text.format.schema,
      complete,
    );
  });
});

describe('media', () => {
  test('an image goes to messages with the type of its bytes, which is refused if it is another', () => {
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ';
    const imageOf = (url: string) => {
      const content = [{ type: 'image_url', image_url: { url } }];
      return sent('chat', 'messages', { messages: [{ role: 'user', content }] }).body.messages[0].content[0].source;
    };
    assert.deepEqual(imageOf(`data:image/jpeg;base64,${png}`), { type: 'base64', media_type: 'image/png', data: png });
    assert.equal(imageOf('data:image/webp;base64,AAAA').media_type, 'image/webp');
    assert.throws(() => imageOf('data:image/png;base64,Qk0aAAAAAAAAABoAAAAMAAAAAQABAAEAGAA='), /image\/bmp/);
  });
});

test('alternatives at the top of parameters, which messages refuse, become one object and are named', () => {
  const branch = (kind: string, more: Json, ...required: string[]) => ({
    type: 'object',
    properties: { kind: { const: kind }, ...more },
    required: ['kind', ...required],
  });
  const Named = branch('named', { name: { type: 'string' } }, 'name');
  const parameters: Json = {
    oneOf: [branch('all', {}), { $ref: '#/$defs/Named' }],
    allOf: [{ properties: { page: { type: 'integer' } }, required: ['page'] }],
    properties: { id: { type: 'string' } },
    required: ['id'],
    $defs: { Named },
  };
  const tools = (given: Json) => ({ tools: [{ type: 'function', function: { name: 'f', parameters: given } }] });
  const { body, dropped } = sent('chat', 'messages', { ...hi.chat, ...tools(parameters) });
  assert.deepEqual(body.tools[0].input_schema, {
    type: 'object',
    properties: {
      id: { type: 'string' },
      page: { type: 'integer' },
      kind: { anyOf: [{ const: 'all' }, { const: 'named' }] },
      name: { type: 'string' },
    },
    required: ['id', 'page', 'kind'],
    $defs: { Named },
  });
  assert.deepEqual(dropped, ['tools.function.parameters']);
  const plain = { type: 'object', properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } } };
  const kept = sent('chat', 'messages', { ...hi.chat, ...tools(plain) });
  assert.deepEqual([kept.body.tools[0].input_schema, kept.dropped], [plain, []]);
});

test('arguments of an earlier call that are no object are named where they become empty', () => {
  const fn = (args: string) => ({ id: 'a', type: 'function', function: { name: 'f', arguments: args } });
  const history = (args: string) => ({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', tool_calls: [fn(args)] },
      { role: 'tool', tool_call_id: 'a', content: 'no' },
    ],
  });
  for (const upstream of ['chat', 'generate', 'responses'] as const) {
    assert.deepEqual(sent('chat', upstream, history('{"a')).dropped, ['messages.tool_calls.function.arguments']);
    for (const args of ['', ' ', '{"a":1}']) assert.deepEqual(sent('chat', upstream, history(args)).dropped, []);
  }
  assert.deepEqual(sent('chat', 'messages', history('{"a')).dropped, []);
  const input = [
    { type: 'function_call', call_id: 'a', name: 'f', arguments: '[1]' },
    { type: 'function_call_output', call_id: 'a', output: 'no' },
  ];
  assert.deepEqual(sent('responses', 'generate', { input }).dropped, ['input.arguments']);
});

describe('calls of one turn with the same id', () => {
  const calls = [
    { id: 'same', city: 'Oslo' },
    { id: 'same', city: 'Rome' },
    { id: 'same_2', city: 'Bern' },
  ];
  const args = ({ city }: Json) => ({ city });
  const histories: Record<ProtocolId, (results: string[]) => Json> = {
    chat: (results) => ({
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          tool_calls: calls.map((call) => ({
            id: call.id,
            type: 'function',
            function: { name: 'f', arguments: JSON.stringify(args(call)) },
          })),
        },
        ...results.map((content, index) => ({ role: 'tool', tool_call_id: calls[index]?.id, content })),
      ],
    }),
    messages: (results) => ({
      max_tokens: 5,
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: calls.map((call) => ({ type: 'tool_use', id: call.id, name: 'f', input: args(call) })),
        },
        {
          role: 'user',
          content: results.map((content, index) => ({ type: 'tool_result', tool_use_id: calls[index]?.id, content })),
        },
      ],
    }),
    generate: (results) => ({
      contents: [
        { role: 'user', parts: [{ text: 'hi' }] },
        { role: 'model', parts: calls.map((call) => ({ functionCall: { id: call.id, name: 'f', args: args(call) } })) },
        {
          role: 'user',
          parts: results.map((output, index) => ({
            functionResponse: { id: calls[index]?.id, name: 'f', response: { output } },
          })),
        },
      ],
    }),
    responses: (results) => ({
      input: [
        { role: 'user', content: 'hi' },
        ...calls.map((call) => ({
          type: 'function_call',
          call_id: call.id,
          name: 'f',
          arguments: JSON.stringify(args(call)),
        })),
        ...results.map((output, index) => ({ type: 'function_call_output', call_id: calls[index]?.id, output })),
      ],
    }),
  };
  /** The id and the city of each call, and the id and the text of each result. */
  const told: Record<ProtocolId, (body: Json) => [string, string][][]> = {
    chat: ({ messages: [, answer, ...results] }) => [
      answer.tool_calls.map((call: Json) => [call.id, JSON.parse(call.function.arguments).city]),
      results.map((result: Json) => [result.tool_call_id, result.content]),
    ],
    messages: ({ messages: [, answer, results] }) => [
      answer.content.map((call: Json) => [call.id, call.input.city]),
      results.content.map((result: Json) => [result.tool_use_id, result.content]),
    ],
    generate: ({ contents: [, answer, results] }) => [
      answer.parts.map(({ functionCall: { id, args } }: Json) => [id, args.city]),
      results.parts.map(({ functionResponse: { id, response } }: Json) => [id, response.output ?? response.error]),
    ],
    responses: ({ input }) => [
      input.flatMap((item: Json) =>
        item.type === 'function_call' ? [[item.call_id, JSON.parse(item.arguments).city]] : [],
      ),
      input.flatMap((item: Json) => (item.type === 'function_call_output' ? [[item.call_id, item.output]] : [])),
    ],
  };
  const ids = Object.keys(histories) as ProtocolId[];
  const pairs = ids.flatMap((client) => ids.map((upstream) => [client, upstream] as const));

  for (const [client, upstream] of pairs) {
    test(`${client} to ${upstream}: get ids of their own and each its result, in order`, () => {
      const { body, dropped } = sent(client, upstream, histories[client](['cold', 'warm', 'mild']));
      const [made = [], answered = []] = told[upstream](body);
      assert.deepEqual(
        made.map(([, city]) => city),
        ['Oslo', 'Rome', 'Bern'],
      );
      assert.deepEqual(
        answered.map(([, text]) => text),
        ['cold', 'warm', 'mild'],
      );
      assert.deepEqual(
        answered.map(([id]) => id),
        made.map(([id]) => id),
      );
      assert.equal(new Set(made.map(([id]) => id)).size, 3);
      assert.deepEqual(dropped, []);
    });
  }

  test('results that are sent twice count once, and a call without one is told so', () => {
    const { messages: history } = histories.chat(['cold', 'warm', 'mild']);
    const twice = sent('chat', 'messages', { messages: [...history, ...history.slice(2)] });
    assert.deepEqual(
      told.messages(twice.body)[1]?.map(([, text]) => text),
      ['cold', 'warm', 'mild'],
    );
    assert.deepEqual(twice.dropped, []);
    const [, missing = []] = told.messages(sent('chat', 'messages', histories.chat(['cold'])).body);
    assert.deepEqual(
      missing.map(([, text]) => text),
      ['cold', 'No result was given for this call.', 'No result was given for this call.'],
    );
  });
});

test('a result of success after one of failure of the same call is no failure', () => {
  const result = (content: string, more: Json = {}) => ({ type: 'tool_result', tool_use_id: 'a', content, ...more });
  const history = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
    { role: 'user', content: [result('no', { is_error: true }), result('yes')] },
  ];
  const { body, dropped } = sent('messages', 'chat', { max_tokens: 5, messages: history });
  assert.equal(body.messages[2].content, 'yes');
  assert.deepEqual(dropped, ['messages.content.result']);
});

test('pages of searches that are asked for are named as dropped where no search tells them', () => {
  const asked = { input: 'hi', tools: [{ type: 'web_search' }], include: ['web_search_call.action.sources'] };
  assert.deepEqual(sent('responses', 'messages', asked).dropped, []);
  assert.deepEqual(sent('responses', 'generate', asked).dropped, []);
  assert.deepEqual(sent('responses', 'chat', asked).dropped, ['include.web_search_call.action.sources']);
});

test('a penalty of 2 goes to generate as the largest that it takes', () => {
  const { body, dropped } = sent('chat', 'generate', { ...hi.chat, frequency_penalty: 2, presence_penalty: -2 });
  assert.deepEqual(body.generationConfig, { frequencyPenalty: 1.99, presencePenalty: -2 });
  assert.deepEqual(dropped, []);
});

test('a thinking level that is not known is named', () => {
  const dropped = (thinkingLevel: string) =>
    sent('generate', 'messages', { ...hi.generate, generationConfig: { thinkingConfig: { thinkingLevel } } }).dropped;
  assert.deepEqual(dropped('ULTRA'), ['generationConfig.thinkingConfig.thinkingLevel']);
  for (const level of ['HIGH', 'low', 'THINKING_LEVEL_UNSPECIFIED', '']) assert.deepEqual(dropped(level), []);
});

test('members of media, formats and free-text tools that a chat client adds are named as dropped', () => {
  const content = [
    { type: 'text', text: 'hi' },
    { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low', crop: 'center' } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=', pages: [1] } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav', channel: 2 } },
  ];
  const tools = [{ type: 'custom', custom: { name: 'patch', language: 'diff' } }];
  const json_schema = { name: 'a', schema: { type: 'object' }, repair: true };
  const body = { messages: [{ role: 'user', content }], tools, response_format: { type: 'json_schema', json_schema } };
  const { dropped } = sent('chat', 'generate', body);
  const names = ['image_url.crop', 'file.pages', 'input_audio.channel'].map((name) => `messages.content.${name}`);
  for (const name of [...names, 'tools.custom.language', 'response_format.json_schema.repair'])
    assert.ok(dropped.includes(name), `${name} in ${dropped}`);
});

describe('tools that a messages conversation defines', () => {
  const tool = (name: string, more: object = {}) => ({
    name,
    input_schema: { type: 'object', properties: {} },
    ...more,
  });
  const added = (definition: Json) => ({ type: 'tool_addition', tool: { type: 'tool_definition', definition } });
  const ask = (content: Json[], role = 'system') => ({
    ...{ max_tokens: 5, tools: [tool('read', { description: 'old' })] },
    messages: [
      { role: 'user', content: 'hi' },
      { role, content },
      { role: 'user', content: 'Go on.' },
    ],
  });
  const defined = [added(tool('edit', { description: 'Edits.', eager_input_streaming: true })), added(tool('read'))];

  for (const [where, content, role] of [
    ['a system message', defined, 'system'],
    ['a message of the user', defined, 'user'],
    ['a summary of earlier messages', [{ type: 'compaction', content: 'So far.', tool_changes: defined }], 'assistant'],
  ] as const) {
    test(`those in ${where} are among the tools of other protocols, the last one of a name`, () => {
      const { body, dropped } = sent('messages', 'responses', ask([...content], role));
      assert.deepEqual(
        body.tools.map(({ name, description }: Json) => [name, description]),
        [
          ['edit', 'Edits.'],
          ['read', undefined],
        ],
      );
      const addition = 'messages.content.tool_addition';
      const names = {
        system: [addition, addition, 'tools.eager_input_streaming'],
        user: ['tools.eager_input_streaming', addition],
        assistant: ['tools.eager_input_streaming', 'messages.content.tool_changes'],
      };
      assert.deepEqual(dropped, names[role]);
    });
  }

  test('those that only their provider can run are refused, and so are those of another form', () => {
    const code = (definition: Json) => () => sent('messages', 'chat', ask([added(definition)]));
    assert.throws(code({ type: 'bash_20250124', name: 'bash' }), { code: 'unsupported_tool' });
    for (const definition of [null, 'read', {}, { name: 5 }, { name: 'x', input_schema: 'object' }])
      assert.throws(code(definition), { code: 'invalid_request', param: /^messages\[1\]\.content\.tool\.definition/ });
  });

  test('tools that are added by name stay those of the list, and the name is dropped', () => {
    const change = { type: 'tool_addition', tool: { type: 'tool_reference', name: 'read' } };
    const { body, dropped } = sent('messages', 'chat', ask([change, { type: 'tool_addition' }]));
    assert.deepEqual(
      [body.tools.length, dropped],
      [1, ['messages.content.tool_addition', 'messages.content.tool_addition']],
    );
  });
});
