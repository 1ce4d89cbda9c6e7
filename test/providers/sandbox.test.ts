/** The sandbox's models, asked over the bytes of chat completions. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Check } from 'typebox/schema';
import type { Json } from '../../src/core/json/json.ts';
import { sandbox } from '../../src/providers/sandbox/index.ts';
import { countTokens, tokens } from '../../src/providers/sandbox/tokens.ts';
import { anyText } from '../any-text.ts';
import { assembled, call, chunks, chunksIn, NOW, user, whole } from './sandbox-call.ts';

const WEATHER = {
  type: 'function',
  function: {
    name: 'weather',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        unit: { enum: ['celsius', 'fahrenheit'] },
        days: { type: 'integer', minimum: 1 },
      },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
  },
};
const CLOCK = { type: 'function', function: { name: 'clock' } };
const NOTE = { type: 'custom', custom: { name: 'note' } };
const PNG = `data:image/png;base64,${Buffer.alloc(68).toString('base64')}`;

async function textOf(body: Json): Promise<string> {
  return (await whole(body)).choices[0].message.content;
}

async function callsOf(body: Json): Promise<Json[]> {
  return (await whole(body)).choices[0].message.tool_calls;
}

describe('tokens', () => {
  test('joined are the text', () => {
    fc.assert(fc.property(anyText(), (text) => assert.equal(tokens(text).join(''), text)));
  });

  test('are words and runs of other signs', () => {
    assert.deepEqual(tokens('Hello,  world!\n'), ['Hello', ',', '  world', '!', '\n']);
    assert.deepEqual(tokens('a'.repeat(17)), ['a'.repeat(16), 'a']);
    assert.deepEqual(tokens(''), []);
  });

  test('are counted in linear time', () => assert.equal(countTokens(' '.repeat(1_000_000)), 1));
});

describe('every model', () => {
  const request = fc.record({
    model: fc.constantFrom('echo', 'tools', 'reasoner', 'faulty'),
    messages: fc.array(fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: fc.string() }), {
      minLength: 1,
    }),
    n: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    max_tokens: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
    stop: fc.option(fc.string(), { nil: undefined }),
    logprobs: fc.boolean(),
    tools: fc.constantFrom(undefined, [], [WEATHER], [NOTE, CLOCK]),
    response_format: fc.constantFrom(undefined, { type: 'json_object' }),
    reasoning_effort: fc.constantFrom(undefined, 'none', 'low', 'high'),
  });

  test('says the same in a stream as at once', async () => {
    await fc.assert(
      fc.asyncProperty(request, async (body) => {
        const { id, ...streamed } = assembled(await chunks(body));
        const { id: otherId, ...answer } = await whole(body);
        const withoutIds = (value: Json) => JSON.parse(JSON.stringify(value).replace(/call_[0-9a-f]{24}/g, 'call'));
        assert.match(id, /^chatcmpl-[0-9a-f]{24}$/);
        assert.notEqual(id, otherId);
        assert.deepEqual(withoutIds(streamed), withoutIds(answer));
      }),
    );
  });

  test('says the same twice', async () => {
    await fc.assert(
      fc.asyncProperty(request, async (body) => assert.deepEqual((await call(body)).bytes, (await call(body)).bytes)),
      { numRuns: 20 },
    );
  });

  test('streams by the grammar', async () => {
    const { bytes, headers } = await call(user('echo', 'one two', { stream: true }));
    const stream = chunksIn(bytes);
    assert.equal(headers['content-type'], 'text/event-stream');
    assert.match(bytes.toString(), /}\n\ndata: \[DONE\]\n\n$/);
    assert.deepEqual(
      stream.map(({ choices }) => choices[0].delta),
      [{ role: 'assistant', content: '' }, { content: 'one' }, { content: ' two' }, {}],
    );
    assert.deepEqual(
      stream.map(({ choices }) => choices[0].finish_reason),
      [null, null, null, 'stop'],
    );
    assert.ok(stream.every((chunk) => !('usage' in chunk) && chunk.created === NOW && chunk.id === stream[0].id));
  });

  test('reports usage in a chunk of its own when asked', async () => {
    const stream = await chunks(user('echo', 'one two'));
    assert.deepEqual(
      stream.map(({ usage }) => usage?.total_tokens),
      [undefined, undefined, undefined, undefined, 4],
    );
    assert.ok(stream.slice(0, -1).every((chunk) => !('usage' in chunk)));
    assert.deepEqual(stream.at(-1).choices, []);
  });

  test('is in the list and says that it is no AI', () => {
    const { models = [] } = sandbox.create({ id: 'play' });
    assert.deepEqual(
      models.map(({ id }) => id),
      ['play/echo', 'play/tools', 'play/reasoner', 'play/faulty', 'play/embed', 'play/video'],
    );
    for (const { name, description, pricing, ownedBy } of models) {
      assert.match(name, /\(no AI\)$/);
      assert.match(description, /^No AI model: /);
      assert.deepEqual({ pricing, ownedBy }, { pricing: { prompt: '0', completion: '0' }, ownedBy: 'sandbox' });
    }
  });
});

describe('echo', () => {
  test('repeats the last text of the user, and counts', async () => {
    const messages = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'ok' },
      { role: 'user', content: '  Hello,\n world! ' },
    ];
    const { choices, usage } = await whole({ model: 'echo', messages });
    assert.equal(choices[0].message.content, '  Hello,\n world! ');
    assert.equal(choices[0].finish_reason, 'stop');
    assert.deepEqual(usage, {
      prompt_tokens: 3 + 1 + 1 + 5,
      completion_tokens: 5,
      total_tokens: 15,
      completion_tokens_details: { reasoning_tokens: 0 },
    });
  });

  test('repeats any text exactly', async () => {
    await fc.assert(fc.asyncProperty(anyText(), async (text) => assert.equal(await textOf(user('echo', text)), text)));
  });

  test('names what it received besides text', async () => {
    const parts = [
      { type: 'text', text: 'Look:' },
      { type: 'image_url', image_url: { url: PNG } },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
      { type: 'file', file: { file_id: 'file-1' } },
      { type: 'input_audio', input_audio: { format: 'wav', data: 'AA==' } },
      { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAA=' } },
      { type: 'image_url', image_url: { url: 'data:image/svg+xml,%3Csvg/%3E' } },
      { type: 'surprise' },
    ];
    assert.deepEqual((await textOf(user('echo', parts))).split('\n'), [
      'Look:',
      '[image image/png, 68 bytes]',
      '[image https://example.com/a.png]',
      '[document a.pdf application/pdf, 3 bytes]',
      '[document file-1]',
      '[audio audio/wav, 1 byte]',
      '[video video/mp4, 2 bytes]',
      '[image image/svg+xml, 6 bytes]',
      '[part surprise]',
    ]);
  });

  test('answers an empty message with nothing', async () => {
    for (const content of ['', [], null]) assert.equal(await textOf(user('echo', content)), '');
    assert.equal(await textOf({ model: 'echo', messages: [{ role: 'system', content: 'Be kind.' }] }), '');
  });

  test('stops at the limit and at stop sequences', async () => {
    const long = await whole(user('echo', 'one two three', { max_completion_tokens: 2 }));
    assert.equal(long.choices[0].message.content, 'one two');
    assert.equal(long.choices[0].finish_reason, 'length');
    assert.equal(long.usage.completion_tokens, 2);
    const stopped = await whole(user('echo', 'one two three', { stop: ['three', ' two'] }));
    assert.equal(stopped.choices[0].message.content, 'one');
    assert.equal(stopped.choices[0].finish_reason, 'stop');
  });

  test('gives several answers', async () => {
    const { choices, usage } = await whole(user('echo', 'one two', { n: 3 }));
    assert.deepEqual(
      choices.map(({ index, message }: Json) => [index, message.content]),
      [
        [0, 'one two'],
        [1, 'one two'],
        [2, 'one two'],
      ],
    );
    assert.equal(usage.completion_tokens, 6);
  });

  test('has log probabilities of 0', async () => {
    const { choices } = await whole(user('echo', 'é!', { logprobs: true, top_logprobs: 2 }));
    const accent = { token: 'é', logprob: 0, bytes: [0xc3, 0xa9] };
    const mark = { token: '!', logprob: 0, bytes: [0x21] };
    assert.deepEqual(choices[0].logprobs, {
      content: [
        { ...accent, top_logprobs: [accent] },
        { ...mark, top_logprobs: [mark] },
      ],
      refusal: null,
    });
  });

  test('puts its words into the wanted JSON', async () => {
    assert.deepEqual(JSON.parse(await textOf(user('echo', 'say "hi"', { response_format: { type: 'json_object' } }))), {
      text: 'say "hi"',
    });
    const schema = {
      type: 'object',
      properties: { answer: { type: 'string' }, sure: { type: 'boolean' } },
      required: ['answer', 'sure'],
      additionalProperties: false,
    };
    const format = { type: 'json_schema', json_schema: { name: 'reply', strict: true, schema } };
    const reply = JSON.parse(await textOf(user('echo', 'hi', { response_format: format })));
    assert.ok(Check(schema, reply));
    assert.equal(reply.answer, 'hi');
  });
});

describe('tools', () => {
  test('calls the first tool with fitting arguments, in fragments', async () => {
    const body = user('tools', 'rm -rf /', { tools: [WEATHER, CLOCK] });
    const { choices } = await whole(body);
    const [{ id, type, function: called }, ...others] = choices[0].message.tool_calls;
    assert.deepEqual(
      { type, others, name: called.name, finish: choices[0].finish_reason, content: choices[0].message.content },
      {
        type: 'function',
        others: [],
        name: 'weather',
        finish: 'tool_calls',
        content: null,
      },
    );
    assert.match(id, /^call_[0-9a-f]{24}_0_0$/);
    assert.ok(Check(WEATHER.function.parameters as Json, JSON.parse(called.arguments)));
    assert.doesNotMatch(called.arguments, /rm/);
    const deltas = (await chunks(body)).flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    assert.equal(deltas[0].function.arguments, '');
    assert.ok(deltas.length > 3);
    assert.ok(deltas.slice(1).every((delta) => delta.id === undefined && delta.index === 0));
  });

  test('calls all tools in parallel when told to and allowed to', async () => {
    const body = user('tools', 'all in parallel please', { tools: [WEATHER, CLOCK, NOTE] });
    const calls = await callsOf(body);
    assert.deepEqual(
      calls.map((made) => (made.function ?? made.custom).name),
      ['weather', 'clock', 'note'],
    );
    assert.equal(calls[1].function.arguments, '{}');
    assert.equal(calls[2].custom.input, 'sandbox');
    assert.equal(new Set(calls.map(({ id }) => id)).size, 3);
    assert.equal((await callsOf({ ...body, parallel_tool_calls: false })).length, 1);
  });

  test('obeys the choice', async () => {
    const body = user('tools', 'go', { tools: [WEATHER, CLOCK] });
    const named = { type: 'function', function: { name: 'clock' } };
    const nameOf = async (choice: Json) => (await callsOf({ ...body, tool_choice: choice }))[0].function.name;
    assert.equal(await nameOf(named), 'clock');
    assert.equal(await nameOf('required'), 'weather');
    assert.equal(await nameOf({ type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named] } }), 'clock');
    assert.match(await textOf({ ...body, tool_choice: 'none' }), /tool_choice is none/);
    const unknown = await call({ ...body, tool_choice: { type: 'function', function: { name: 'bomb' } } });
    assert.equal(unknown.status, 400);
  });

  test('repeats the results', async () => {
    const calls = [
      { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } },
      { id: 'c2', type: 'function', function: { name: 'clock', arguments: '{}' } },
    ];
    const messages = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
      { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'noon' }] },
    ];
    const body = { model: 'tools', messages, tools: [WEATHER, CLOCK] };
    const told = 'weather answered: sunny\nclock answered: noon';
    assert.equal(await textOf(body), told);
    assert.equal(await textOf({ ...body, messages: [...messages, { role: 'user', content: 'a reminder' }] }), told);
    const next = [...messages, { role: 'assistant', content: 'done' }, { role: 'user', content: 'again' }];
    assert.equal((await callsOf({ ...body, messages: next })).length, 1);
  });

  test('says so when there are none', async () => {
    assert.match(await textOf(user('tools', 'go')), /^No tools were offered/);
  });

  test('may be cut off in the arguments', async () => {
    const { choices } = await whole(user('tools', 'go', { tools: [WEATHER], max_tokens: 3 }));
    assert.equal(choices[0].finish_reason, 'length');
    assert.throws(() => JSON.parse(choices[0].message.tool_calls[0].function.arguments));
  });
});

describe('reasoner', () => {
  const reasoningTokens = async (more: Json) =>
    (await whole(user('reasoner', 'why is that', more))).usage.completion_tokens_details.reasoning_tokens;

  test('thinks before it answers', async () => {
    const { message } = (await whole(user('reasoner', 'why', { reasoning_effort: 'low' }))).choices[0];
    assert.equal(message.content, 'why');
    assert.equal(message.reasoning, 'Step 1: the user wrote "why".\nStep 2: no word is left to look at.');
    assert.equal(message.reasoning_content, message.reasoning);
    const kinds = (await chunks(user('reasoner', 'why'))).flatMap(({ choices }) =>
      Object.keys(choices[0]?.delta ?? {}),
    );
    assert.ok(kinds.lastIndexOf('reasoning') < kinds.indexOf('content', 2));
  });

  test('thinks as long as it is told', async () => {
    const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
    const counts = await Promise.all(efforts.map((effort) => reasoningTokens({ reasoning_effort: effort })));
    assert.equal(counts[0], 0);
    assert.deepEqual(
      counts,
      counts.toSorted((one, other) => one - other),
    );
    assert.equal(new Set(counts).size, efforts.length);
    assert.equal(await reasoningTokens({ reasoning: { enabled: false } }), 0);
    assert.equal(await reasoningTokens({ reasoning: { max_tokens: 5 } }), 5);
  });

  test('hides its reasoning when told, and still counts it', async () => {
    const body = user('reasoner', 'why', { reasoning: { exclude: true } });
    const { choices, usage } = await whole(body);
    assert.equal(choices[0].message.reasoning, undefined);
    assert.ok(usage.completion_tokens_details.reasoning_tokens > 0);
    assert.ok((await chunks(body)).every((chunk) => chunk.choices[0]?.delta.reasoning === undefined));
  });

  test('calls tools too', async () => {
    const { message } = (await whole(user('reasoner', 'why', { tools: [CLOCK] }))).choices[0];
    assert.equal(message.tool_calls[0].function.name, 'clock');
    assert.match(message.reasoning, /^Step 1/);
  });
});

describe('a bad request', () => {
  const cases: [string, Json, number, string, string | null][] = [
    ['an unknown model', user('gpt', 'hi'), 404, 'model_not_found', 'model'],
    ['a model from the prototype', user('constructor', 'hi'), 404, 'model_not_found', 'model'],
    ['bytes that are no JSON', Buffer.from('{'), 400, 'invalid_request', null],
    ['no messages', { model: 'echo', messages: [] }, 400, 'invalid_request', 'messages'],
    [
      'a role nobody has',
      { model: 'echo', messages: [{ role: 'king', content: '' }] },
      400,
      'invalid_request',
      'messages[0].role',
    ],
    ['no answer at all', user('echo', 'hi', { n: 0 }), 400, 'invalid_request', 'n'],
    ['a limit of nothing', user('echo', 'hi', { max_tokens: 0 }), 400, 'invalid_request', 'max_tokens'],
    ['too much text', user('echo', 'a '.repeat(140_000)), 400, 'context_length_exceeded', 'messages'],
    [
      'a schema that nothing fits',
      user('echo', 'hi', {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'x', schema: { type: 'integer', minimum: 2, maximum: 1 } },
        },
      }),
      400,
      'invalid_request',
      'response_format.json_schema.schema',
    ],
  ];
  for (const [name, body, expected, code, param] of cases) {
    test(`with ${name}`, async () => {
      const { status, bytes } = await call(body);
      const { error } = JSON.parse(bytes.toString());
      assert.deepEqual({ status, code: error.code, param: error.param }, { status: expected, code, param });
      assert.equal(error.type, 'invalid_request_error');
    });
  }

  test('with null in optional fields is a good one', async () => {
    const nulls = {
      max_tokens: null,
      stop: null,
      n: null,
      tools: null,
      tool_choice: null,
      response_format: null,
      reasoning_effort: null,
    };
    assert.equal(await textOf(user('echo', 'hi', nulls)), 'hi');
  });
});
