/** Conformance: what arrives at an upstream that speaks another protocol than the client. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { answerJson, type ProtocolId } from '../gateway/harness.ts';
import { IDS, MODELS, send, speak, useRig, whole } from './rig.ts';

const rig = useRig({
  providers: `
  anthropic: { type: anthropic, base_url: "URL", api_key: k, models: [{ id: claude-opus-5-5 }] }
  openai: { type: openai, base_url: "URL/v1", api_key: k }
  vllm: { type: vllm, base_url: "URL/v1", models: [{ id: m }] }`,
});

/** The body that an upstream got for a chat, messages or generate client's body. */
async function sentFor(protocol: ProtocolId, model: string, change: Json): Promise<Json> {
  await whole(rig, { protocol, model, change });
  return rig.sent().body;
}

/** The error of a request that never left the gateway. */
async function refusal(protocol: ProtocolId, model: string, change: Json): Promise<string> {
  const { status, text } = await send(rig, { protocol, model, change });
  assert.equal(status, 400, text);
  assert.equal(rig.upstream.calls.length, 0, 'the upstream was asked');
  return JSON.parse(text).error.message;
}

const schema = { type: 'object', properties: {} };
const chatTools = ['f', 'g', 'h'].map((name) => ({ type: 'function', function: { name, parameters: schema } }));
const messagesTools = ['f', 'g', 'h'].map((name) => ({ name, input_schema: schema }));

/** A history with calls `1`, `2`, `3`, and results for the ids that are given, in that order. */
const HISTORY: Record<ProtocolId, (calls: string[], results: string[]) => Json> = {
  chat: (calls, results) => ({
    tools: chatTools,
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, tool_calls: calls.map(chatCall) },
      ...results.map((id) => ({ role: 'tool', tool_call_id: id, content: `result ${id}` })),
      { role: 'user', content: 'and now?' },
    ],
  }),
  messages: (calls, results) => ({
    tools: messagesTools,
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: calls.map((id) => ({ type: 'tool_use', id, name: nameOf(id), input: {} })),
      },
      {
        role: 'user',
        content: [
          ...results.map((id) => ({ type: 'tool_result', tool_use_id: id, content: `result ${id}` })),
          { type: 'text', text: 'and now?' },
        ],
      },
    ],
  }),
  generate: (calls, results) => ({
    tools: [{ functionDeclarations: ['f', 'g', 'h'].map((name) => ({ name })) }],
    contents: [
      { role: 'user', parts: [{ text: 'go' }] },
      { role: 'model', parts: calls.map((id) => ({ functionCall: { id, name: nameOf(id), args: {} } })) },
      {
        role: 'user',
        parts: [
          ...results.map((id) => ({
            functionResponse: { id, name: nameOf(id), response: { output: `result ${id}` } },
          })),
          { text: 'and now?' },
        ],
      },
    ],
  }),
};

function nameOf(id: string): string {
  return { call_1: 'f', call_2: 'g', call_3: 'h' }[id] ?? 'f';
}

function chatCall(id: string): Json {
  return { id, type: 'function', function: { name: nameOf(id), arguments: '{}' } };
}

/** Results as an upstream sees them: how many turns hold them, whose they are, what they say. */
const RESULTS: Record<ProtocolId, (body: Json) => { turns: number; names: string[]; texts: string[] }> = {
  chat: ({ messages }) => {
    const results = messages.filter(({ role }: Json) => role === 'tool');
    return {
      turns: results.length,
      names: results.map(({ tool_call_id }: Json) => nameOf(tool_call_id)),
      texts: results.map(({ content }: Json) => JSON.stringify(content)),
    };
  },
  messages: ({ messages }) => {
    const turns = messages.filter(({ content }: Json) => content.some?.(({ type }: Json) => type === 'tool_result'));
    const results = turns.flatMap(({ content }: Json) => content.filter(({ type }: Json) => type === 'tool_result'));
    assert.equal(turns[0]?.content[0].type, 'tool_result', 'results stand first');
    return {
      turns: turns.length,
      names: results.map(({ tool_use_id }: Json) => nameOf(tool_use_id)),
      texts: results.map(({ content }: Json) => JSON.stringify(content)),
    };
  },
  generate: ({ contents }) => {
    const turns = contents.filter(({ parts }: Json) => parts.some((part: Json) => part.functionResponse));
    const results = turns.flatMap(({ parts }: Json) => parts.flatMap((part: Json) => part.functionResponse ?? []));
    return {
      turns: turns.length,
      names: results.map(({ name }: Json) => name),
      texts: results.map(({ response }: Json) => JSON.stringify(response)),
    };
  },
};

const CALLS = ['call_1', 'call_2', 'call_3'];

describe('tool results', () => {
  for (const from of IDS) {
    for (const to of IDS) {
      if (from === to) continue;

      test(`checklist 59: parallel results from ${from} in one turn and in order at ${to}`, async () => {
        const body = await sentFor(from, MODELS[to], HISTORY[from](CALLS, ['call_3', 'call_1', 'call_2']));
        const { turns, names, texts } = RESULTS[to](body);
        if (to !== 'chat') assert.equal(turns, 1);
        assert.deepEqual(to === 'chat' ? names.sort() : names, ['f', 'g', 'h']);
        for (const [index, text] of to === 'chat' ? [] : texts.entries()) assert.ok(text.includes(`call_${index + 1}`));
      });

      test(`checklist 60: a result from ${from} that no call asked for, for ${to}`, async () => {
        const { status, text } = await send(rig, {
          protocol: from,
          model: MODELS[to],
          change: HISTORY[from](['call_1'], ['call_1', 'call_9']),
        });
        assert.equal(status, 400, text);
        assert.match(text, /call_9/);
        assert.equal(rig.upstream.calls.length, 0);
      });

      test(`checklist 60: a result from ${from} that is missing, for ${to}`, async () => {
        const change = HISTORY[from](CALLS, ['call_3', 'call_1']);
        const { status, text } = await send(rig, { protocol: from, model: MODELS[to], change });
        if (status === 400) assert.match(text, /call_2/);
        else assert.deepEqual(RESULTS[to](rig.sent().body).names.sort(), ['f', 'g', 'h']);
      });
    }
  }
});

describe('tool results out of the ordinary', () => {
  const unanswered = {
    tools: chatTools,
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, tool_calls: [chatCall('call_1')] },
    ],
  };
  for (const model of ['b/m', 'c/m']) {
    test(`checklist 60: a history that ends with a call is answered for ${model}`, async () => {
      const body = await sentFor('chat', model, unanswered);
      assert.deepEqual(RESULTS[model === 'b/m' ? 'messages' : 'generate'](body).names, ['f']);
    });
  }

  test('checklist 60: a history that ends with a call is answered for a/m', async () => {
    const asked = { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'f', input: {} }] };
    const messages = [{ role: 'user', content: 'go' }, asked];
    const body = await sentFor('messages', 'a/m', { tools: messagesTools, messages });
    assert.deepEqual(RESULTS.chat(body).names, ['f']);
    assert.equal(body.messages.at(-1).role, 'tool');
  });

  const ask = { functionCall: { name: 'f', args: {} } };
  const contents = [
    { role: 'user', parts: [{ text: 'go' }] },
    { role: 'model', parts: [ask] },
    { role: 'user', parts: [{ text: 'never mind' }] },
    { role: 'model', parts: [ask] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'second' } } }] },
  ];
  for (const model of ['a/m', 'b/m']) {
    test(`checklist 60: a result without an id answers the last turn’s call, for ${model}`, async () => {
      const body = await sentFor('generate', model, { contents, tools: [{ functionDeclarations: [{ name: 'f' }] }] });
      const { texts } = RESULTS[model === 'a/m' ? 'chat' : 'messages'](body);
      assert.equal(texts.length, 2);
      assert.match(texts[1] ?? '', /second/);
    });
  }
});

describe('turns', () => {
  const later = {
    messages: [
      { role: 'user', content: 'one' },
      { role: 'system', content: 'Be brief.' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ],
  };
  test('checklist 61: a late system turn of a messages client is one of chat completions', async () => {
    const { messages } = await sentFor('messages', 'a/m', later);
    assert.deepEqual(
      messages.map(({ role }: Json) => role),
      ['user', 'system', 'assistant', 'user'],
    );
  });
  test('checklist 61: it stands first before servers that want it there', async () => {
    const { messages } = await sentFor('messages', 'vllm/m', { system: 'Be kind.', ...later });
    assert.deepEqual(
      messages.map(({ role }: Json) => role),
      ['system', 'user', 'assistant', 'user'],
    );
    assert.match(JSON.stringify(messages[0].content), /Be kind\..*Be brief\./);
  });
  test('checklist 61: it is words of the user before generate', async () => {
    const { contents } = await sentFor('messages', 'c/m', later);
    assert.deepEqual(
      contents.map(({ role }: Json) => role),
      ['user', 'model', 'user'],
    );
    assert.match(JSON.stringify(contents[0]), /one.*Be brief\./);
  });
  test('checklist 61: it stays where it is, or is marked, before messages models', async () => {
    const change = { messages: [...later.messages] };
    const newest = await sentFor('chat', 'anthropic/claude-opus-4-6', change);
    assert.ok(newest.messages.every(({ role }: Json) => role === 'user' || role === 'assistant'));
    assert.match(JSON.stringify(newest.messages[0]), /<system>.*Be brief\..*<\/system>/);
  });

  const doubled: Record<ProtocolId, Json> = {
    chat: {
      messages: ['user', 'user', 'assistant', 'assistant', 'user'].map((role, i) => ({ role, content: `t${i}` })),
    },
    messages: {
      messages: ['user', 'user', 'assistant', 'assistant', 'user'].map((role, i) => ({ role, content: `t${i}` })),
    },
    generate: {
      contents: ['user', 'user', 'model', 'model', 'user'].map((role, i) => ({ role, parts: [{ text: `t${i}` }] })),
    },
  };
  for (const [from, to] of [
    ['chat', 'messages'],
    ['chat', 'generate'],
    ['generate', 'messages'],
    ['messages', 'generate'],
  ] as const) {
    test(`checklist 62: turns of the same role from ${from} are one at ${to}`, async () => {
      const body = await sentFor(from, MODELS[to], doubled[from]);
      const turns: Json[] = body.messages ?? body.contents;
      assert.deepEqual(
        turns.map(({ role, content, parts }) => [role, (content ?? parts).length]),
        [
          ['user', 2],
          [to === 'messages' ? 'assistant' : 'model', 2],
          ['user', 1],
        ],
      );
    });
  }

  const empty: Record<ProtocolId, Json> = {
    chat: {
      messages: [
        { role: 'system', content: '' },
        { role: 'user', content: [textPart(''), textPart('hi')] },
        { role: 'assistant', content: '' },
        { role: 'assistant', content: '', tool_calls: [chatCall('call_1')] },
        { role: 'tool', tool_call_id: 'call_1', content: '' },
        { role: 'user', content: 'go' },
      ],
      tools: chatTools,
    },
    messages: {
      system: [textPart('')],
      messages: [
        { role: 'user', content: [textPart(''), textPart('hi')] },
        { role: 'assistant', content: '' },
        { role: 'user', content: 'go' },
      ],
    },
    generate: {
      systemInstruction: { parts: [{ text: '' }] },
      contents: [
        { role: 'user', parts: [{ text: '' }, { text: 'hi' }] },
        { role: 'model', parts: [{ text: '' }] },
        { role: 'user', parts: [{ text: 'go' }] },
      ],
    },
  };
  for (const from of IDS) {
    for (const to of ['messages', 'generate'] as const) {
      if (from === to) continue;
      test(`checklist 63: no empty text from ${from} reaches ${to}`, async () => {
        const body = await sentFor(from, MODELS[to], empty[from]);
        const text = JSON.stringify(body);
        assert.ok(!text.includes('"text":""') && !text.includes('"parts":[]'), text);
        const turns: Json[] = body.messages ?? body.contents;
        for (const { content, parts } of turns) assert.ok((content ?? parts).length > 0, text);
        assert.ok(body.system === undefined || body.system.length > 0, text);
      });
    }
  }
});

function textPart(text: string): Json {
  return { type: 'text', text };
}

describe('rules of models', () => {
  const sampling: [model: string, temperature: number | undefined][] = [
    ['anthropic/claude-opus-4-6', 1],
    ['anthropic/claude-haiku-4-5', 1],
    ['anthropic/claude-opus-5', undefined],
    ['anthropic/claude-opus-5-5', undefined],
  ];
  for (const [model, expected] of sampling) {
    test(`checklist 64: temperature 1.7 for ${model}`, async () => {
      const got = await send(rig, { protocol: 'chat', model, change: { temperature: 1.7 } });
      assert.equal(got.status, 200, got.text);
      assert.equal(rig.sent().body.temperature, expected);
      assert.equal(got.headers.get('x-polygate-dropped'), expected === undefined ? 'temperature' : null);
    });
  }

  for (const [version, change] of [
    ['2026-10-21', {}],
    ['2023-06-01', { temperature: 0.5 }],
  ] as const) {
    test(`checklist 65: a messages client of ${version} with ${JSON.stringify(change)}`, async () => {
      rig.answer((call, response) => {
        const strict = call.headers['anthropic-version'] === '2026-10-21';
        if (!strict || call.body.temperature === undefined) return speak({ text: 'Hello' })(call, response);
        return answerJson(response, { type: 'error', error: { type: 'invalid_request_error', message: 'no' } }, 400);
      });
      const headers = { 'anthropic-version': version };
      await whole(rig, { protocol: 'messages', model: 'b/m', change, headers });
      assert.equal(rig.sent().headers['anthropic-version'], version);
      assert.equal(rig.sent().body.temperature, change.temperature);
    });
  }

  test('checklist 65: a temperature of a client of the newest version is kept for models of others', async () => {
    const headers = { 'anthropic-version': '2026-10-21' };
    await whole(rig, { protocol: 'messages', model: 'a/m', change: { temperature: 0.5 }, headers });
    assert.equal(rig.sent().body.temperature, 0.5);
  });

  test('checklist 66: a forced choice is words where the model refuses it', async () => {
    const change = { tools: chatTools, tool_choice: { type: 'function', function: { name: 'g' } } };
    const body = await sentFor('chat', 'anthropic/claude-opus-5-5', change);
    assert.deepEqual(body.tool_choice, { type: 'auto' });
    assert.match(JSON.stringify(body.system), /calling the tool g/);
  });
  test('checklist 66: and stays a choice where the model takes it', async () => {
    const change = { tools: chatTools, tool_choice: 'required' };
    const body = await sentFor('chat', 'anthropic/claude-opus-4-6', change);
    assert.deepEqual(body.tool_choice, { type: 'any' });
  });
});

describe('schemas', () => {
  const rich = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      count: { type: 'integer', minimum: 1, maximum: 9, exclusiveMinimum: 0 },
      name: { type: 'string', minLength: 1, pattern: '^a', format: 'email', default: 'x' },
      kind: { const: 'k' },
      either: { oneOf: [{ type: 'string' }, { type: 'null' }] },
      all: { allOf: [{ type: 'object', properties: {} }] },
      free: { type: 'object', propertyNames: { pattern: 'x' }, additionalProperties: {} },
    },
    required: ['count'],
    additionalProperties: false,
  };
  const format = { response_format: { type: 'json_schema', json_schema: { name: 'r', strict: true, schema: rich } } };

  function keywords(value: Json, found = new Set<string>()): Set<string> {
    for (const [key, item] of Object.entries(value ?? {})) {
      if (!Array.isArray(value) && key !== 'properties') found.add(key);
      if (key === 'properties') for (const inner of Object.values(item as Json)) keywords(inner, found);
      else if (item !== null && typeof item === 'object') keywords(item, found);
    }
    return found;
  }

  test('checklist 67: output_config has only what the messages dialect knows', async () => {
    const { output_config: config } = await sentFor('chat', 'anthropic/claude-opus-5', format);
    assert.equal(config.format.type, 'json_schema');
    const seen = keywords(config.format.schema);
    for (const word of ['minimum', 'exclusiveMinimum', 'minLength', 'pattern', 'oneOf', 'propertyNames'])
      assert.ok(!seen.has(word), word);
    for (const word of ['anyOf', 'const', 'format', 'default']) assert.ok(seen.has(word), word);
    assert.equal(config.format.schema.additionalProperties, false);
    assert.equal(config.format.schema.properties.all.allOf?.[0].additionalProperties ?? false, false);
  });

  test('checklist 67: responseJsonSchema has only what generate knows', async () => {
    const { generationConfig } = await sentFor('chat', 'c/m', format);
    assert.equal(generationConfig.responseMimeType, 'application/json');
    assert.equal(generationConfig.responseSchema, undefined);
    const seen = keywords(generationConfig.responseJsonSchema);
    for (const word of ['const', 'allOf', 'pattern', 'propertyNames', '$schema', 'exclusiveMinimum', 'minLength'])
      assert.ok(!seen.has(word), word);
    for (const word of ['enum', 'minimum', 'required']) assert.ok(seen.has(word), word);
  });

  test('checklist 67: the tool schemas of a coding agent pass to generate', async () => {
    const tools = [
      { name: 'Edit', description: 'edits', input_schema: rich },
      { name: 'Placeholder', description: 'later', defer_loading: true, input_schema: { type: 'object' } },
    ];
    const { tools: sent } = await sentFor('messages', 'c/m', { tools });
    const [{ functionDeclarations: list }] = sent;
    assert.equal(list[0].name, 'Edit');
    assert.ok(!keywords(list[0].parametersJsonSchema).has('$schema'));
  });
});

describe('media', () => {
  const png = 'iVBORw0KGgo=';
  const image = (url: string): Json => ({
    messages: [{ role: 'user', content: [textPart('look'), { type: 'image_url', image_url: { url } }] }],
  });

  test('checklist 68: a data URL is base64 at messages', async () => {
    const { messages } = await sentFor('chat', 'b/m', image(`data:image/png;base64,${png}`));
    const source = { type: 'base64', media_type: 'image/png', data: png };
    assert.deepEqual(messages[0].content[1], { type: 'image', source });
  });
  test('checklist 68: a data URL is base64 at generate', async () => {
    const { contents } = await sentFor('chat', 'c/m', image(`data:image/png;base64,${png}`));
    assert.deepEqual(contents[0].parts[1], { inlineData: { mimeType: 'image/png', data: png } });
  });
  test('checklist 68: an address is passed on to messages', async () => {
    const { messages } = await sentFor('chat', 'b/m', image('https://example.com/a.png'));
    assert.deepEqual(messages[0].content[1].source, { type: 'url', url: 'https://example.com/a.png' });
  });
  test('checklist 68: an address comes to generate with its type', async () => {
    const { contents } = await sentFor('chat', 'c/m', image('https://example.com/a.jpg'));
    assert.deepEqual(contents[0].parts[1].fileData, { fileUri: 'https://example.com/a.jpg', mimeType: 'image/jpeg' });
  });

  const forbidden = [
    ...['http://127.0.0.1/a.png', 'https://localhost/a.png', 'https://10.0.0.1/a', 'https://[::1]/a.png'],
    ...['http://169.254.169.254/latest/meta-data', 'https://0x7f000001/a', 'https://metadata.google.internal/a'],
    ...['file:///etc/passwd', 'ftp://example.com/a.png'],
  ];
  for (const url of forbidden) {
    for (const model of ['b/m', 'c/m']) {
      test(`checklist 68: ${url} is refused for ${model}`, async () => {
        await refusal('chat', model, image(url));
      });
    }
  }

  const sounds: [protocol: ProtocolId, name: string, part: Json][] = [
    ['chat', 'audio', { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } }],
    ['chat', 'video', { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }],
    ['generate', 'audio', { inlineData: { mimeType: 'audio/wav', data: 'aGk=' } }],
    ['generate', 'video', { inlineData: { mimeType: 'video/mp4', data: 'aGk=' } }],
    ['generate', 'video', { fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/a.mp4' } }],
  ];
  for (const [protocol, name, part] of sounds) {
    test(`checklist 69: ${name} (${Object.keys(part).at(-1)}) from ${protocol} to messages`, async () => {
      const change =
        protocol === 'chat'
          ? { messages: [{ role: 'user', content: [part] }] }
          : { contents: [{ role: 'user', parts: [part] }] };
      assert.match(await refusal(protocol, 'b/m', change), new RegExp(name, 'i'));
    });
  }
});

describe('what cannot be translated', () => {
  const tools: [protocol: ProtocolId, tool: Json, name: RegExp, models: string[]][] = [
    ['messages', { type: 'code_execution_20250825', name: 'code_execution' }, /code_execution/, ['a/m', 'c/m']],
    ['messages', { type: 'web_fetch_20250910', name: 'web_fetch' }, /web_fetch/, ['a/m', 'c/m']],
    ['messages', { type: 'bash_20250124', name: 'bash' }, /bash/, ['a/m', 'c/m']],
    ['generate', { codeExecution: {} }, /code_?execution/i, ['a/m', 'b/m']],
    ['generate', { urlContext: {} }, /url_?context/i, ['a/m', 'b/m']],
    ['generate', { googleMaps: {} }, /google_?maps/i, ['a/m', 'b/m']],
    ['generate', { brandNewTool: {} }, /brand_?new_?tool/i, ['a/m', 'b/m']],
  ];
  for (const [protocol, tool, name, models] of tools) {
    for (const model of models) {
      test(`checklist 74: ${JSON.stringify(tool)} for ${model}`, async () => {
        assert.match(await refusal(protocol, model, { tools: [tool] }), name);
      });
    }
  }

  test('checklist 75: two answers from chat to messages', async () => {
    const { status, text } = await send(rig, { protocol: 'chat', model: 'b/m', change: { n: 2 } });
    assert.equal(status, 400);
    assert.equal(JSON.parse(text).error.param, 'n');
    assert.equal(rig.upstream.calls.length, 0);
  });
  test('checklist 75: two answers from generate to messages', async () => {
    assert.match(await refusal('generate', 'b/m', { generationConfig: { candidateCount: 2 } }), /one/);
  });
  test('checklist 75: one answer is no problem', async () => {
    await whole(rig, { protocol: 'chat', model: 'b/m', change: { n: 1 } });
  });
});
