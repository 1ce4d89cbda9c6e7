/** Answers between two protocols, whole and streamed. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { answered, type ProtocolId, sent, streamed } from './translated.ts';

/** The data of all events of a stream. */
function dataOf(text: string): Json[] {
  const lines = text.split(/\r?\n/).filter((line) => line.startsWith('data: {'));
  return lines.map((line) => JSON.parse(line.slice('data: '.length)));
}

describe('a call without arguments', () => {
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '' } };
  const whole = (client: ProtocolId, finish_reason: string, calls: Json[] = [call]): Json =>
    answered(client, 'chat', {
      id: 'c',
      choices: [{ index: 0, message: { content: null, tool_calls: calls }, finish_reason }],
    });
  const stream = (client: ProtocolId, finish_reason: string, calls: Json[] = [call]): Json[] => {
    const deltas = calls.map((one, index) => ({ delta: { tool_calls: [{ index, ...one }] } }));
    const choices = [...deltas, { delta: {}, finish_reason }];
    const frames = choices.map((choice) => ({ id: 'c', choices: [{ index: 0, ...choice }] }));
    return dataOf(streamed(client, 'chat', [...frames, '[DONE]']));
  };

  test('responses: incomplete where the output limit cut it, else with an empty object', () => {
    const shown = ({ output }: Json) =>
      output.map(({ call_id, arguments: args, status }: Json) => [call_id, args, status]);
    const cut = ['a', '', 'incomplete'];
    const complete = ['a', '{}', 'completed'];
    assert.deepEqual(shown(whole('responses', 'length')), [cut]);
    assert.deepEqual(shown(stream('responses', 'length').at(-1).response), [cut]);
    assert.deepEqual(shown(whole('responses', 'tool_calls')), [complete]);
    assert.deepEqual(shown(stream('responses', 'tool_calls').at(-1).response), [complete]);
    const two = [call, { ...call, id: 'b' }];
    assert.deepEqual(shown(whole('responses', 'length', two)), [complete, ['b', '', 'incomplete']]);
    assert.deepEqual(shown(stream('responses', 'length', two).at(-1).response), [complete, ['b', '', 'incomplete']]);
  });

  test('a whole answer of messages whose call was cut off says so, as a stream does', () => {
    const answer = (input: Json) => {
      const content = [{ type: 'tool_use', id: 'a', name: 'f', input }];
      return answered('chat', 'messages', { id: 'm', content, stop_reason: 'max_tokens' }).choices[0].finish_reason;
    };
    assert.equal(answer({}), 'length');
    assert.equal(answer({ city: 'Oslo' }), 'tool_calls');
  });

  describe('and another part behind it', () => {
    const input = { call_id: 'a', name: 'f', arguments: '' };
    const ends = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
    const items = (next: Json) => [{ type: 'function_call', ...input }, next];
    const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] };
    const picture = { type: 'image_generation_call', id: 'i', result: 'iVBORw0KGgo=' };
    const finishes = (client: ProtocolId, next: Json): string[] => {
      const response = { id: 'r', ...ends, output: items(next) };
      const frames = items(next).map((item, output_index) => ({
        type: 'response.output_item.done',
        output_index,
        item,
      }));
      const events = dataOf(streamed(client, 'responses', [...frames, { type: 'response.incomplete', response }]));
      const whole = answered(client, 'responses', response);
      const reasons = [...events, whole].map(({ choices, delta, stop_reason }) =>
        choices ? choices[0]?.finish_reason : (delta?.stop_reason ?? stop_reason),
      );
      return reasons.filter((reason) => typeof reason === 'string');
    };

    test('is complete for a client of chat', () => {
      assert.deepEqual(finishes('chat', said), ['tool_calls', 'tool_calls']);
      assert.deepEqual(finishes('chat', picture), ['tool_calls', 'tool_calls']);
    });

    test('is complete for a client of messages, also where it is not shown the part', () => {
      assert.deepEqual(finishes('messages', said), ['tool_use', 'tool_use']);
      assert.deepEqual(finishes('messages', picture), ['tool_use', 'tool_use']);
    });
  });
});

/** What a stream to a client tells of the end of its answer, and of its calls: the name and the arguments, or the status. */
function endOf(client: ProtocolId, events: Json[]): Json[] {
  switch (client) {
    case 'chat': {
      const { finish_reason } = events.flatMap(({ choices }) => choices).at(-1);
      return [finish_reason];
    }
    case 'messages':
      return [events.at(-2).delta.stop_reason];
    case 'generate': {
      const parts = events.flatMap(({ candidates }) => candidates[0].content.parts);
      const calls = parts.flatMap(({ functionCall }) => (functionCall ? [functionCall.args] : []));
      return [events.at(-1).candidates[0].finishReason, ...calls];
    }
    case 'responses': {
      const { output } = events.at(-1).response;
      const calls = output.filter(({ type }: Json) => type === 'function_call');
      return [events.at(-1).response.status, ...calls.map(({ status }: Json) => status)];
    }
  }
}

describe('what comes at the end of an answer, behind a call that the output limit cut,', () => {
  const CUT = {
    chat: ['length'],
    messages: ['max_tokens'],
    generate: ['MAX_TOKENS'],
    responses: ['incomplete', 'incomplete'],
  };
  const call = { id: 'a', type: 'function', function: { name: 'delete_files', arguments: '' } };
  const chatChunk = (delta: Json, finish_reason: string | null = null) => ({
    id: 'c',
    choices: [{ index: 0, delta, finish_reason }],
  });
  const url_citation = { url: 'https://example.com/', title: 'Page', start_index: 0, end_index: 3 };
  const sources = { annotations: [{ type: 'url_citation', url_citation }] };
  const encrypted = { reasoning_details: [{ type: 'reasoning.encrypted', data: 'xyz', index: 0 }] };
  const fromChat = (client: ProtocolId, late: Json[], args = '', end = 'length'): Json[] => {
    const begun = { ...call, index: 0, function: { ...call.function, arguments: args } };
    const deltas = [{ content: 'Let me' }, { tool_calls: [begun] }, ...late];
    return dataOf(streamed(client, 'chat', [...deltas.map((delta) => chatChunk(delta)), chatChunk({}, end), '[DONE]']));
  };

  for (const client of ['messages', 'generate', 'responses'] as const) {
    test(`does not complete the call of a chat upstream for a client of ${client}`, () => {
      for (const late of [[sources], [encrypted], [sources, encrypted]])
        assert.deepEqual(endOf(client, fromChat(client, late)), CUT[client]);
    });

    test(`does not complete a call that was cut within its arguments for a client of ${client}`, () => {
      assert.deepEqual(endOf(client, fromChat(client, [sources], '{"path":')), CUT[client]);
    });
  }

  test('leaves complete a call that nothing cut', () => {
    assert.deepEqual(endOf('messages', fromChat('messages', [sources], '', 'tool_calls')), ['tool_use']);
    assert.deepEqual(endOf('generate', fromChat('generate', [encrypted], '', 'tool_calls')), ['STOP', {}]);
    assert.deepEqual(endOf('responses', fromChat('responses', [encrypted], '', 'tool_calls')), [
      'completed',
      'completed',
    ]);
  });

  test('leaves complete a call behind which the model wrote words', () => {
    const late = [encrypted, { content: 'Done.' }];
    assert.deepEqual(endOf('messages', fromChat('messages', late)), ['tool_use']);
    assert.deepEqual(endOf('generate', fromChat('generate', late)), ['MAX_TOKENS', {}]);
    assert.deepEqual(endOf('responses', fromChat('responses', late)), ['incomplete', 'completed']);
  });

  test('stands behind the call', () => {
    const { output } = fromChat('responses', [sources]).at(-1).response;
    assert.deepEqual(
      output.map(({ type }: Json) => type),
      ['message', 'function_call', 'message'],
    );
    const parts = (late: Json[]) =>
      fromChat('generate', late).flatMap(({ candidates }) => candidates[0].content.parts.map(Object.keys));
    assert.deepEqual(parts([encrypted]).slice(1), [['text', 'thought', 'thoughtSignature'], ['text']]);
    assert.deepEqual(parts([encrypted, { content: 'Done.' }]).slice(1), [
      ['functionCall'],
      ['text', 'thought', 'thoughtSignature'],
      ['text'],
      ['text'],
    ]);
  });

  const grounded = {
    groundingMetadata: {
      webSearchQueries: ['q'],
      groundingChunks: [{ web: { uri: 'https://example.com/', title: 'Page' } }],
      groundingSupports: [{ segment: { startIndex: 0, endIndex: 3 }, groundingChunkIndices: [0] }],
    },
  };
  const candidate = (parts: Json[], more: Json = {}) => ({ candidates: [{ content: { parts }, ...more }] });
  for (const client of ['chat', 'messages', 'responses'] as const)
    test(`does not complete the call of a generate upstream for a client of ${client}`, () => {
      const frames = (parts: Json[], more: Json) => [
        candidate([{ text: 'Let me' }]),
        candidate([{ functionCall: { name: 'delete_files', id: 'a', willContinue: true } }]),
        candidate(parts, { finishReason: 'MAX_TOKENS', ...more }),
      ];
      for (const [parts, more] of [
        [[], grounded],
        [[{ text: '' }], {}],
        [[{ text: '', thoughtSignature: 'c2lnbmVk' }], grounded],
      ] as const)
        assert.deepEqual(endOf(client, dataOf(streamed(client, 'generate', frames([...parts], more)))), CUT[client]);
    });

  test('comes before the call of a generate upstream, sources with their words', () => {
    const begun = { functionCall: { name: 'delete_files', id: 'a', willContinue: true } };
    const ends = { finishReason: 'MAX_TOKENS', ...grounded };
    const { output } = answered('responses', 'generate', candidate([{ text: 'Let me' }, begun], ends));
    assert.deepEqual(
      output.map(({ type, content }: Json) => [type, content?.[0].annotations.length]),
      [
        ['message', 1],
        ['web_search_call', undefined],
        ['function_call', undefined],
      ],
    );
  });

  test('does not complete the call of a messages upstream, streamed or whole', () => {
    const content = [
      { type: 'tool_use', id: 'a', name: 'delete_files', input: {} },
      { type: 'redacted_thinking', data: 'xyz' },
    ];
    const frames = [
      { type: 'message_start', message: { id: 'm', usage: {} } },
      ...content.flatMap((content_block, index) => [
        { type: 'content_block_start', index, content_block },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: {} },
      { type: 'message_stop' },
    ];
    const whole = answered('chat', 'messages', { id: 'm', content, stop_reason: 'max_tokens' });
    assert.equal(whole.choices[0].finish_reason, 'length');
    for (const client of ['chat', 'generate', 'responses'] as const)
      assert.deepEqual(endOf(client, dataOf(streamed(client, 'messages', frames))), CUT[client]);
  });
});

describe('a call that the output limit cut before its arguments', () => {
  test('is left out for a client of generate, whole or streamed', () => {
    const args = { id: 'a', type: 'function', function: { name: 'delete_files', arguments: '' } };
    const choice = (member: 'message' | 'delta', more: Json) => ({
      id: 'c',
      choices: [{ index: 0, [member]: { content: 'Let me', tool_calls: [{ index: 0, ...args }] }, ...more }],
    });
    const whole = (finish_reason: string) =>
      answered('generate', 'chat', choice('message', { finish_reason })).candidates[0].content.parts.length;
    assert.deepEqual([whole('length'), whole('tool_calls')], [1, 2]);
    const stream = (finish_reason: string) =>
      endOf('generate', dataOf(streamed('generate', 'chat', [choice('delta', { finish_reason }), '[DONE]'])));
    assert.deepEqual([stream('length'), stream('tool_calls')], [['MAX_TOKENS'], ['STOP', {}]]);
  });
});

describe('sources of a text without words', () => {
  const url_citation = { url: 'https://example.com/', title: 'Page', start_index: 0, end_index: 0 };
  const annotations = [{ type: 'url_citation', url_citation }];
  const chunk = (delta: Json, more: Json = {}) => ({ id: 'c', choices: [{ index: 0, delta, ...more }] });
  const end = [chunk({}, { finish_reason: 'stop' }), '[DONE]'];

  test('make no empty text block, which would be refused in the next request', () => {
    const blocks = dataOf(streamed('messages', 'chat', [chunk({ annotations }), ...end])).filter(
      ({ type }) => type === 'content_block_start',
    );
    assert.deepEqual(blocks, []);
  });

  test('wait for the words that follow', () => {
    const events = dataOf(streamed('messages', 'chat', [chunk({ annotations }), chunk({ content: 'Hi' }), ...end]));
    const types = events.map(({ type, delta }) => delta?.type ?? type);
    assert.deepEqual(types.slice(1, 5), ['content_block_start', 'citations_delta', 'text_delta', 'content_block_stop']);
  });
});

test('a call of generate in pieces that the output limit broke off is not made', () => {
  const candidate = (parts: Json[], more: Json = {}) => ({ candidates: [{ content: { parts }, ...more }] });
  const piece = { jsonPath: '$.path', stringValue: '/home/us', willContinue: true };
  const frames = [
    candidate([{ functionCall: { name: 'remove', id: 'a', willContinue: true } }]),
    candidate([{ functionCall: { partialArgs: [piece], willContinue: true } }]),
    candidate([], { finishReason: 'MAX_TOKENS' }),
  ];
  const chat = dataOf(streamed('chat', 'generate', frames)).flatMap(({ choices }) => choices);
  assert.equal(chat.at(-1).finish_reason, 'length');
  const messages = dataOf(streamed('messages', 'generate', frames));
  assert.equal(messages.at(-2).delta.stop_reason, 'max_tokens');
  const { status, output } = dataOf(streamed('responses', 'generate', frames)).at(-1).response;
  assert.deepEqual([status, output[0].status], ['incomplete', 'incomplete']);
});

describe('signatures of neighbouring texts and thoughts of generate', () => {
  const one = { text: 'One. ', thoughtSignature: 'b25l' };
  const two = { text: 'Two.', thoughtSignature: 'dHdv' };
  const thoughts = [one, two].map((part) => ({ ...part, thought: true }));
  const alone = { text: '', thoughtSignature: 'dGhyZWU=' };
  const answerOf = (parts: Json[]): Json => ({
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
  });
  const ask = { role: 'user', content: 'Hi' };
  const returned = (content: Json): Json[] => {
    const messages = [ask, { role: 'assistant', content }, ask];
    return sent('messages', 'generate', { max_tokens: 9, messages }).body.contents[1].parts;
  };

  for (const [name, parts] of Object.entries({
    texts: [one, two],
    'a text, and a signature behind it': [one, alone],
    thoughts: [...thoughts, { ...alone, text: 'So.' }],
  }))
    test(`come back with their own from a client of messages: ${name}`, () => {
      assert.deepEqual(returned(answered('messages', 'generate', answerOf(parts)).content), parts);
    });

  test('come back with their own from a client of chat: thoughts', () => {
    const parts = [...thoughts, { ...alone, text: 'So.' }];
    const { message } = answered('chat', 'generate', answerOf(parts)).choices[0];
    assert.deepEqual(sent('chat', 'generate', { messages: [ask, message, ask] }).body.contents[1].parts, parts);
  });

  test('a piece of a stream without a signature goes on with the signed text before it', () => {
    const pieces = [one, { text: 'Two.' }];
    const frames = pieces.map((part, at) => ({
      candidates: [{ content: { parts: [part] }, ...(at === 1 && { finishReason: 'STOP' }) }],
    }));
    const blocks = dataOf(streamed('messages', 'generate', frames)).filter(
      ({ type }) => type === 'content_block_start',
    );
    assert.deepEqual(
      blocks.map(({ content_block }) => content_block.type),
      ['text', 'thinking'],
    );
  });
});

test('signed thoughts of a chat upstream that follow each other come back with their own signatures', () => {
  const details = ['One.', 'Two.'].map((text, index) => ({
    type: 'reasoning.text',
    text,
    signature: `s${index}`,
    index,
  }));
  const ask = { role: 'user', content: 'Hi' };
  const message = { role: 'assistant', content: 'So.', reasoning_details: details };
  const whole = answered('messages', 'chat', { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] });
  const { body } = sent('messages', 'chat', {
    max_tokens: 9,
    messages: [ask, { role: 'assistant', content: whole.content }, ask],
  });
  assert.deepEqual(body.messages[1].reasoning_details, details);
  const pieces = details.flatMap(({ text, ...signed }) => [{ text, type: signed.type, index: signed.index }, signed]);
  const deltas = [...pieces.map((piece) => ({ reasoning_details: [piece] })), { content: 'So.' }];
  const frames = deltas.map((delta) => ({ id: 'c', choices: [{ index: 0, delta }] }));
  const end = { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const said = dataOf(streamed('messages', 'chat', [...frames, end, '[DONE]'])).flatMap(
    ({ delta }) => delta?.thinking ?? delta?.signature ?? [],
  );
  const [one, two] = whole.content.map((block: Json) => block.signature);
  assert.deepEqual(said, ['One.', one, 'Two.', two]);
});

describe('sources of generate for texts that other parts end', () => {
  const picture = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } };
  const call = { functionCall: { id: 'c', name: 'f', args: {} } };
  const source = (name: string) => ({ web: { uri: `https://${name}.example/`, title: name } });
  const support = (startIndex: number, endIndex: number, index: number) => ({
    segment: { startIndex, endIndex },
    groundingChunkIndices: [index],
  });
  const end = {
    finishReason: 'STOP',
    groundingMetadata: {
      groundingChunks: [source('a'), source('b'), source('c')],
      groundingSupports: [support(4, 7, 0), support(8, 13, 1), support(0, 99, 2)],
    },
  };
  const texts = [{ text: 'Tea red.' }, { text: ' Blue.' }] as const;
  const answerOf = (parts: Json[]): Json => ({ candidates: [{ content: { parts }, ...end }] });
  const spansOf = (annotations: Json[]) =>
    annotations.map(({ url_citation: { title, start_index, end_index } }) => [title, start_index, end_index]);

  test('are of the words that they are about in a whole answer', () => {
    const body = answerOf([texts[0], picture, texts[1], call]);
    assert.deepEqual(spansOf(answered('chat', 'generate', structuredClone(body)).choices[0].message.annotations), [
      ...[
        ['a', 4, 7],
        ['b', 8, 13],
        ['c', 8, 14],
      ],
    ]);
    const titles = answered('messages', 'generate', structuredClone(body)).content.map(({ citations }: Json) =>
      citations?.map(({ title }: Json) => title),
    );
    assert.deepEqual(titles, [['a'], ['b', 'c'], undefined]);
    const annotated = answered('responses', 'generate', body).output.filter(({ type }: Json) => type === 'message');
    assert.deepEqual(
      annotated.map(({ content: [{ text, annotations }] }: Json) => [text, annotations.length]),
      [
        ['Tea red.', 1],
        [' Blue.', 2],
      ],
    );
  });

  test('are of the words that they are about in a stream that tells them before the text ends', () => {
    const frames = [{ candidates: [{ content: { parts: [texts[0]] } }] }, answerOf([texts[1], call])];
    const chunks = dataOf(streamed('chat', 'generate', frames));
    assert.deepEqual(spansOf(chunks.flatMap(({ choices }) => choices[0]?.delta.annotations ?? [])), [
      ...[
        ['a', 4, 7],
        ['b', 8, 13],
        ['c', 0, 14],
      ],
    ]);
    const types = dataOf(streamed('messages', 'generate', frames)).map(({ type, delta }) => delta?.type ?? type);
    assert.equal(types.filter((type) => type === 'citations_delta').length, 3);
  });

  test('are of the last text where they are about words that ended before', () => {
    const frames = [{ candidates: [{ content: { parts: [texts[0], picture] } }] }, answerOf([texts[1], call])];
    const chunks = dataOf(streamed('chat', 'generate', frames));
    assert.deepEqual(spansOf(chunks.flatMap(({ choices }) => choices[0]?.delta.annotations ?? [])), [
      ...[
        ['a', 8, 14],
        ['b', 8, 13],
        ['c', 8, 14],
      ],
    ]);
  });
});
