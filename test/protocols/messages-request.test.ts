/** Requests to upstreams of the messages protocol. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallPart, ChatRequest, MediaPart, ResultPart, ToolChoice, Turn } from '../../src/core/chat.ts';
import type { ModelRules } from '../../src/core/model.ts';
import { wrap } from '../../src/core/opaque.ts';
import type { EncodedRequest } from '../../src/core/operation.ts';
import { messages } from '../../src/protocols/messages/index.ts';
import { decodeItems } from '../../src/protocols/responses/decode-items.ts';

const ORIGIN = 'anthropic/claude';

function encode(request: Partial<ChatRequest>, rules: ModelRules = {}): EncodedRequest {
  const whole: ChatRequest = { stream: false, turns: [user('Hi')], tools: [], dropped: [], ...request };
  const encoded = messages.operations.complete.encodeRequest(whole, { origin: ORIGIN, model: 'claude', rules });
  messages.operations.complete.check(encoded.body);
  return encoded;
}

function user(text: string): Turn {
  return { role: 'user', parts: [{ type: 'text', text }] };
}

function assistant(...parts: Turn['parts']): Turn {
  return { role: 'assistant', parts };
}

function call(id: string, more: Partial<CallPart> = {}): CallPart {
  return { type: 'call', id, name: 'look', args: '{}', ...more };
}

function result(callId: string, text = 'ok'): ResultPart {
  return { type: 'result', callId, parts: [{ type: 'text', text }] };
}

const text = (words: string) => ({ type: 'text' as const, text: words });
const look = { name: 'look', parameters: { type: 'object', properties: {} } };

describe('turns', () => {
  test('results of one turn come first, in the order of the calls, though the client sent them apart', () => {
    const { body } = encode({
      turns: [
        user('Go'),
        assistant(call('a'), call('b')),
        { role: 'user', parts: [text('And then?'), result('b', 'two')] },
        { role: 'user', parts: [result('a', 'one')] },
      ],
    });
    assert.deepEqual(
      body.messages.map((message: { role: string }) => message.role),
      ['user', 'assistant', 'user'],
    );
    assert.deepEqual(body.messages[2].content, [
      { type: 'tool_result', tool_use_id: 'a', content: 'one' },
      { type: 'tool_result', tool_use_id: 'b', content: 'two' },
      { type: 'text', text: 'And then?' },
    ]);
  });

  test('a missing result is an error result, also at the end', () => {
    const { body } = encode({ turns: [user('Go'), assistant(call('a'))] });
    assert.equal(body.messages[2].role, 'user');
    assert.equal(body.messages[2].content[0].is_error, true);
  });

  test('a failed result without a visible word has words, because an empty one is refused', () => {
    const contentOf = (parts: ResultPart['parts'], isError: boolean) => {
      const failed: ResultPart = { type: 'result', callId: 'a', parts, ...(isError && { isError: true }) };
      return encode({ turns: [user('Go'), assistant(call('a')), { role: 'user', parts: [failed] }] }).body.messages[2]
        .content;
    };
    const block = { type: 'tool_result', tool_use_id: 'a' };
    const words = 'The tool failed without a message.';
    for (const parts of [[], [text(' \n')]])
      assert.deepEqual(contentOf(parts, true), [{ ...block, content: words, is_error: true }]);
    assert.deepEqual(contentOf([], false), [{ ...block, content: '' }]);
  });

  test('a result without its call is refused with its id', () => {
    assert.throws(() => encode({ turns: [user('Go'), { role: 'user', parts: [result('x')] }] }), /"x"/);
  });

  test('invalid call ids are replaced, and stay unique', () => {
    const { body } = encode({
      turns: [
        user('Go'),
        assistant(call('call:1.x'), call('call_1_x')),
        { role: 'user', parts: [result('call:1.x', 'dots'), result('call_1_x', 'lines')] },
        assistant(call('call:1.x')),
        { role: 'user', parts: [result('call:1.x', 'again')] },
      ],
    });
    const uses = body.messages.flatMap((message: { content: { type: string; id: string }[] }) =>
      message.content.filter((block) => block.type === 'tool_use').map((block) => block.id),
    );
    assert.equal(new Set(uses).size, 3);
    for (const id of uses) assert.match(id, /^[a-zA-Z0-9_-]+$/);
    assert.deepEqual(
      body.messages[2].content.map((block: { tool_use_id: string }) => block.tool_use_id),
      uses.slice(0, 2),
    );
    assert.equal(body.messages[4].content[0].tool_use_id, uses[2]);
  });

  test('texts stand before calls, but not across thinking', () => {
    const thinking = {
      type: 'reasoning',
      text: 'Hm.',
      opaque: { kind: 'signature', value: 's', origin: ORIGIN },
    } as const;
    const { body } = encode({
      turns: [
        user('Go'),
        assistant(call('a'), text('One'), thinking, call('b'), text('Two')),
        { role: 'user', parts: [] },
      ],
    });
    const types = body.messages[1].content.map((block: { type: string }) => block.type);
    assert.deepEqual(types, ['text', 'tool_use', 'thinking', 'text', 'tool_use']);
  });

  test('blank texts are not sent, and the first message is a user message', () => {
    const { body } = encode({ turns: [assistant(text('Hello')), user(' \n'), user('Hi')] });
    assert.deepEqual(
      body.messages.map((message: { role: string }) => message.role),
      ['user', 'assistant', 'user'],
    );
    assert.deepEqual(body.messages[2].content, [{ type: 'text', text: 'Hi' }]);
    assert.equal(encode({ turns: [{ role: 'system', parts: [text('Be kind')] }] }).body.messages.length, 1);
  });

  test("system turns: leading ones apart, later ones by the model's rule", () => {
    const turns: Turn[] = [
      { role: 'system', parts: [text('One')] },
      { role: 'system', parts: [text('Two')] },
      user('Hi'),
      { role: 'system', parts: [text('Three')] },
    ];
    const newest = encode({ turns }).body;
    assert.deepEqual(
      newest.system.map((block: { text: string }) => block.text),
      ['One', 'Two'],
    );
    assert.deepEqual(newest.messages[1], { role: 'system', content: [{ type: 'text', text: 'Three' }] });
    const older = encode({ turns }, { midSystem: false }).body;
    assert.equal(older.messages.length, 1);
    assert.equal(older.messages[0].content[1].text, '<system>\nThree\n</system>');
  });

  test('a later system message follows one of the user and precedes an answer, or stands among the user’s words', () => {
    const system = (words: string): Turn => ({ role: 'system', parts: [text(words)] });
    const shown = (...turns: Turn[]) =>
      encode({ turns }).body.messages.map(({ role, content }: { role: string; content: { text: string }[] }) => [
        role,
        ...content.map((block) => block.text ?? block),
      ]);
    assert.deepEqual(
      shown(user('A'), system('S'), user('B'), system('T'), assistant(text('C')), system('U'), user('D')),
      [
        ['user', 'A', 'B'],
        ['system', 'S', 'T'],
        ['assistant', 'C'],
        ['user', 'D'],
        ['system', 'U'],
      ],
    );
    assert.deepEqual(shown(user('A'), assistant(text('C')), system('S')), [
      ['user', 'A'],
      ['assistant', 'C'],
      ['user', '<system>\nS\n</system>'],
    ]);
  });

  test('a prefill is refused by the newest models, trimmed for others', () => {
    const turns = [user('A colour?'), assistant(text('It is '))];
    assert.throws(() => encode({ turns }), { code: 'unsupported_parameter', param: 'turns' });
    assert.equal(encode({ turns }, { prefill: true }).body.messages[1].content[0].text, 'It is');
  });
});

test('media of earlier answers, which no turn of the assistant may hold, are named in their place', () => {
  const picture: MediaPart = { type: 'media', kind: 'image', mime: 'image/png', data: 'iVBORw0KGgo=' };
  const speech: MediaPart = { type: 'media', kind: 'audio', data: 'aGk=', transcript: 'Hi.' };
  const { body, dropped } = encode({ turns: [user('Draw'), assistant(text('Here:'), picture, speech), user('Again')] });
  assert.deepEqual(
    body.messages[1].content.map((block: { text: string }) => block.text),
    ['Here:', '[image]', 'Hi.'],
  );
  assert.deepEqual(dropped, ['turns.parts.image']);
  const stored: MediaPart = { type: 'media', kind: 'audio', fileId: 'audio_1' };
  assert.throws(() => encode({ turns: [user('Go'), assistant(stored), user('On')] }), { code: 'unsupported_modality' });
});

describe('parts', () => {
  const media = (part: Partial<MediaPart>): ChatRequest['turns'] => [
    { role: 'user', parts: [{ type: 'media', kind: 'image', ...part }] },
  ];

  test('images: four types, sniffed where none is named; https only', () => {
    const png = 'iVBORw0KGgoAAAANSUhEUg==';
    const { body } = encode({ turns: media({ data: png }) });
    assert.equal(body.messages[0].content[0].source.media_type, 'image/png');
    assert.throws(() => encode({ turns: media({ data: png, mime: 'image/tiff' }) }), { code: 'unsupported_modality' });
    assert.throws(() => encode({ turns: media({ url: 'http://example.com/a.png' }) }), {
      code: 'unsupported_modality',
    });
    assert.throws(() => encode({ turns: media({ url: 'data:image/png;base64,AA' }) }), {
      code: 'unsupported_modality',
    });
    assert.throws(() => encode({ turns: media({ fileId: 'file_1' }) }), { code: 'unsupported_modality' });
  });

  test('audio and video are refused before any call, images by models that read none', () => {
    for (const kind of ['audio', 'video'] as const) {
      assert.throws(() => encode({ turns: media({ kind, data: 'AA' }) }), { code: 'unsupported_modality' });
    }
    const rules: ModelRules = { inputModalities: ['text'] };
    assert.throws(() => encode({ turns: media({ url: 'https://example.com/a.png' }) }, rules), /images/);
  });

  test('documents: PDF as it is, text as text', () => {
    const document = { kind: 'document', title: 'a', context: 'b', cite: true } as const;
    const plain = encode({
      turns: media({ ...document, mime: 'text/markdown', data: Buffer.from('# Hi').toString('base64') }),
    });
    assert.deepEqual(plain.body.messages[0].content[0], {
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: '# Hi' },
      title: 'a',
      context: 'b',
      citations: { enabled: true },
    });
    assert.throws(
      () => encode({ turns: media({ ...document, mime: 'application/zip', data: 'AA' }) }),
      /application\/zip/,
    );
  });

  test('a provider receives only its own state', () => {
    const reasoning = (origin: string | undefined, kind: 'signature' | 'redacted' = 'signature') =>
      ({ type: 'reasoning', text: 'Hm.', opaque: { kind, value: 'v', origin } }) as const;
    const { body } = encode({
      turns: [
        user('Hi'),
        assistant(
          reasoning(ORIGIN),
          reasoning(ORIGIN, 'redacted'),
          reasoning('google/gemini'),
          reasoning(undefined),
          text('Hello'),
        ),
        user('More'),
      ],
    });
    assert.deepEqual(body.messages[1].content, [
      { type: 'thinking', thinking: 'Hm.', signature: 'v' },
      { type: 'redacted_thinking', data: 'v' },
      { type: 'text', text: 'Hello' },
    ]);
  });

  test('a signature returned on a call is placed before it, once', () => {
    const opaque = { kind: 'signature', value: 'v', origin: ORIGIN } as const;
    const turns = [user('Hi'), assistant(call('a', { opaque }), call('b', { opaque })), user('More')];
    assert.deepEqual(
      encode({ turns }).body.messages[1].content.map((block: { type: string }) => block.type),
      ['thinking', 'tool_use', 'tool_use'],
    );
  });

  test('thinking without its text that a Responses client returns stands between the texts, where it was', () => {
    const state = wrap({ kind: 'signature', value: 'v', origin: ORIGIN });
    const said = (value: string) => ({ role: 'assistant', content: [{ type: 'output_text', text: value }] });
    const { turns } = decodeItems([
      { role: 'user', content: 'Hi' },
      said('First.'),
      { type: 'reasoning', summary: [], encrypted_content: state },
      said('Second.'),
      { role: 'user', content: 'More' },
    ]);
    assert.deepEqual(encode({ turns }).body.messages[1].content, [
      { type: 'text', text: 'First.' },
      { type: 'thinking', thinking: '', signature: 'v' },
      { type: 'text', text: 'Second.' },
    ]);
  });

  test('thinking at the end of an answer, as the output limit leaves it, is not sent', () => {
    const thought = (value: string) =>
      ({ type: 'reasoning', text: 'Hm.', opaque: { kind: 'signature', value, origin: ORIGIN } }) as const;
    const turns = [
      user('Hi'),
      assistant(thought('a')),
      user('Go on'),
      assistant(text('Yes'), thought('b')),
      user('And?'),
    ];
    assert.deepEqual(encode({ turns }).body.messages, [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'text', text: 'Go on' },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Yes' }] },
      { role: 'user', content: [{ type: 'text', text: 'And?' }] },
    ]);
  });

  test('arguments: long numbers keep their digits, broken ones are shown', () => {
    const turns = (args: string) => [user('Hi'), assistant(call('a', { args })), user('More')];
    const { body } = encode({ turns: turns('{"id":12345678901234567890}') });
    assert.ok(JSON.stringify(body).includes('12345678901234567890'));
    assert.deepEqual(encode({ turns: turns('{"a":') }).body.messages[1].content[0].input, { rawInvalidInput: '{"a":' });
    assert.deepEqual(encode({ turns: turns('') }).body.messages[1].content[0].input, {});
  });
});

describe('parameters', () => {
  test("max_tokens: the client's, the model's, or 4096", () => {
    assert.equal(encode({ maxTokens: 5 }, { maxOutput: 64_000 }).body.max_tokens, 5);
    assert.equal(encode({}, { maxOutput: 64_000 }).body.max_tokens, 64_000);
    assert.equal(encode({}).body.max_tokens, 4096);
  });

  test('sampling: clamped, one of two, none with thinking, none for the newest', () => {
    const sampling = { temperature: 1.7, topP: 0.9, topK: 5 };
    const always = encode(sampling, { sampling: 'always' });
    assert.equal(always.body.temperature, 1);
    assert.equal(always.body.top_k, 5);
    assert.deepEqual(always.dropped, ['topP']);
    assert.equal(encode({ topP: 0.9 }, { sampling: 'without-reasoning' }).body.top_p, 0.9);
    assert.deepEqual(encode(sampling).dropped, ['temperature', 'topP', 'topK']);
    const thinking = encode(
      { ...sampling, reasoning: { effort: 'high' } },
      { sampling: 'always', reasoning: 'budget', maxOutput: 64_000 },
    );
    assert.deepEqual(thinking.dropped, ['temperature', 'topP', 'topK']);
  });

  test('unsupported parameters are dropped and named', () => {
    const { dropped } = encode({
      seed: 1,
      frequencyPenalty: 1,
      presencePenalty: 1,
      logitBias: {},
      logprobs: 2,
      verbosity: 'low',
    });
    assert.deepEqual(dropped.sort(), [
      'frequencyPenalty',
      'logitBias',
      'logprobs',
      'presencePenalty',
      'seed',
      'verbosity',
    ]);
  });

  test('image details and participant names are dropped and named', () => {
    const image = { type: 'media', kind: 'image', url: 'https://example.com/a.png', detail: 'low' } as const;
    const { dropped } = encode({ turns: [{ role: 'user', name: 'ann', parts: [image] }] });
    assert.deepEqual(dropped, ['turns.name', 'turns.parts.detail']);
  });

  test('other output modalities are refused', () => {
    assert.throws(() => encode({ candidates: 2 }), { code: 'unsupported_parameter', param: 'candidates' });
    assert.throws(() => encode({ modalities: ['text', 'image'] }), {
      code: 'unsupported_modality',
      param: 'modalities',
    });
    assert.doesNotThrow(() => encode({ candidates: 1, modalities: ['text'] }));
  });

  test('blank stop sequences are left out', () => {
    assert.deepEqual(encode({ stop: ['END', ' ', ''] }).body.stop_sequences, ['END']);
    assert.ok(!('stop_sequences' in encode({ stop: ['\n'] }).body));
  });

  test('user and tier', () => {
    assert.deepEqual(encode({ user: 'u' }).body.metadata, { user_id: 'u' });
    assert.deepEqual(encode({ user: `u${'v'.repeat(256)}` }).body.metadata, { user_id: 'v'.repeat(256) });
    assert.equal(encode({ tier: 'default' }).body.service_tier, 'standard_only');
    for (const tier of ['flex', 'ultrafast'] as const) {
      const { body, dropped } = encode({ tier });
      assert.deepEqual([body.service_tier, dropped], [undefined, ['tier']]);
    }
  });

  test('at most four cache marks, the last ones; long lifetimes become an hour', () => {
    const part = (ttl: '5m' | '30m') => ({ type: 'text', text: 'x', cache: { ttl } }) as const;
    const parts = [part('5m'), part('30m'), part('30m'), part('30m'), part('30m')];
    const [message] = encode({ turns: [{ role: 'user', parts }] }).body.messages;
    const marks = message.content.map((block: { cache_control?: unknown }) => block.cache_control);
    assert.deepEqual(marks, [undefined, ...Array(4).fill({ type: 'ephemeral', ttl: '1h' })]);
  });
});

describe('tools', () => {
  test('forced choices: as they are, or in words for models that reject them', () => {
    const forced = { tools: [look], toolChoice: { type: 'named', name: 'look' } } as const;
    const older = encode({ ...forced, tools: [look], parallelCalls: false }, { forcedChoice: true }).body;
    assert.deepEqual(older.tool_choice, { type: 'tool', name: 'look', disable_parallel_tool_use: true });
    const newest = encode({ ...forced, tools: [look] }).body;
    assert.deepEqual(newest.tool_choice, { type: 'auto' });
    assert.match(newest.system.at(-1).text, /look/);
  });

  test('a forced choice and thinking exclude each other', () => {
    const request: Partial<ChatRequest> = {
      tools: [look],
      toolChoice: { type: 'required' },
      reasoning: { effort: 'high' },
    };
    const { body, dropped } = encode(request, { forcedChoice: true });
    assert.deepEqual(body.tool_choice, { type: 'any' });
    assert.ok(!('thinking' in body));
    assert.deepEqual(dropped, ['reasoning']);
  });

  test('only allowed tools are sent', () => {
    const tools = [look, { name: 'hear' }, { name: 'smell' }];
    const toolChoice: ToolChoice = { type: 'allowed', tools: [{ name: 'hear' }, { name: 'smell' }], required: false };
    const { body } = encode({ tools, toolChoice });
    assert.deepEqual(
      body.tools.map((tool: { name: string }) => tool.name),
      ['hear', 'smell'],
    );
    assert.deepEqual(body.tool_choice, { type: 'auto' });
    assert.deepEqual(body.tools[0].input_schema, { type: 'object', properties: {} });
  });

  test('a free-text tool takes one string', () => {
    const { body } = encode({ tools: [{ name: 'run', custom: {} }] });
    assert.deepEqual(body.tools[0].input_schema.required, ['input']);
  });

  test('strict tools obey the output dialect, up to twenty of them', () => {
    const tool = (index: number) => ({
      name: `t${index}`,
      strict: true,
      parameters: { type: 'object', properties: { n: { type: 'number', minimum: 1 } } },
    });
    const [first] = encode({ tools: [tool(0)] }).body.tools;
    assert.equal(first.strict, true);
    assert.equal(first.input_schema.additionalProperties, false);
    assert.ok(!('minimum' in first.input_schema.properties.n));
    const many = encode({ tools: Array.from({ length: 21 }, (_, index) => tool(index)) });
    assert.ok(many.body.tools.every((wire: { strict?: boolean }) => wire.strict === undefined));
    assert.deepEqual(many.dropped, ['tools.strict']);
  });

  test('a strict schema that loses a part is named', () => {
    const counts = { type: 'object', additionalProperties: { type: 'number' } };
    const strict = (properties: object) =>
      encode({ tools: [{ name: 't', strict: true, parameters: { type: 'object', properties } }] }).dropped;
    assert.deepEqual(strict({ counts }), ['tools.parameters']);
    assert.deepEqual(strict({ n: { type: 'number', minimum: 1 } }), []);
  });

  test('web search', () => {
    const location = { city: 'Paris' };
    const { body, dropped } = encode({ webSearch: { location, contextSize: 'low' } });
    assert.deepEqual(body.tools[0].user_location, { type: 'approximate', city: 'Paris' });
    assert.deepEqual(dropped, ['webSearch.contextSize']);
  });
});

describe('format', () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'number', minimum: 1 }, o: { oneOf: [{ type: 'string' }] } },
  };

  test("a schema in this protocol's dialect", () => {
    const { format } = encode({ format: { type: 'schema', schema } }).body.output_config;
    assert.equal(format.type, 'json_schema');
    assert.equal(format.schema.additionalProperties, false);
    assert.match(format.schema.properties.n.description, /minimum: 1/);
    assert.deepEqual(format.schema.properties.o, { anyOf: [{ type: 'string' }] });
  });

  test('JSON without a schema, and schemas for older models, are asked for in words', () => {
    assert.match(encode({ format: { type: 'json' } }).body.system[0].text, /JSON/);
    const older = encode({ format: { type: 'schema', schema } }, { schema: false }).body;
    assert.ok(!('output_config' in older));
    assert.match(older.system[0].text, /"minimum":1/);
  });
});

describe('reasoning', () => {
  const budget: ModelRules = { reasoning: 'budget', maxOutput: 64_000 };

  test('adaptive: efforts as the model has them, shown unless hidden', () => {
    const { body } = encode({ reasoning: { effort: 'minimal' } });
    assert.deepEqual(body.thinking, { type: 'adaptive', display: 'summarized' });
    assert.equal(body.output_config.effort, 'low');
    const hidden = encode(
      { reasoning: { effort: 'xhigh', visible: false } },
      { efforts: ['low', 'medium', 'high'] },
    ).body;
    assert.deepEqual([hidden.thinking.display, hidden.output_config.effort], ['omitted', 'high']);
    assert.equal(encode({ reasoning: { budget: 30_000 } }).body.output_config.effort, 'medium');
    assert.ok(!('output_config' in encode({ reasoning: { budget: -1 } }).body));
  });

  test('effort none disables thinking, or uses the lowest effort', () => {
    assert.deepEqual(encode({ reasoning: { effort: 'none' } }, { reasoningOff: true }).body.thinking, {
      type: 'disabled',
    });
    const { body } = encode({ reasoning: { budget: 0 } });
    assert.deepEqual([body.thinking, body.output_config.effort], [undefined, 'low']);
  });

  test('budgets: shares of the output, inside max_tokens, at least 1024', () => {
    assert.equal(encode({ reasoning: { effort: 'high' } }, budget).body.thinking.budget_tokens, 38_400);
    assert.equal(encode({ reasoning: { effort: 'minimal' } }, budget).body.thinking.budget_tokens, 1280);
    assert.equal(encode({ reasoning: { budget: 8000 }, maxTokens: 5000 }, budget).body.thinking.budget_tokens, 4999);
    const small = encode({ reasoning: { effort: 'high' }, maxTokens: 1000 }, budget);
    assert.ok(!('thinking' in small.body));
    assert.deepEqual(small.dropped, ['reasoning']);
  });

  test('a tool loop with thinking of another provider has no budget', () => {
    const turns = [user('Go'), assistant(call('a')), { role: 'user' as const, parts: [result('a')] }];
    assert.deepEqual(encode({ turns, reasoning: { effort: 'high' } }, budget).dropped, ['reasoning']);
  });

  test('models without reasoning drop it', () => {
    assert.deepEqual(encode({ reasoning: { effort: 'high' } }, { reasoning: 'none' }).dropped, ['reasoning']);
    assert.deepEqual(encode({ reasoning: { effort: 'none' } }, { reasoning: 'none' }).dropped, []);
  });
});

test("a relayed history gets its own state back and loses the others'", () => {
  const own = wrap({ kind: 'signature', value: 'v', origin: ORIGIN });
  const other = wrap({ kind: 'signature', value: 'v', origin: 'google/gemini' });
  const body = {
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: own }, text('Hello')] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: other }] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'raw' }] },
      { role: 'system', content: [], output_config: { effort: 'low' } },
    ],
  };
  assert.equal(messages.operations.complete.state?.restore(body, ORIGIN), true);
  assert.deepEqual(body.messages.slice(1), [
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'v' }, text('Hello')] },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'raw' }] },
    { role: 'system', content: [], output_config: { effort: 'low' } },
  ]);
  assert.equal(messages.operations.complete.state?.restore(body, ORIGIN), false);
});
