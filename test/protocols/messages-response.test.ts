/** Answers for clients of the messages protocol, whole and streamed, and state on its way out and back. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChatEvent, ChatResponse, Finish, OpenPart } from '../../src/core/chat.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { fold, unfold } from '../../src/core/fold.ts';
import type { Json } from '../../src/core/json/json.ts';
import { unwrap } from '../../src/core/opaque.ts';
import type { EncoderOptions } from '../../src/core/operation.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { messages } from '../../src/protocols/messages/index.ts';

const options: EncoderOptions = { model: 'p/m', created: 1, includeUsage: true, array: false, hideReasoning: false };
const GEMINI = { kind: 'signature', value: 'c3RhdGU=', origin: 'google/gemini' } as const;

function response(parts: OpenPart[], finish: Finish = { reason: 'stop' }): ChatResponse {
  return { id: 'x', model: 'm', candidates: [{ parts, finish }], usage: { input: 10, output: 5 } };
}

function whole(parts: OpenPart[], finish?: Finish): Json {
  return messages.operations.complete.encodeResponse(response(parts, finish), options);
}

/** The stream's events, checked against the grammar. */
function stream(events: Iterable<ChatEvent>, with_: Partial<EncoderOptions> = {}): Json[] {
  const encoder = messages.operations.complete.streamEncoder({ ...options, ...with_ });
  let text = '';
  for (const event of events) text += encoder.encode(event);
  const frames = parseEvents(Buffer.from(text + encoder.end()));
  const data = frames.map((frame) => JSON.parse(frame.data));
  for (const [index, frame] of frames.entries()) assert.equal(frame.event, data[index].type);
  checkGrammar(data.filter((event) => event.type !== 'ping'));
  return data;
}

const DELTAS: Record<string, string[]> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  redacted_thinking: [],
};

function checkGrammar(data: Json[]): void {
  assert.equal(data[0]?.type, 'message_start');
  assert.ok(data[0].message.usage);
  let index = 0;
  let open: string | undefined;
  for (const event of data.slice(1, -2)) {
    assert.equal(event.index, index);
    if (event.type === 'content_block_start') {
      assert.equal(open, undefined);
      open = event.content_block.type;
      assert.ok(open && open in DELTAS, open);
    } else if (event.type === 'content_block_delta') assert.ok(DELTAS[open ?? '']?.includes(event.delta.type));
    else {
      assert.equal(event.type, 'content_block_stop');
      open = undefined;
      index++;
    }
  }
  assert.equal(open, undefined);
  assert.equal(data.at(-2)?.type, 'message_delta');
  assert.ok(data.at(-2)?.usage);
  assert.equal(data.at(-1)?.type, 'message_stop');
}

/** What an SDK makes of a stream. */
function accumulated(data: Json[]): Json[] {
  const blocks: Json[] = [];
  for (const event of data) {
    if (event.type === 'content_block_start') blocks.push({ ...event.content_block, json: '' });
    const block = blocks[event.index];
    const { delta } = event;
    if (event.type !== 'content_block_delta') continue;
    if (delta.type === 'text_delta') block.text += delta.text;
    if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
    if (delta.type === 'signature_delta') block.signature = delta.signature;
    if (delta.type === 'input_json_delta') block.json += delta.partial_json;
    if (delta.type === 'citations_delta') block.citations = [...(block.citations ?? []), delta.citation];
  }
  return blocks.map(({ json, ...block }) => (json === '' ? block : { ...block, input: JSON.parse(json) }));
}

const call = (args: string, more: Partial<Extract<OpenPart, { type: 'call' }>> = {}): OpenPart => ({
  type: 'call',
  id: 'c1',
  name: 'look',
  args,
  ...more,
});

const ANSWERS: Record<string, OpenPart[]> = {
  text: [{ type: 'text', text: 'Hello' }],
  'text and calls': [{ type: 'text', text: 'Let me see.' }, call('{"a":1}'), call('', { id: 'c2' })],
  'reasoning with state': [
    { type: 'reasoning', text: 'Hm.', opaque: GEMINI },
    { type: 'text', text: '4' },
  ],
  'reasoning without state': [
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text: '4' },
  ],
  'hidden reasoning': [
    { type: 'reasoning', text: '', opaque: { ...GEMINI, kind: 'encrypted' } },
    { type: 'text', text: '4' },
  ],
  'hidden reasoning with a signature': [
    { type: 'reasoning', text: '', opaque: GEMINI },
    { type: 'text', text: '4' },
  ],
  'state on a call': [call('{"a":1}', { opaque: GEMINI }), call('{}', { id: 'c2' })],
  'state on a text': [{ type: 'text', text: 'Hello', opaque: GEMINI }],
  'nothing to show': [
    { type: 'text', text: '' },
    { type: 'reasoning', text: '' },
  ],
  citations: [
    { type: 'text', text: 'Blue', citations: [{ url: 'https://example.com', title: 'Sky' }, { title: 'nowhere' }] },
  ],
  'free text call': [call('plain "input"', { custom: true })],
  media: [
    { type: 'media', kind: 'image', mime: 'image/png', data: 'AA' },
    { type: 'media', kind: 'audio', transcript: 'Said.' },
  ],
  'state on media before a call': [
    { type: 'media', kind: 'image', mime: 'image/png', data: 'AA', opaque: GEMINI },
    { type: 'media', kind: 'audio', transcript: 'Said.', opaque: GEMINI },
    call('{"a":1}'),
  ],
  "another protocol's part": [{ type: 'native', protocol: 'generate', value: { executableCode: {} } }],
};

describe('a stream and a whole response hold the same blocks', () => {
  for (const [name, parts] of Object.entries(ANSWERS)) {
    test(name, () => {
      assert.deepEqual(accumulated(stream(unfold(response(parts)))), whole(parts).content);
    });
  }
});

describe('state is sent in an envelope and restored to its part', () => {
  for (const name of [
    'reasoning with state',
    'hidden reasoning',
    'hidden reasoning with a signature',
    'state on a call',
    'state on a text',
  ]) {
    test(name, () => {
      const parts = ANSWERS[name] as OpenPart[];
      const { content } = whole(parts);
      for (const block of content) if (block.signature) assert.ok(unwrap(block.signature));
      const body = {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content },
        ],
      };
      assert.deepEqual(messages.operations.complete.decodeRequest(body).turns[1]?.parts, parts);
    });
  }

  test('a thinking block always has a signature', () => {
    const parts = ANSWERS['reasoning without state'] ?? [];
    assert.equal(whole(parts).content[0].signature, '');
    const deltas = stream(unfold(response(parts))).map(({ delta }) => delta);
    assert.ok(deltas.some((delta) => delta?.type === 'signature_delta' && delta.signature === ''));
  });

  test('hidden reasoning keeps its state', () => {
    const parts = ANSWERS['reasoning with state'] ?? [];
    const events = stream(unfold(response(parts)), { hideReasoning: true });
    assert.deepEqual(
      accumulated(events).map((block) => block.type),
      ['redacted_thinking', 'text'],
    );
  });
});

describe('finish reasons', () => {
  const text: OpenPart[] = [{ type: 'text', text: 'x' }];
  const cases: [Finish, OpenPart[], string][] = [
    [{ reason: 'stop' }, text, 'end_turn'],
    [{ reason: 'stop-sequence', stopSequence: 'END' }, text, 'stop_sequence'],
    [{ reason: 'stop-sequence' }, text, 'end_turn'],
    [{ reason: 'length' }, text, 'max_tokens'],
    [{ reason: 'context-full' }, text, 'model_context_window_exceeded'],
    [{ reason: 'stop' }, [call('{}')], 'tool_use'],
    [{ reason: 'length' }, [call('{"a":')], 'max_tokens'],
    [{ reason: 'length' }, [call('')], 'max_tokens'],
    [{ reason: 'length' }, [call(''), call('{}')], 'tool_use'],
    [{ reason: 'stop' }, [call('')], 'tool_use'],
    [{ reason: 'filtered', category: 'cyber' }, text, 'refusal'],
    [{ reason: 'blocked' }, [], 'refusal'],
    [{ reason: 'stop' }, [{ type: 'refusal', text: 'No.' }], 'refusal'],
    [{ reason: 'paused' }, text, 'pause_turn'],
    [{ reason: 'continuation' }, text, 'max_tokens'],
    [{ reason: 'other', raw: 'tomorrow' }, text, 'end_turn'],
  ];
  for (const [finish, parts, expected] of cases) {
    test(`${finish.reason} of ${parts[0]?.type ?? 'nothing'} is ${expected}`, () => {
      const body = whole(parts, finish);
      assert.equal(body.stop_reason, expected);
      assert.equal(body.stop_sequence, expected === 'stop_sequence' ? 'END' : null);
      assert.equal('stop_details' in body, expected === 'refusal');
      const encoder = messages.operations.complete.streamEncoder(options);
      const text = [...unfold(response(parts, finish))].map((event) => encoder.encode(event)).join('');
      const delta = parseEvents(Buffer.from(text)).find((event) => event.event === 'message_delta');
      assert.equal(JSON.parse(delta?.data ?? '{}').delta.stop_reason, expected);
    });
  }

  test('an unknown reason is the end of an answer, also of one without content', () => {
    const finish: Finish = { reason: 'other', raw: 'weary' };
    assert.deepEqual([whole([], finish).content, whole([], finish).stop_reason], [[], 'end_turn']);
    const encoder = messages.operations.complete.streamEncoder(options);
    const text = [...unfold(response([], finish))].map((event) => encoder.encode(event)).join('');
    assert.match(text, /"stop_reason":"end_turn".*\n\nevent: message_stop/);
  });

  test('a failure reason is an error, not a stop reason', () => {
    for (const [finish, parts] of [
      [{ reason: 'malformed', raw: 'MALFORMED_FUNCTION_CALL' }, text],
      [{ reason: 'other' }, []],
      [{ reason: 'stop' }, [call('{"a":')]],
    ] as [Finish, OpenPart[]][]) {
      assert.throws(() => whole(parts, finish), { code: 'upstream_error' });
      const encoder = messages.operations.complete.streamEncoder(options);
      assert.throws(() => [...unfold(response(parts, finish))].map((event) => encoder.encode(event)), GatewayError);
    }
  });
});

describe('streams', () => {
  test('events of other candidates are dropped', () => {
    const events: ChatEvent[] = [
      { type: 'message-start', id: 'x', model: 'm' },
      { type: 'part-start', index: 0, candidate: 0, part: { type: 'text', text: '' } },
      { type: 'part-start', index: 1, candidate: 1, part: { type: 'text', text: '' } },
      { type: 'part-delta', index: 1, text: 'no' },
      { type: 'part-delta', index: 0, text: 'yes' },
      { type: 'part-end', index: 1 },
      { type: 'part-end', index: 0 },
      { type: 'candidate-end', candidate: 1, finish: { reason: 'length' } },
      { type: 'candidate-end', candidate: 0, finish: { reason: 'stop' } },
      { type: 'message-end' },
    ];
    const data = stream(events);
    assert.deepEqual(accumulated(data), [{ type: 'text', text: 'yes' }]);
    assert.equal(data.at(-2)?.delta.stop_reason, 'end_turn');
  });

  test('a ping follows the message start, an error ends the stream', () => {
    const encoder = messages.operations.complete.streamEncoder(options);
    assert.equal(encoder.encode({ type: 'ping' }), '');
    encoder.encode({ type: 'message-start', id: 'x', model: 'm' });
    assert.match(encoder.encode({ type: 'ping' }), /^event: ping\n/);
    assert.match(encoder.encode({ type: 'error', error: new GatewayError('overloaded', 'x') }), /^event: error\n/);
    assert.equal(encoder.encode({ type: 'message-end' }), '');
    assert.equal(encoder.end(), '');
  });

  test('usage is cumulative at the end and leaves the cache out of the input', () => {
    const { usage: _, ...rest } = response([{ type: 'text', text: 'x' }]);
    const usage = { input: 123, output: 7, cached: 100, cacheWrite: 20, reasoning: 3 };
    const data = stream(unfold({ ...rest, usage }));
    assert.deepEqual(data.at(-2)?.usage, {
      input_tokens: 3,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 100,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 3 },
    });
  });

  test('a call truncated by the output limit keeps its fragments', () => {
    const frames = [
      { type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 1, output_tokens: 0 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'look', input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a":"b' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 4 } },
      { type: 'message_stop' },
    ];
    const decoder = messages.operations.complete.streamDecoder({ origin: 'o', model: 'm', rules: {} });
    const folded = fold([
      ...frames.flatMap((frame) => decoder.decode({ data: JSON.stringify(frame) })),
      ...decoder.end(),
    ]);
    assert.deepEqual(folded.candidates[0], {
      parts: [{ type: 'call', id: 't', name: 'look', args: '{"a":"b' }],
      finish: { reason: 'length', raw: 'max_tokens' },
    });
  });

  test('arguments of a call that come after another block began are an error, not arguments of that block', () => {
    const start = (index: number) => ({
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id: `t${index}`, name: 'look', input: {} },
    });
    const delta = (index: number, partial_json: string) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json },
    });
    const stop = (index: number) => ({ type: 'content_block_stop', index });
    const end = [
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 4 } },
      { type: 'message_stop' },
    ];
    const decode = (frames: Json[]) => {
      const decoder = messages.operations.complete.streamDecoder({ origin: 'o', model: 'm', rules: {} });
      const all = [{ type: 'message_start', message: { id: 'msg_1' } }, ...frames, ...end];
      return all.flatMap((frame) => decoder.decode({ data: JSON.stringify(frame) }));
    };
    const mixed = decode([start(0), start(1), delta(0, '{"a":1}'), stop(0), delta(1, '{}'), stop(1)]).at(-1);
    assert.ok(mixed?.type === 'error' && /mixed the arguments/.test(mixed.error.message));
    const late = fold(decode([start(0), delta(0, '{"a":1}'), start(1), stop(0), delta(1, '{"b":2}'), stop(1)]));
    assert.deepEqual(
      late.candidates[0]?.parts.map((part) => part.type === 'call' && part.args),
      ['{"a":1}', '{"b":2}'],
    );
    const crossed = fold(decode([start(0), delta(0, '{"a":1}'), start(1), stop(0), delta(1, '{"b":2'), delta(1, '}')]));
    assert.deepEqual(crossed.candidates[0]?.parts.at(-1), { type: 'call', id: 't1', name: 'look', args: '{"b":2}' });
    const ended = decode([start(0), stop(0), delta(0, '{"a":1}')]).at(-1);
    assert.ok(ended?.type === 'error' && /mixed the arguments/.test(ended.error.message));
  });

  describe('words in a block of another kind, or in none', () => {
    const start = (index: number, content_block: Json) => ({ type: 'content_block_start', index, content_block });
    const said = (index: number, text: string) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'text_delta', text },
    });
    const thought = (index: number, thinking: string) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'thinking_delta', thinking },
    });
    const args = {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: '{"a":1}' },
    };
    const thinking = { type: 'thinking', thinking: '', signature: '' };
    const use = { type: 'tool_use', id: 't', name: 'look', input: {} };
    const call = { type: 'call', id: 't', name: 'look', args: '{"a":1}' };
    const hi = { type: 'text', text: 'Hi' };
    const hm = { type: 'reasoning', text: 'Hm' };
    const unknown = { type: 'block_of_tomorrow' };
    const native = { type: 'native', protocol: 'messages', value: unknown };
    const cases: [name: string, frames: Json[], parts: Json[]][] = [
      ['are said, where no block began', [said(0, 'H'), said(0, 'i')], [hi]],
      ['are said, not thought', [start(0, thinking), thought(0, 'Hm'), said(0, 'Hi')], [hm, hi]],
      ['are thought, not said', [start(0, { type: 'text', text: '' }), said(0, 'Hi'), thought(1, 'Hm')], [hi, hm]],
      ['are no arguments', [start(0, use), args, said(1, 'Hi')], [call, hi]],
      ['are no arguments either way', [start(0, { type: 'text', text: '' }), said(0, 'Hi'), args], [hi]],
      ['of an unknown block belong to it', [start(0, unknown), said(0, 'Hi'), said(1, 'Hi')], [native, hi]],
    ];
    for (const [name, frames, parts] of cases)
      test(name, () => {
        const decoder = messages.operations.complete.streamDecoder({ origin: 'o', model: 'm', rules: {} });
        const end = [{ type: 'message_delta', delta: { stop_reason: 'end_turn' } }, { type: 'message_stop' }];
        const answer = fold([...frames, ...end].flatMap((frame) => decoder.decode({ data: JSON.stringify(frame) })));
        assert.deepEqual(answer.candidates[0]?.parts, parts);
      });
  });

  test('citations that a block begins with come as those that follow it', () => {
    const citation = { type: 'web_search_result_location', url: 'https://a.example/', title: 'A', cited_text: 'a' };
    const block = { type: 'text', text: 'Hi', citations: [citation] };
    const decoder = messages.operations.complete.streamDecoder({ origin: 'o', model: 'm', rules: {} });
    const frames = [
      { type: 'message_start', message: { id: 'msg_1' } },
      { type: 'content_block_start', content_block: block },
    ];
    const [, start, delta] = frames.flatMap((frame) => decoder.decode({ data: JSON.stringify(frame) }));
    assert.deepEqual(start, { type: 'part-start', index: 0, candidate: 0, part: { type: 'text', text: 'Hi' } });
    assert.ok(delta?.type === 'part-delta');
    assert.equal(delta.citation?.url, citation.url);
  });

  test('a broken frame is an error and nothing follows it', () => {
    const decoder = messages.operations.complete.streamDecoder({ origin: 'o', model: 'm', rules: {} });
    assert.equal(decoder.decode({ data: '{"type":' })[0]?.type, 'error');
    assert.deepEqual(decoder.decode({ data: '{"type":"message_stop"}' }), []);
    assert.deepEqual(decoder.end(), []);
  });
});
