/** The worst bodies for each step that a request takes before it is admitted, in the spelling of each protocol. */

import type { Json } from '../../src/core/json/json.ts';
import type { WireId } from '../faults/wires.ts';

const MEBIBYTE = 1024 * 1024;
export const BODY_BYTES = 19 * MEBIBYTE;

/** The protocol of a client, a model, and what is asked for. */
export type Way = readonly [WireId, string, 'generate' | 'count'];

export interface Shape {
  step: 'guard' | 'check' | 'schema' | 'estimate' | 'conversation' | 'media' | 'tool names' | 'error text';
  name: string;
  /** The members of the body, or a text to be sent as it is. */
  make(protocol: WireId): Json | string;
  /** Those that it is for; some of all by default. */
  ways?: readonly Way[];
}

const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** A body with these members besides what every body needs. */
function body(protocol: WireId, members: Json = {}, content: Json = 'Hi'): Json {
  if (protocol === 'generate') return { contents: [{ role: 'user', parts: partsOf(content) }], ...members };
  if (protocol === 'responses') return { input: [{ role: 'user', content }], ...members };
  return { max_tokens: 100, messages: [{ role: 'user', content }], ...members };
}

function partsOf(content: Json): Json[] {
  return typeof content === 'string' ? [{ text: content }] : content;
}

/** The member with the turns of a conversation. */
const TURNS = { chat: 'messages', messages: 'messages', generate: 'contents', responses: 'input' } as const;

function turn(protocol: WireId, role: 'user' | 'assistant', content: Json = 'x'): Json {
  if (protocol !== 'generate') return { role, content };
  return { role: role === 'user' ? 'user' : 'model', parts: partsOf(content) };
}

/** One function whose arguments need not follow its schema strictly. */
function looseTool(protocol: WireId, schema: Json): Json {
  const made = tools(protocol, [{ name: 'f', schema }]);
  const [tool] = made.tools;
  if (protocol !== 'generate') delete (tool.function ?? tool).strict;
  return made;
}

/** A body with these turns. */
function turns(protocol: WireId, list: readonly Json[]): Json {
  return body(protocol, { [TURNS[protocol]]: list });
}

/** A JSON text with `filler` in an unknown member. */
function filled(protocol: WireId, filler: string): string {
  return `${JSON.stringify(body(protocol)).slice(0, -1)},"x":${filler}}`;
}

function textPart(protocol: WireId, text: string): Json {
  if (protocol === 'generate') return { text };
  return { type: protocol === 'responses' ? 'input_text' : 'text', text };
}

function imagePart(protocol: WireId, data: string, type = 'image/png'): Json {
  if (protocol === 'generate') return { inlineData: { mimeType: type, data } };
  if (protocol === 'messages') return { type: 'image', source: { type: 'base64', media_type: type, data } };
  const url = `data:${type};base64,${data}`;
  return protocol === 'responses' ? { type: 'input_image', image_url: url } : { type: 'image_url', image_url: { url } };
}

function urlPart(protocol: WireId, url: string): Json {
  if (protocol === 'generate') return { fileData: { fileUri: url } };
  if (protocol === 'messages') return { type: 'image', source: { type: 'url', url } };
  return protocol === 'responses' ? { type: 'input_image', image_url: url } : { type: 'image_url', image_url: { url } };
}

function tools(protocol: WireId, list: readonly { name: string; schema: Json }[]): Json {
  if (protocol === 'generate')
    return {
      tools: [{ functionDeclarations: list.map(({ name, schema }) => ({ name, parametersJsonSchema: schema })) }],
    };
  if (protocol === 'messages')
    return { tools: list.map(({ name, schema }) => ({ name, input_schema: schema, strict: true })) };
  if (protocol === 'responses')
    return { tools: list.map(({ name, schema }) => ({ type: 'function', name, parameters: schema, strict: true })) };
  const functions = list.map(({ name, schema }) => ({
    type: 'function',
    function: { name, parameters: schema, strict: true },
  }));
  return { tools: functions };
}

function calls(protocol: WireId, count: number, name: (index: number) => string): Json {
  if (protocol === 'generate') {
    const parts = times(count, (index) => ({ functionCall: { name: name(index), args: {} } }));
    return {
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts },
      ],
    };
  }
  if (protocol === 'messages') {
    const uses = times(count, (index) => ({ type: 'tool_use', id: `t${index}`, name: name(index), input: {} }));
    const results = times(count, (index) => ({ type: 'tool_result', tool_use_id: `t${index}`, content: 'x' }));
    const turns = [
      { role: 'assistant', content: uses },
      { role: 'user', content: results },
    ];
    return { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }, ...turns] };
  }
  if (protocol === 'responses') {
    const made = times(count, (index) => ({
      type: 'function_call',
      call_id: `t${index}`,
      name: name(index),
      arguments: '{}',
    }));
    const outputs = times(count, (index) => ({ type: 'function_call_output', call_id: `t${index}`, output: 'x' }));
    return { input: [{ role: 'user', content: 'Hi' }, ...made, ...outputs] };
  }
  const made = times(count, (index) => ({
    id: `t${index}`,
    type: 'function',
    function: { name: name(index), arguments: '{}' },
  }));
  const results = times(count, (index) => ({ role: 'tool', tool_call_id: `t${index}`, content: 'x' }));
  const turns = [{ role: 'user', content: 'Hi' }, { role: 'assistant', tool_calls: made }, ...results];
  return { messages: turns };
}

/** Calls with these arguments, and results with these texts, as JSON in a text. */
function texts(
  protocol: WireId,
  count: number,
  { args = '{}', result = 'x' }: { args?: string; result?: string },
): Json {
  const made = calls(protocol, count, () => 'f');
  for (const item of protocol === 'responses' ? made.input : made.messages) {
    if (item.type === 'function_call') item.arguments = args;
    if (item.type === 'function_call_output') item.output = result;
    if (item.role === 'tool') item.content = result;
    for (const call of item.tool_calls ?? []) call.function.arguments = args;
  }
  return made;
}

/** Ways on which arguments and results of earlier calls are read as JSON. */
const READING_WAYS: readonly Way[] = [
  ['chat', 'b/m', 'generate'],
  ['chat', 'c/m', 'generate'],
  ['responses', 'c/m', 'generate'],
  ['responses', 'a/m', 'generate'],
];
const list = (values: number): string => `[${'1,'.repeat(values)}1]`;
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** Definitions that each refer twice to the next. */
export function doubling(levels: number): Json {
  const level = (index: number): Json =>
    index === levels
      ? { type: 'object', properties: { a: { type: 'string' } } }
      : { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] };
  const definitions = Object.fromEntries(times(levels + 1, (index) => [`d${index}`, level(index)]));
  return { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs: definitions };
}

const properties = (count: number): Json =>
  Object.fromEntries(times(count, (index) => [`p${index}`, { type: 'string' }]));

/** References to one large definition. */
export function manyReferences(references: number, size: number): Json {
  const refer = () => ({ allOf: [{ $ref: '#/$defs/big' }] });
  return {
    type: 'object',
    properties: Object.fromEntries(times(references, (index) => [`r${index}`, refer()])),
    $defs: { big: { type: 'object', properties: properties(size) } },
  };
}

const chain = (length: number): Json => ({
  ...{ type: 'object', allOf: [{ $ref: '#/$defs/d0' }] },
  $defs: Object.fromEntries(times(length, (index) => [`d${index}`, { allOf: [{ $ref: `#/$defs/d${index + 1}` }] }])),
});

const longName = 'n'.repeat(MEBIBYTE);

/** A body with these tools, strict where the protocol knows that. */
export function toolBody(protocol: WireId, list: readonly { name: string; schema: Json }[]): Json {
  return body(protocol, tools(protocol, list));
}

export const SHAPES: readonly Shape[] = [
  { step: 'guard', name: 'opening brackets', make: (protocol) => filled(protocol, '['.repeat(BODY_BYTES)) },
  { step: 'guard', name: 'commas', make: (protocol) => filled(protocol, `[${','.repeat(BODY_BYTES)}]`) },
  { step: 'guard', name: 'white space', make: (protocol) => filled(protocol, `${' '.repeat(4_000_000)}1`) },
  { step: 'guard', name: 'digits', make: (protocol) => filled(protocol, '1'.repeat(BODY_BYTES)) },
  {
    step: 'guard',
    name: 'long numbers',
    make: (protocol) => filled(protocol, `[${times(9_000, () => '1'.repeat(999)).join()}]`),
  },
  { step: 'guard', name: 'an open string', make: (protocol) => filled(protocol, `"${'\\"'.repeat(BODY_BYTES / 2)}`) },
  { step: 'guard', name: 'escapes', make: (protocol) => filled(protocol, `"${'\\u00e9'.repeat(BODY_BYTES / 6)}"`) },
  {
    step: 'guard',
    name: 'empty strings and control characters',
    make: (protocol) => filled(protocol, '\\u0001'.repeat(BODY_BYTES / 6)),
  },
  { step: 'guard', name: 'closing brackets', make: (protocol) => filled(protocol, ']'.repeat(BODY_BYTES)) },
  { step: 'guard', name: 'letters', make: (protocol) => filled(protocol, 'a'.repeat(BODY_BYTES)) },
  { step: 'guard', name: 'signs of numbers', make: (protocol) => filled(protocol, '-'.repeat(BODY_BYTES)) },
  {
    step: 'guard',
    name: 'short members',
    make: (protocol) =>
      filled(protocol, `[${times(9, () => `{${times(9_900, (index) => `"${index}":1`).join()}}`).join()}]`),
  },
  {
    step: 'guard',
    name: 'empty arrays',
    make: (protocol) => filled(protocol, `[${times(45_000, () => '[]').join()}]`),
  },
  {
    step: 'guard',
    name: 'names of members',
    make: (protocol) =>
      JSON.stringify({ ...Object.fromEntries(times(90_000, (index) => [`member${index}`, 1])), ...body(protocol) }),
  },
  {
    step: 'check',
    name: 'parts of no kind',
    make: (protocol) =>
      body(
        protocol,
        {},
        times(45_000, () => ({ type: 'none' })),
      ),
  },
  {
    step: 'check',
    name: 'a last part that is wrong',
    make: (protocol) =>
      body(protocol, {}, [...times(30_000, () => textPart(protocol, 'x')), { type: 'text', text: 1 }]),
  },
  {
    step: 'check',
    name: 'turns of no role',
    make: (protocol) =>
      body(protocol, {
        [TURNS[protocol]]: times(45_000, () => ({
          role: 'nobody',
          content: [],
          parts: [],
        })),
      }),
  },
  {
    step: 'check',
    name: 'a last turn that is wrong',
    make: (protocol) =>
      body(protocol, {
        [TURNS[protocol]]: [
          ...times(20_000, (index) => ({
            role: index % 2 ? (protocol === 'generate' ? 'model' : 'assistant') : 'user',
            ...(protocol === 'generate' ? { parts: [{ text: 'x' }] } : { content: 'x' }),
          })),
          { role: 'user', parts: 1, content: 1 },
        ],
      }),
  },
  {
    step: 'check',
    name: 'tools that are wrong',
    make: (protocol) =>
      body(
        protocol,
        tools(
          protocol,
          times(12_000, () => ({ name: '', schema: 1 })),
        ),
      ),
  },
  {
    step: 'check',
    name: 'names of fallback models',
    make: (protocol) => body(protocol, { models: times(90_000, (index) => `a/m${index}`) }),
  },
  {
    step: 'check',
    name: 'a routing policy',
    make: (protocol) =>
      body(protocol, {
        provider: { only: times(40_000, (index) => `p${index}`), order: times(40_000, (index) => `p${index}`) },
      }),
  },
  {
    step: 'check',
    name: 'stop sequences',
    make: (protocol) =>
      body(
        protocol,
        {
          chat: { stop: times(90_000, () => 'x') },
          messages: { stop_sequences: times(90_000, () => 'x') },
          generate: { generationConfig: { stopSequences: times(90_000, () => 'x') } },
          responses: { include: times(90_000, () => 'x') },
        }[protocol],
      ),
  },
  {
    step: 'schema',
    name: 'references that double at each of 30 levels',
    make: (protocol) => body(protocol, tools(protocol, [{ name: 'f', schema: doubling(30) }])),
  },
  {
    step: 'schema',
    name: '3,000 references to one large definition',
    make: (protocol) => body(protocol, tools(protocol, [{ name: 'f', schema: manyReferences(3_000, 9_000) }])),
  },
  {
    step: 'schema',
    name: 'a chain of definitions',
    make: (protocol) => body(protocol, tools(protocol, [{ name: 'f', schema: chain(9_000) }])),
  },
  {
    step: 'schema',
    name: '1,000 schemas of 40 properties',
    make: (protocol) =>
      body(
        protocol,
        tools(
          protocol,
          times(1_000, (index) => ({ name: `f${index}`, schema: { type: 'object', properties: properties(40) } })),
        ),
      ),
  },
  {
    step: 'schema',
    name: '15 tools with doubling references',
    make: (protocol) =>
      body(
        protocol,
        tools(
          protocol,
          times(15, (index) => ({ name: `f${index}`, schema: doubling(40) })),
        ),
      ),
  },
  {
    step: 'schema',
    name: 'a long name above lost keywords',
    make: (protocol) =>
      body(
        protocol,
        tools(protocol, [
          {
            name: 'f',
            schema: {
              type: 'object',
              properties: {
                [longName]: {
                  type: 'object',
                  properties: Object.fromEntries(times(9_900, (index) => [`p${index}`, { foo: 1 }])),
                },
              },
            },
          },
        ]),
      ),
  },
  {
    step: 'schema',
    name: 'lost keywords',
    make: (protocol) =>
      body(
        protocol,
        tools(protocol, [
          { name: 'f', schema: { type: 'object', ...Object.fromEntries(times(9_900, (index) => [`k${index}`, 1])) } },
        ]),
      ),
  },
  {
    step: 'schema',
    name: 'many required names',
    ways: [
      ['responses', 'a/m', 'generate'],
      ['responses', 'b/m', 'generate'],
    ],
    make: (protocol) => {
      const schema = {
        type: 'object',
        additionalProperties: false,
        properties: properties(9_900),
        required: [...times(60_000, (index) => `q${index}`), ...times(9_900, (index) => `p${index}`)],
      };
      return body(protocol, { tools: [{ type: 'function', name: 'f', parameters: schema }] });
    },
  },
  {
    step: 'schema',
    name: 'a name of many dots above a lost keyword',
    ways: [
      ['chat', 'b/m', 'generate'],
      ['responses', 'b/m', 'generate'],
    ],
    make: (protocol) => {
      const schema = { type: 'object', properties: { ['.'.repeat(20_000)]: { type: 'string', foo: 1 } } };
      const format = { type: 'json_schema', name: 'f', schema };
      if (protocol === 'responses') return body(protocol, { text: { format } });
      return body(protocol, { response_format: { type: 'json_schema', json_schema: { name: 'f', schema } } });
    },
  },
  {
    step: 'schema',
    name: '45,000 arrays without items, in a schema that need not be strict',
    ways: [
      ['messages', 'a/m', 'generate'],
      ['generate', 'a/m', 'generate'],
      ['messages', 'c/m', 'generate'],
    ],
    make: (protocol) =>
      body(protocol, looseTool(protocol, { type: 'object', not: { anyOf: times(45_000, () => ({ type: 'array' })) } })),
  },
  {
    step: 'schema',
    name: '48,000 properties, in a schema that need not be strict',
    ways: [
      ['messages', 'a/m', 'generate'],
      ['generate', 'a/m', 'generate'],
    ],
    make: (protocol) => {
      const inner = times(10, (list) => Object.fromEntries(times(4_800, (index) => [`p${list}_${index}`, {}])));
      return body(
        protocol,
        looseTool(protocol, { type: 'object', anyOf: inner.map((each) => ({ properties: each })) }),
      );
    },
  },
  {
    step: 'schema',
    name: '9,000 alternatives at the top of parameters',
    ways: [
      ['chat', 'b/m', 'generate'],
      ['generate', 'b/m', 'generate'],
    ],
    make: (protocol) =>
      body(
        protocol,
        looseTool(protocol, {
          type: 'object',
          anyOf: times(9_000, (index) => ({ properties: { [`p${index}`]: {} }, required: ['p0'] })),
        }),
      ),
  },
  {
    step: 'schema',
    name: 'a large schema in OpenAPI form',
    make: (protocol) =>
      body(
        protocol,
        protocol === 'generate'
          ? {
              tools: [
                {
                  functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT', properties: properties(9_900) } }],
                },
              ],
            }
          : tools(protocol, [{ name: 'f', schema: { type: 'object', properties: properties(9_900) } }]),
      ),
  },
  {
    step: 'estimate',
    name: 'a long text of many classes',
    make: (protocol) => body(protocol, {}, 'aé中1 !'.repeat(BODY_BYTES / 9)),
  },
  {
    step: 'estimate',
    name: 'many short parts',
    make: (protocol) =>
      body(
        protocol,
        {},
        times(30_000, (index) => textPart(protocol, `t${index}`)),
      ),
  },
  {
    step: 'estimate',
    name: 'many parts of medium length',
    make: (protocol) =>
      body(
        protocol,
        {},
        times(1_000, () => textPart(protocol, 'a1 é中!'.repeat(2_000))),
      ),
  },
  {
    step: 'estimate',
    name: 'many texts of a sample each',
    make: (protocol) =>
      body(
        protocol,
        {},
        times(150, () => textPart(protocol, 'a1 b!'.repeat(26_000))),
      ),
  },
  {
    step: 'conversation',
    name: 'a first turn of many parts',
    make: (protocol) =>
      body(
        protocol,
        {},
        times(30_000, () => textPart(protocol, 'x'.repeat(600))),
      ),
  },
  {
    step: 'conversation',
    name: 'many turns',
    make: (protocol) =>
      turns(
        protocol,
        times(protocol === 'generate' ? 19_000 : 30_000, (index) => turn(protocol, index % 2 ? 'assistant' : 'user')),
      ),
  },
  { step: 'conversation', name: 'calls and results', make: (protocol) => calls(protocol, 8_000, () => 'f') },
  {
    step: 'conversation',
    name: 'turns of one role',
    make: (protocol) =>
      turns(
        protocol,
        times(protocol === 'generate' ? 19_000 : 30_000, () => turn(protocol, 'user')),
      ),
  },
  {
    step: 'conversation',
    name: 'a run of turns of the model',
    ways: [
      ['chat', 'b/m', 'generate'],
      ['messages', 'a/m', 'generate'],
      ['responses', 'b/m', 'generate'],
    ],
    make: (protocol) =>
      turns(protocol, [
        turn(protocol, 'user'),
        ...times(15_000, () => turn(protocol, 'assistant')),
        turn(protocol, 'user'),
      ]),
  },
  {
    step: 'conversation',
    name: 'a call behind many parts and before many turns of the model',
    ways: [['messages', 'a/m', 'generate']],
    make: (protocol) => {
      const use = { type: 'tool_use', id: 'c', name: 'f', input: {} };
      return turns(protocol, [
        turn(protocol, 'user'),
        turn(protocol, 'assistant', [...times(20_000, () => textPart(protocol, 'x')), use]),
        ...times(5_000, () => turn(protocol, 'assistant')),
        turn(protocol, 'user', [{ type: 'tool_result', tool_use_id: 'c', content: 'x' }]),
      ]);
    },
  },
  {
    step: 'conversation',
    name: 'millions of values in the arguments of a call',
    ways: READING_WAYS,
    make: (protocol) => texts(protocol, 1, { args: `{"a":${list(9_000_000)}}` }),
  },
  {
    step: 'conversation',
    name: 'thousands of values in the arguments of each of many calls',
    ways: READING_WAYS,
    make: (protocol) => texts(protocol, 100, { args: `{"a":${list(90_000)}}` }),
  },
  {
    step: 'conversation',
    name: 'arguments of a call that nest a million times',
    ways: READING_WAYS,
    make: (protocol) => texts(protocol, 1, { args: `{"a":${nested(1_000_000)}}` }),
  },
  {
    step: 'conversation',
    name: 'arguments of a call that begin a million lists',
    ways: READING_WAYS,
    make: (protocol) => texts(protocol, 1, { args: '['.repeat(BODY_BYTES / 2) }),
  },
  {
    step: 'conversation',
    name: 'millions of values in a result',
    ways: READING_WAYS,
    make: (protocol) => texts(protocol, 1, { result: list(9_000_000) }),
  },
  {
    step: 'conversation',
    name: 'thousands of values in each of many results',
    ways: READING_WAYS,
    make: (protocol) => texts(protocol, 100, { result: list(90_000) }),
  },
  {
    step: 'conversation',
    name: 'a result that nests a million times',
    ways: READING_WAYS,
    make: (protocol) => texts(protocol, 1, { result: nested(1_000_000) }),
  },
  {
    step: 'conversation',
    name: 'results in the reverse order of their calls',
    ways: [
      ['generate', 'a/m', 'generate'],
      ['responses', 'a/m', 'generate'],
    ],
    make: (protocol) => {
      const count = 7_000;
      if (protocol === 'responses') {
        const [first, ...items] = calls(protocol, count, () => 'f').input;
        return { input: [first, ...items.slice(0, count), ...items.slice(count).reverse()] };
      }
      const made = times(count, (index) => ({ functionCall: { id: `t${index}`, name: `f${index}` } }));
      const results = made.map(({ functionCall }) => ({ functionResponse: functionCall })).reverse();
      return {
        contents: [turn(protocol, 'user'), { role: 'model', parts: made }, { role: 'user', parts: results }],
      };
    },
  },
  {
    step: 'conversation',
    name: 'results with names of no call',
    ways: [['generate', 'a/m', 'generate']],
    make: (protocol) => ({
      contents: [
        turn(protocol, 'user'),
        { role: 'model', parts: times(7_000, () => ({ functionCall: { name: 'f' } })) },
        { role: 'user', parts: times(7_000, (index) => ({ functionResponse: { name: `g${index}` } })) },
      ],
    }),
  },
  {
    step: 'conversation',
    name: 'pictures of the model',
    ways: [['responses', 'a/m', 'generate']],
    make: (protocol) =>
      turns(
        protocol,
        times(9_000, () => ({ type: 'image_generation_call', result: 'QUJD' })),
      ),
  },
  {
    step: 'conversation',
    name: 'messages of the model behind its calls',
    ways: [['responses', 'a/m', 'generate']],
    make: (protocol) => {
      const made = calls(protocol, 8_000, () => 'f').input.slice(0, 8_001);
      return turns(protocol, [...made, ...times(8_000, () => turn(protocol, 'assistant'))]);
    },
  },
  {
    step: 'conversation',
    name: 'lists of parts for a provider of alternating turns',
    ways: [['chat', 'perplexity/m', 'generate']],
    make: (protocol) =>
      turns(
        protocol,
        times(14_000, () => turn(protocol, 'user', [textPart(protocol, 'x')])),
      ),
  },
  {
    step: 'media',
    name: 'a large image',
    make: (protocol) => body(protocol, {}, [imagePart(protocol, 'iVBORw0KGgoA'.repeat(BODY_BYTES / 12))]),
  },
  {
    step: 'media',
    name: 'many images',
    make: (protocol) =>
      body(
        protocol,
        {},
        times(15_000, () => imagePart(protocol, 'iVBORw0KGgoA'.repeat(100))),
      ),
  },
  {
    step: 'media',
    name: 'a media type of a megabyte of semicolons',
    make: (protocol) => body(protocol, {}, [imagePart(protocol, 'iVBORw0KGgoA', `audio/x${';'.repeat(MEBIBYTE)}\n`)]),
  },
  {
    step: 'media',
    name: 'a media type of many megabytes of semicolons',
    make: (protocol) =>
      body(protocol, {}, [imagePart(protocol, 'iVBORw0KGgoA', `image/x${';'.repeat(BODY_BYTES - 1000)}`)]),
  },
  {
    step: 'media',
    name: 'text as a document',
    make: (protocol) => body(protocol, {}, [imagePart(protocol, 'QUJD'.repeat(BODY_BYTES / 4), 'text/plain')]),
  },
  {
    step: 'media',
    name: 'a percent-encoded data URL',
    make: (protocol) =>
      body(protocol, {}, [urlPart(protocol, `data:text/plain,${'%41'.repeat(BODY_BYTES / 3 - 100)}`)]),
  },
  {
    step: 'media',
    name: 'a long address',
    make: (protocol) =>
      body(protocol, {}, [urlPart(protocol, `https://example.com/${'?a.b'.repeat(BODY_BYTES / 4 - 100)}`)]),
  },
  {
    step: 'media',
    name: 'a long host',
    make: (protocol) => body(protocol, {}, [urlPart(protocol, `https://${'a.'.repeat(BODY_BYTES / 2 - 100)}`)]),
  },
  {
    step: 'media',
    name: 'many addresses',
    make: (protocol) =>
      body(
        protocol,
        {},
        times(20_000, (index) => urlPart(protocol, `https://example.com/${index}`)),
      ),
  },
  {
    step: 'tool names',
    name: 'a long name',
    make: (protocol) => body(protocol, tools(protocol, [{ name: longName, schema: {} }])),
  },
  {
    step: 'tool names',
    name: 'many names that are changed',
    make: (protocol) =>
      body(
        protocol,
        tools(
          protocol,
          times(15_000, (index) => ({ name: `f.${index}`, schema: {} })),
        ),
      ),
  },
  {
    step: 'tool names',
    name: 'long names of many calls',
    make: (protocol) => calls(protocol, 19, (index) => `${index}.${longName}`),
  },
  {
    step: 'tool names',
    name: 'many names of calls',
    make: (protocol) => calls(protocol, 8_000, (index) => `f.${index}`),
  },
  {
    step: 'tool names',
    name: 'a choice of many tools',
    make: (protocol) => {
      const offered = times(9_000, (index) => ({ name: `f${index}`, schema: {} }));
      const names = offered.map(({ name }) => name).reverse();
      if (protocol === 'generate')
        return body(protocol, {
          ...tools(protocol, offered),
          toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: names } },
        });
      if (protocol === 'messages')
        return body(protocol, { ...tools(protocol, offered), tool_choice: { type: 'tool', name: 'f0' } });
      if (protocol === 'responses')
        return body(protocol, {
          ...tools(protocol, offered),
          tool_choice: {
            type: 'allowed_tools',
            mode: 'auto',
            tools: names.map((name) => ({ type: 'function', name })),
          },
        });
      return body(protocol, {
        ...tools(protocol, offered),
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: names.map((name) => ({ type: 'function', function: { name } })) },
        },
      });
    },
  },
  {
    step: 'tool names',
    name: 'a choice of one namespace again and again',
    ways: [['responses', 'a/m', 'generate']],
    make: (protocol) => {
      const inner = times(2_000, (index) => ({ type: 'function', name: `f${index}` }));
      return body(protocol, {
        tools: [{ type: 'namespace', name: 'n', tools: inner }],
        tool_choice: {
          type: 'allowed_tools',
          mode: 'auto',
          tools: times(2_000, () => ({ type: 'namespace', name: 'n' })),
        },
      });
    },
  },
  {
    step: 'error text',
    name: 'a long role',
    make: (protocol) =>
      body(protocol, {
        [TURNS[protocol]]: [{ role: 'r'.repeat(BODY_BYTES), content: 'x', parts: [] }],
      }),
  },
  { step: 'error text', name: 'a long model', make: (protocol) => body(protocol, { model: 'm'.repeat(BODY_BYTES) }) },
  {
    step: 'error text',
    name: 'a long model with signs of routing',
    make: (protocol) => body(protocol, { model: `a/${':x/'.repeat(BODY_BYTES / 3)}` }),
  },
  {
    step: 'error text',
    name: 'a long type of a part',
    make: (protocol) => body(protocol, {}, [{ type: 't'.repeat(BODY_BYTES), ['t'.repeat(100)]: 1 }]),
  },
  {
    step: 'error text',
    name: 'long names of unknown members',
    make: (protocol) => body(protocol, Object.fromEntries(times(18, (index) => [`${index}${longName}`, 1]))),
  },
  {
    step: 'error text',
    name: 'many unknown members',
    make: (protocol) => body(protocol, Object.fromEntries(times(9_900, (index) => [`x${index}`, 1]))),
  },
  {
    step: 'error text',
    name: 'many unknown members of tools',
    ways: [
      ['generate', 'a/m', 'generate'],
      ['messages', 'c/m', 'generate'],
      ['responses', 'c/m', 'generate'],
    ],
    make: (protocol) => {
      const unknown = (tool: number) => Object.fromEntries(times(9_000, (index) => [`x${tool}_${index}`, 1]));
      const declared = times(4, (index) => ({ ...unknown(index), name: `f${index}` }));
      if (protocol === 'generate') return body(protocol, { tools: [{ functionDeclarations: declared }] });
      const more = protocol === 'messages' ? { input_schema: {} } : { type: 'function' };
      return body(protocol, { tools: declared.map((tool) => ({ ...tool, ...more })) });
    },
  },
  {
    step: 'error text',
    name: 'types of parts with many dots',
    ways: [['messages', 'a/m', 'generate']],
    make: (protocol) =>
      body(
        protocol,
        {},
        times(5_000, (index) => ({ type: `${index}${'.'.repeat(240)}` })),
      ),
  },
  {
    step: 'check',
    name: 'models to choose from',
    ways: [['chat', 'auto', 'generate']],
    make: (protocol) => body(protocol, { model_routing_config: { models: times(30_000, () => 'a/m') } }),
  },
  {
    step: 'error text',
    name: 'a long provider in the policy',
    make: (protocol) => body(protocol, { provider: { only: ['p'.repeat(BODY_BYTES)], sort: 's' } }),
  },
  {
    step: 'error text',
    name: 'a long unknown member of the policy',
    make: (protocol) => body(protocol, { provider: { ['p'.repeat(BODY_BYTES)]: 1 } }),
  },
];
