import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallPart, ChatRequest, Part, ReasoningRequest, Tool, Turn } from '../../src/core/chat.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { read } from '../../src/core/json/json.ts';
import type { ModelRules } from '../../src/core/model.ts';
import { wrap } from '../../src/core/opaque.ts';
import { generate } from '../../src/protocols/generate/index.ts';

const ORIGIN = 'google/gemini';

const text = (value: string): Part => ({ type: 'text', text: value });
const user = (...parts: Part[]): Turn => ({ role: 'user', parts });
const assistant = (...parts: Part[]): Turn => ({ role: 'assistant', parts });
const system = (value: string): Turn => ({ role: 'system', parts: [text(value)] });
const call = (id: string, name = 'f', more: Partial<CallPart> = {}): CallPart => ({
  type: 'call',
  id,
  name,
  args: '{}',
  ...more,
});
const result = (callId: string, value: string, ...more: Part[]): Part => ({
  type: 'result',
  callId,
  parts: [text(value), ...more],
});

function encode(request: Partial<ChatRequest>, rules: ModelRules = {}) {
  const whole: ChatRequest = { stream: false, turns: [user(text('Hi'))], tools: [], dropped: [], ...request };
  return generate.operations.complete.encodeRequest(whole, { origin: ORIGIN, model: 'm', rules });
}

function contents(turns: Turn[], rules?: ModelRules) {
  return encode({ turns }, rules).body.contents;
}

function refusal(work: () => unknown): [string, string] {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return [error.code, error.message];
  }
  return assert.fail('nothing was thrown');
}

describe('turns', () => {
  test('leading system turns become the instruction, later ones user content', () => {
    const { body } = encode({
      turns: [system('A'), system('B'), user(text('Hi')), system('C'), assistant(text('Yes'))],
    });
    assert.deepEqual(body.systemInstruction, { parts: [{ text: 'A' }, { text: 'B' }] });
    assert.deepEqual(body.contents, [
      { role: 'user', parts: [{ text: 'Hi' }, { text: 'C' }] },
      { role: 'model', parts: [{ text: 'Yes' }] },
    ]);
  });

  test('there is always a first user turn', () => {
    assert.deepEqual(contents([system('A')]), [{ role: 'user', parts: [{ text: '.' }] }]);
    assert.equal(contents([assistant(text('Hello')), user(text('Hi'))])[0].role, 'user');
  });

  test('turns without content for this model are removed, and their neighbours are joined', () => {
    const turns = [user(text('a')), assistant({ type: 'reasoning', text: 'Hm.' }), user(text('b'), text(''))];
    assert.deepEqual(contents(turns), [{ role: 'user', parts: [{ text: 'a' }, { text: 'b' }] }]);
  });
});

describe('calls and results', () => {
  const ask = user(text('Go'));

  test('results stand in the order of their calls, with names, before other words', () => {
    const turns = [
      ask,
      assistant(call('1', 'f'), call('2', 'g')),
      user(text('And?'), result('2', 'G')),
      user(result('1', 'F')),
    ];
    assert.deepEqual(contents(turns, { reasoning: 'budget' })[2].parts, [
      { functionResponse: { id: '1', name: 'f', response: { output: 'F' } } },
      { functionResponse: { id: '2', name: 'g', response: { output: 'G' } } },
      { text: 'And?' },
    ]);
  });

  test('calls with the same id in different turns are answered separately', () => {
    const turns = [
      ask,
      assistant(call('1')),
      user(result('1', 'first')),
      assistant(call('1')),
      user(result('1', 'second')),
    ];
    const answers = contents(turns).flatMap((content: { parts: { functionResponse?: { response: unknown } }[] }) =>
      content.parts.flatMap((part) => (part.functionResponse ? [part.functionResponse.response] : [])),
    );
    assert.deepEqual(answers, [{ output: 'first' }, { output: 'second' }]);
  });

  test('a result becomes an object', () => {
    const response = (value: string) =>
      contents([ask, assistant(call('1')), user(result('1', value))])[2].parts[0].functionResponse.response;
    assert.deepEqual(response('{"a":1}'), { a: 1 });
    assert.deepEqual(response('[1]'), { output: [1] });
    assert.deepEqual(response('42'), { output: '42' });
    assert.deepEqual(response('{broken'), { output: '{broken' });
    assert.deepEqual(response('{"x":{"$ref":"#"}}'), { output: '{"x":{"$ref":"#"}}' });
    assert.equal(JSON.stringify(response('{"id":12345678901234567890}')), '{"id":12345678901234567890}');
  });

  test('arguments keep their digits, broken ones are empty, free text is a field', () => {
    const args = (more: Partial<CallPart>) =>
      JSON.stringify(contents([ask, assistant(call('1', 'f', more))])[1].parts[0].functionCall.args);
    assert.equal(args({ args: '{"n":12345678901234567890}' }), '{"n":12345678901234567890}');
    assert.equal(args({ args: '{"n":' }), '{}');
    assert.equal(args({ args: 'x = 1', custom: true }), '{"input":"x = 1"}');
  });

  test('media of results stand inside them, or beside them for models that cannot', () => {
    const image: Part = { type: 'media', kind: 'image', mime: 'image/png', data: 'AAAA' };
    const turns = [ask, assistant(call('1'), call('2')), user(result('1', 'A', image), result('2', 'B'))];
    const blob = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
    const inside = contents(turns)[2].parts;
    assert.deepEqual(inside[0].functionResponse.parts, [blob]);
    const beside = contents(turns, { resultMedia: false })[2].parts;
    assert.equal(beside[0].functionResponse.parts, undefined);
    assert.deepEqual(beside[2], blob);
  });
});

describe('state', () => {
  const own = { kind: 'signature', value: 'SIG', origin: ORIGIN } as const;
  const foreign = { kind: 'signature', value: 'SIG', origin: 'other' } as const;
  const STAND_IN = 'skip_thought_signature_validator';
  const signatures = (turns: Turn[], rules?: ModelRules) =>
    contents(turns, rules).flatMap((content: { parts: { thoughtSignature?: string }[] }) =>
      content.parts.map((part) => part.thoughtSignature),
    );

  test('own state is sent on its part, foreign state is not', () => {
    const turns = (opaque: typeof own | typeof foreign) => [
      user(text('Go')),
      assistant({ type: 'text', text: 'a', opaque }),
      user(text('b')),
    ];
    assert.deepEqual(signatures(turns(own)), [undefined, 'SIG', undefined]);
    assert.deepEqual(signatures(turns(foreign)), [undefined, undefined, undefined]);
  });

  test('state returned on a thought moves to the following call', () => {
    const turns = [
      user(text('Go')),
      assistant({ type: 'reasoning', text: '', opaque: own }, call('1')),
      user(result('1', 'A')),
    ];
    assert.deepEqual(signatures(turns), [undefined, 'SIG', undefined]);
  });

  test('the first call of every step of the current turn gets a placeholder signature', () => {
    const steps = [
      user(text('Go')),
      assistant(call('1'), call('2')),
      user(result('1', 'A'), result('2', 'B')),
      assistant(call('3')),
      user(result('3', 'C')),
    ];
    assert.deepEqual(signatures(steps), [undefined, STAND_IN, undefined, undefined, undefined, STAND_IN, undefined]);
    assert.deepEqual(signatures([...steps, assistant(text('Done')), user(text('More'))]).filter(Boolean), []);
    assert.deepEqual(signatures(steps, { reasoning: 'budget' }).filter(Boolean), []);
  });

  test('clients return state wrapped or raw', () => {
    const parts = [
      { text: 'x', thoughtSignature: wrap(own) },
      { text: 'y', thoughtSignature: 'RAW' },
      { functionCall: { name: 'f' }, thoughtSignature: STAND_IN },
    ];
    const decoded = generate.operations.complete.decodeRequest({ contents: [{ role: 'model', parts }] }).turns[0]
      ?.parts;
    assert.deepEqual(
      decoded?.map((part) => 'opaque' in part && part.opaque),
      [own, { kind: 'signature', value: 'RAW' }, false],
    );
  });
});

describe('tools', () => {
  const tool: Tool = {
    name: 'f',
    description: 'Does.',
    parameters: { type: 'object', properties: { a: { const: 'x', pattern: '^x' } } },
  };

  test('schemas are cut to what is accepted', () => {
    assert.deepEqual(encode({ tools: [tool] }).body.tools, [
      {
        functionDeclarations: [
          {
            name: 'f',
            description: 'Does.',
            parametersJsonSchema: { type: 'object', properties: { a: { type: 'string', enum: ['x'] } } },
          },
        ],
      },
    ]);
  });

  test('a tool without arguments has no schema, a free-text tool has one field', () => {
    const [{ functionDeclarations }] = encode({
      tools: [
        { name: 'a', parameters: { type: 'object', properties: {} } },
        { name: 'b', custom: {} },
      ],
    }).body.tools;
    assert.deepEqual(functionDeclarations, [
      { name: 'a' },
      {
        name: 'b',
        parametersJsonSchema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
      },
    ]);
  });

  test('tool choices', () => {
    const mode = (toolChoice: ChatRequest['toolChoice'], rules?: ModelRules) =>
      encode({ tools: [tool], toolChoice }, rules).body.toolConfig.functionCallingConfig;
    assert.deepEqual(mode({ type: 'required' }), { mode: 'ANY' });
    assert.deepEqual(mode({ type: 'named', name: 'f' }), { mode: 'ANY', allowedFunctionNames: ['f'] });
    assert.deepEqual(mode({ type: 'allowed', tools: [{ name: 'f' }], required: false }), {
      mode: 'VALIDATED',
      allowedFunctionNames: ['f'],
    });
    assert.deepEqual(mode({ type: 'required' }, { forcedChoice: false }), { mode: 'AUTO' });
    assert.equal(encode({ toolChoice: { type: 'auto' } }).body.toolConfig, undefined);
  });

  test('web search becomes googleSearch', () => {
    assert.deepEqual(encode({ webSearch: {} }).body.tools, [{ googleSearch: {} }]);
  });

  test('a search alone has no configuration of functions, which would be refused without one', () => {
    for (const toolChoice of [{ type: 'auto' }, { type: 'required' }] as const) {
      const { body, dropped } = encode({ webSearch: {}, toolChoice });
      assert.deepEqual([body.tools, body.toolConfig], [[{ googleSearch: {} }], undefined]);
      assert.deepEqual(dropped, toolChoice.type === 'required' ? ['toolChoice'] : []);
    }
    const { tools, toolConfig } = encode({ tools: [tool], webSearch: {}, toolChoice: { type: 'none' } }).body;
    assert.deepEqual([tools.length, toolConfig.functionCallingConfig.mode], [1, 'NONE']);
  });
});

describe('media', () => {
  const part = (media: Omit<Extract<Part, { type: 'media' }>, 'type'>, rules?: ModelRules) =>
    contents([user({ type: 'media', ...media })], rules)[0].parts[0];

  test('data, addresses and texts', () => {
    assert.deepEqual(part({ kind: 'image', data: 'iVBORw0KGgo=' }), {
      inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' },
    });
    assert.deepEqual(part({ kind: 'image', url: 'https://example.com/a.webp' }), {
      fileData: { fileUri: 'https://example.com/a.webp', mimeType: 'image/webp' },
    });
    assert.deepEqual(part({ kind: 'video', url: 'https://youtu.be/x' }).fileData.mimeType, 'video/mp4');
    assert.deepEqual(part({ kind: 'document', text: 'Body', title: 'Title' }), { text: 'Title\n\nBody' });
  });

  test('unsupported media are refused', () => {
    assert.equal(refusal(() => part({ kind: 'image', url: 'http://example.com/a.png' }))[0], 'invalid_request');
    assert.equal(refusal(() => part({ kind: 'document', fileId: 'file-1' }))[0], 'unsupported_parameter');
    assert.equal(
      refusal(() => part({ kind: 'audio', data: 'AA' }, { inputModalities: ['text'] }))[0],
      'unsupported_modality',
    );
  });
});

describe('parameters', () => {
  test('sampling, format, tier', () => {
    const { body, dropped } = encode(
      {
        maxTokens: 9000,
        temperature: 1.7,
        topP: 0.5,
        topK: 3,
        seed: 2 ** 40 + 5,
        stop: ['a', ''],
        candidates: 2,
        logprobs: 2,
        presencePenalty: 1,
        tier: 'flex',
        format: { type: 'schema', schema: { type: 'object', properties: { a: { type: 'string', minLength: 1 } } } },
      },
      { maxOutput: 8000 },
    );
    assert.deepEqual(body.generationConfig, {
      temperature: 1.7,
      topP: 0.5,
      topK: 3,
      presencePenalty: 1,
      maxOutputTokens: 8000,
      seed: 5,
      stopSequences: ['a'],
      candidateCount: 2,
      responseLogprobs: true,
      logprobs: 2,
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object', properties: { a: { type: 'string' } } },
    });
    assert.equal(body.serviceTier, 'flex');
    assert.deepEqual(dropped, ['format.schema']);
  });

  test('unsupported parameters are dropped and named', () => {
    const { dropped } = encode({
      logitBias: {},
      metadata: {},
      user: 'u',
      cacheKey: 'k',
      verbosity: 'low',
      parallelCalls: false,
      tools: [{ name: 'f' }],
    });
    assert.deepEqual(dropped, ['logitBias', 'metadata', 'user', 'cacheKey', 'verbosity', 'parallelCalls']);
    assert.deepEqual(encode({ presencePenalty: 1, stop: ['x'] }, { penalties: false, stop: false }).dropped, [
      'presencePenalty',
      'stop',
    ]);
  });

  test('more than five stop sequences are refused', () => {
    assert.equal(refusal(() => encode({ stop: ['1', '2', '3', '4', '5', '6'] }))[0], 'unsupported_parameter');
  });

  test('a model without native formats beside tools is asked for the format', () => {
    const { body } = encode({ tools: [{ name: 'f' }], format: { type: 'json' } }, { schemaWithTools: false });
    assert.equal(body.generationConfig, undefined);
    assert.match(body.systemInstruction.parts[0].text, /JSON/);
  });

  test('one resolution for all images', () => {
    const image = (detail: 'low' | 'high' | 'auto'): Part => ({
      type: 'media',
      kind: 'image',
      mime: 'image/png',
      data: 'AA',
      detail,
    });
    assert.equal(
      encode({ turns: [user(image('low'), image('auto'))] }).body.generationConfig.mediaResolution,
      'MEDIA_RESOLUTION_LOW',
    );
    assert.deepEqual(encode({ turns: [user(image('low'), image('high'))] }).dropped, ['turns.parts.detail']);
  });
});

describe('reasoning', () => {
  const thinking = (reasoning: ReasoningRequest, rules?: ModelRules) =>
    encode({ reasoning }, rules).body.generationConfig?.thinkingConfig;

  test('levels', () => {
    assert.deepEqual(thinking({ effort: 'medium' }), { thinkingLevel: 'MEDIUM', includeThoughts: true });
    assert.deepEqual(thinking({ effort: 'max', visible: false }), { thinkingLevel: 'HIGH' });
    assert.deepEqual(thinking({ effort: 'xhigh', visible: false }), { thinkingLevel: 'HIGH' });
    assert.deepEqual(thinking({ effort: 'max', visible: false }, { efforts: ['high', 'xhigh'] }), {
      thinkingLevel: 'XHIGH',
    });
    assert.deepEqual(thinking({ effort: 'none' }), { thinkingLevel: 'MINIMAL' });
    assert.deepEqual(thinking({ effort: 'none' }, { efforts: ['low', 'high'] }), { thinkingLevel: 'LOW' });
    assert.deepEqual(thinking({ effort: 'medium' }, { efforts: ['low', 'high'] }), {
      thinkingLevel: 'LOW',
      includeThoughts: true,
    });
    assert.deepEqual(thinking({ budget: 1000 }), { thinkingLevel: 'MINIMAL', includeThoughts: true });
    assert.deepEqual(thinking({ budget: 60_000 }), { thinkingLevel: 'HIGH', includeThoughts: true });
    assert.deepEqual(thinking({ budget: -1 }), { includeThoughts: true });
  });

  test('budgets', () => {
    const rules: ModelRules = { reasoning: 'budget' };
    assert.deepEqual(thinking({ effort: 'low' }, rules), { thinkingBudget: 6553, includeThoughts: true });
    assert.deepEqual(thinking({ effort: 'max' }, rules), { thinkingBudget: 24_576, includeThoughts: true });
    assert.deepEqual(thinking({ effort: 'none' }, rules), { thinkingBudget: 0 });
    assert.deepEqual(
      thinking({ effort: 'none' }, { ...rules, reasoningOff: false, budget: { min: 128, max: 32_768 } }),
      { thinkingBudget: 128 },
    );
    assert.deepEqual(thinking({ budget: 99_999 }, rules), { thinkingBudget: 24_576, includeThoughts: true });
  });

  test('a budget fits into the output that was asked for', () => {
    const { body } = encode({ reasoning: { effort: 'medium' }, maxTokens: 2000 }, { reasoning: 'budget' });
    assert.equal(body.generationConfig.thinkingConfig.thinkingBudget, 600);
  });

  test('a model without reasoning drops it', () => {
    assert.equal(thinking({ effort: 'high' }, { reasoning: 'none' }), undefined);
    assert.deepEqual(encode({ reasoning: { effort: 'high' } }, { reasoning: 'none' }).dropped, ['reasoning']);
    assert.deepEqual(encode({ reasoning: { effort: 'none' } }, { reasoning: 'none' }).dropped, []);
  });
});

describe('counting', () => {
  test('both bodies are accepted', () => {
    const body = { contents: [{ parts: [{ text: 'Hi' }] }] };
    for (const request of [
      body,
      { generateContentRequest: { model: 'models/a/b', ...body } },
      { generate_content_request: body },
    ]) {
      generate.operations['count-tokens'].check(request);
      assert.deepEqual(generate.operations.complete.decodeRequest(request).turns, [user(text('Hi'))]);
    }
    assert.throws(
      () => generate.operations['count-tokens'].check({ generateContentRequest: {} }),
      /generateContentRequest\.contents is required/,
    );
  });

  test('a token count contains the whole encoded request', () => {
    const target = { origin: ORIGIN, model: 'gemini', rules: {} };
    assert.deepEqual(generate.operations['count-tokens']?.countBody?.({ contents: [] }, target), {
      generateContentRequest: { model: 'models/gemini', contents: [] },
    });
  });
});

test('digits of a client’s arguments survive decoding', () => {
  const body = read(
    '{"contents":[{"role":"model","parts":[{"function_call":{"name":"f","args":{"n":12345678901234567890}}}]}]}',
  );
  const [part] = generate.operations.complete.decodeRequest(body).turns[0]?.parts ?? [];
  assert.equal(part?.type === 'call' && part.args, '{"n":12345678901234567890}');
});

test('pieces of a streamed text that a client returns as parts keep the white space between them', () => {
  const pieces = ['I', ' ', 'look', '\n', '\n', 'twice.'].map((value) => ({ text: value }));
  const parts = [{ text: 'Hm', thought: true }, { text: '.', thought: true }, ...pieces];
  const { turns } = generate.operations.complete.decodeRequest({ contents: [{ role: 'model', parts }] });
  assert.deepEqual(turns, [assistant({ type: 'reasoning', text: 'Hm.' }, text('I look\n\ntwice.'))]);
});
