/** The grammar of streams to clients, and answers that say the same whole and streamed. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChatCandidate, ChatEvent, ChatResponse, OpenPart } from '../../src/core/chat.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { fold, unfold } from '../../src/core/fold.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { EncoderOptions, Target } from '../../src/core/operation.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { chat } from '../../src/protocols/chat/index.ts';

const options: EncoderOptions = {
  model: 'acme/one',
  created: 5,
  includeUsage: true,
  array: false,
  hideReasoning: false,
};
const target: Target = { origin: 'acme', model: 'one', rules: {} };

const FULL: ChatCandidate = {
  parts: [
    { type: 'reasoning', text: 'Hm.', opaque: { kind: 'signature', value: 's', origin: 'other' } },
    { type: 'reasoning', text: '', opaque: { kind: 'redacted', value: 'r', origin: 'other' } },
    { type: 'text', text: 'Let me ', citations: [{ url: 'https://example.com/a', start: 0, end: 3 }] },
    { type: 'text', text: 'see.', citations: [{ title: 'Facts', source: 0 }] },
    {
      type: 'call',
      id: 'c1',
      name: 'look',
      args: '{"at":1}',
      opaque: { kind: 'signature', value: 't', origin: 'other' },
    },
    { type: 'call', id: 'c2', name: 'listen', args: '' },
  ],
  finish: { reason: 'calls' },
};

function response(candidate: ChatCandidate, more: Partial<ChatResponse> = {}): ChatResponse {
  return { id: 'msg_1', model: 'one', created: 7, candidates: [candidate], usage: { input: 3, output: 2 }, ...more };
}

function text(events: Iterable<ChatEvent>, chosen: Partial<EncoderOptions> = {}): string {
  const encoder = chat.operations.complete.streamEncoder({ ...options, ...chosen });
  return [...events].map((event) => encoder.encode(event)).join('') + encoder.end();
}

function chunks(stream: string): Json[] {
  return parseEvents(Buffer.from(stream))
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data));
}

function deltas(stream: string): Json[] {
  return chunks(stream).flatMap((chunk) => chunk.choices?.map((choice: Json) => choice.delta) ?? []);
}

describe('a stream', () => {
  const stream = text(unfold(response(FULL)));

  test('has one id, time, model and object', () => {
    for (const chunk of chunks(stream)) {
      const { id, created, model, object } = chunk;
      assert.deepEqual([id, created, model, object], ['chatcmpl-msg_1', 7, 'acme/one', 'chat.completion.chunk']);
    }
  });

  test('begins with the role and ends its content with an empty delta and a reason', () => {
    assert.equal(deltas(stream)[0].role, 'assistant');
    assert.equal(deltas(stream).filter((delta) => delta.role).length, 1);
    const last = chunks(stream)
      .filter((chunk) => chunk.choices.length > 0)
      .at(-1);
    assert.deepEqual(last.choices, [{ index: 0, delta: {}, finish_reason: 'tool_calls' }]);
    assert.ok(
      chunks(stream)
        .slice(0, -2)
        .every((chunk) => chunk.choices[0].finish_reason === null),
    );
  });

  test('shows usage once, at the end, and only when asked', () => {
    const all = chunks(stream);
    assert.deepEqual(all.at(-1).usage, { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
    assert.deepEqual(all.at(-1).choices, []);
    assert.ok(all.slice(0, -1).every((chunk) => !('usage' in chunk)));
    const silent = text(unfold(response(FULL)), { includeUsage: false });
    assert.ok(chunks(silent).every((chunk) => !('usage' in chunk) && chunk.choices.length === 1));
  });

  test('ends with one [DONE]', () => {
    assert.ok(stream.endsWith('data: [DONE]\n\n'));
    assert.equal(stream.split('[DONE]').length, 2);
  });

  test('names a call only in its first delta, and its arguments are JSON', () => {
    const calls = deltas(stream).flatMap((delta) => delta.tool_calls ?? []);
    for (const index of [0, 1]) {
      const own = calls.filter((call) => call.index === index);
      assert.equal(own.filter((call) => call.id && call.type && call.function.name).length, 1);
      assert.ok(own.slice(1).every((call) => !call.id && !call.function?.name));
      JSON.parse(own.map((call) => call.function?.arguments ?? '').join(''));
    }
  });

  test('gives all annotations at once', () => {
    const [late, ...none] = deltas(stream).filter((delta) => delta.annotations);
    assert.deepEqual(none, []);
    assert.deepEqual(late.annotations[0].url_citation, {
      start_index: 0,
      end_index: 3,
      title: '',
      url: 'https://example.com/a',
    });
    assert.deepEqual(late.citations, [{ title: 'Facts', source: 0, start_index: 7, end_index: 11 }]);
  });
});

describe('a stream that fails', () => {
  const begun: ChatEvent[] = [{ type: 'message-start', id: 'a', model: 'one' }];

  test('has neither choices nor an end in its error', () => {
    const stream = chat.operations.complete.encodeStreamError(
      new GatewayError('overloaded', 'Busy.'),
      'req_1',
      options,
    );
    assert.ok(!stream.includes('[DONE]'));
    assert.equal(chunks(stream).at(-1).error.code, 'server_is_overloaded');
    assert.equal(chunks(stream).at(-1).choices, undefined);
  });

  test('ends with an error for events that chat completions cannot represent', () => {
    const finish = { reason: 'malformed' } as const;
    const events: ChatEvent[] = [...begun, { type: 'candidate-end', candidate: 0, finish }, { type: 'message-end' }];
    assert.throws(() => text(events), { code: 'upstream_error' });
  });
});

test('list entries have a unique index, by which official SDKs merge them', () => {
  const image = (data: string) => ({ type: 'media', kind: 'image', mime: 'image/png', data }) as const;
  const events = unfold(response({ ...FULL, parts: [...FULL.parts, image('AA=='), image('AQ==')] }));
  const lists = { reasoning_details: [] as Json[], images: [] as Json[] };
  for (const delta of deltas(text(events))) {
    for (const name of ['reasoning_details', 'images'] as const) {
      for (const entry of delta[name] ?? []) {
        assert.ok(entry.index <= lists[name].length, 'no place is left out');
        lists[name][entry.index] = { ...lists[name][entry.index], ...entry };
      }
    }
  }
  const { message } = chat.operations.complete.encodeResponse(response(FULL), options).choices[0];
  assert.deepEqual(lists.reasoning_details, message.reasoning_details);
  assert.equal(lists.images.length, 2);
});

test('all state is restored from the next client request, after a whole response and after a stream', () => {
  const whole = chat.operations.complete.encodeResponse(response(FULL), options).choices[0].message;
  const streamed: Json = { role: 'assistant', content: '', reasoning_details: [], tool_calls: [] };
  for (const { content = '', reasoning_details = [], tool_calls = [] } of deltas(text(unfold(response(FULL))))) {
    streamed.content += content;
    streamed.reasoning_details.push(...reasoning_details);
    for (const { index, function: given, ...rest } of tool_calls) {
      streamed.tool_calls[index] ??= { function: { name: '', arguments: '' } };
      const call = streamed.tool_calls[index];
      Object.assign(call, rest);
      call.function.name += given?.name ?? '';
      call.function.arguments += given?.arguments ?? '';
    }
  }
  for (const message of [whole, streamed]) {
    const results = ['c1', 'c2'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'ok' }));
    const body = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }, message, ...results] };
    chat.operations.complete.check(body);
    const parts = chat.operations.complete.decodeRequest(body).turns[1]?.parts ?? [];
    const states = parts.map((part) => ('opaque' in part ? part.opaque?.value : undefined));
    assert.deepEqual(states, ['s', 'r', undefined, 't', undefined]);
    assert.equal(parts[0]?.type === 'reasoning' && parts[0].text, 'Hm.');
  }
});

test('an answer decoded whole is the same as its stream decoded', () => {
  const plain: ChatCandidate = {
    parts: [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Let me see. 👋' },
      { type: 'call', id: 'c1', name: 'look', args: '{"at":1}' },
      { type: 'call', id: 'c2', name: 'listen', args: '{}' },
    ],
    finish: { reason: 'calls', raw: 'tool_calls' },
  };
  const usage = { input: 9, output: 5, cached: 4, reasoning: 2 };
  const sent = response(plain, { id: 'chatcmpl-1', usage });
  const whole = chat.operations.complete.decodeResponse(chat.operations.complete.encodeResponse(sent, options), target);
  const decoder = chat.operations.complete.streamDecoder(target);
  const events = parseEvents(Buffer.from(text(unfold(sent)))).flatMap((event) => decoder.decode(event));
  assert.deepEqual(fold([...events, ...decoder.end()]), whole);
  assert.deepEqual(
    whole.candidates[0]?.parts.map((part) => part.type),
    ['reasoning', 'text', 'call', 'call'],
  );
  assert.deepEqual(whole.usage, usage);
});

test('speech in pieces that are encoded each for itself is whole', () => {
  const decoder = chat.operations.complete.streamDecoder(target);
  const speech = (data: string) => ({ choices: [{ index: 0, delta: { audio: { id: 'audio_1', data } } }], id: 'c' });
  const frames = [
    ...['RIFF....WAVE', 'a', 'bcd', 'ef'].map((piece) => speech(Buffer.from(piece).toString('base64'))),
    { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ];
  const events = frames.flatMap((frame) => decoder.decode({ data: JSON.stringify(frame) }));
  const [part] = fold([...events, ...decoder.end()]).candidates[0]?.parts ?? [];
  assert.ok(part?.type === 'media');
  assert.deepEqual([part.mime, part.data], ['audio/wav', Buffer.from('RIFF....WAVEabcdef').toString('base64')]);
});

test('speech in a stream is raw samples if it has no header', () => {
  const decoder = chat.operations.complete.streamDecoder(target);
  const delta = { audio: { id: 'audio_1', data: 'AAABAAIA', transcript: 'Hi.' } };
  const frame = { id: 'c', choices: [{ index: 0, delta, finish_reason: 'stop' }] };
  const events = decoder.decode({ data: JSON.stringify(frame) });
  const [part] = fold([...events, ...decoder.end()]).candidates[0]?.parts ?? [];
  assert.ok(part?.type === 'media');
  assert.deepEqual([part.mime, part.transcript], ['audio/L16;codec=pcm;rate=24000', 'Hi.']);
});

describe('finish reasons', () => {
  const named: [ChatCandidate['finish'], string, string | null][] = [
    [{ reason: 'stop' }, 'stop', ''],
    [{ reason: 'stop-sequence', stopSequence: 'x' }, 'stop', ''],
    [{ reason: 'length' }, 'length', ''],
    [{ reason: 'context-full' }, 'length', ''],
    [{ reason: 'filtered' }, 'content_filter', null],
    [{ reason: 'refused', explanation: 'No.' }, 'content_filter', null],
    [{ reason: 'blocked' }, 'content_filter', null],
    [{ reason: 'paused' }, 'length', ''],
    [{ reason: 'continuation' }, 'length', ''],
    [{ reason: 'other', raw: 'STRANGE' }, 'stop', ''],
  ];
  for (const [finish, name, content] of named) {
    test(`${finish.reason} is ${name}`, () => {
      const [choice] = chat.operations.complete.encodeResponse(response({ parts: [], finish }), options).choices;
      assert.deepEqual([choice.finish_reason, choice.message.content], [name, content]);
      if (finish.raw) assert.equal(choice.native_finish_reason, finish.raw);
    });
  }

  test('complete calls yield tool_calls for every reason, and an answer with only calls has null content', () => {
    const call = { type: 'call', id: 'c', name: 'look', args: '{}' } as const;
    for (const reason of ['stop', 'length', 'other'] as const) {
      const [choice] = chat.operations.complete.encodeResponse(
        response({ parts: [call], finish: { reason } }),
        options,
      ).choices;
      assert.deepEqual([choice.finish_reason, choice.message.content], ['tool_calls', null]);
    }
    const cut = { ...call, args: '{"a' };
    const [choice] = chat.operations.complete.encodeResponse(
      response({ parts: [cut], finish: { reason: 'length' } }),
      options,
    ).choices;
    assert.equal(choice.finish_reason, 'length');
  });

  test('a call that the output limit cut before its arguments yields length, whole and streamed', () => {
    const cut: ChatCandidate = {
      parts: [{ type: 'call', id: 'c', name: 'look', args: '' }],
      finish: { reason: 'length' },
    };
    const [choice] = chat.operations.complete.encodeResponse(response(cut), options).choices;
    assert.deepEqual([choice.finish_reason, choice.message.tool_calls[0].function.arguments], ['length', '{}']);
    assert.match(text(unfold(response(cut))), /"finish_reason":"length"/);
    const ended: ChatCandidate = { ...cut, finish: { reason: 'stop' } };
    assert.match(text(unfold(response(ended))), /"finish_reason":"tool_calls"/);
  });

  test('a malformed answer is an error', () => {
    const malformed = response({ parts: [], finish: { reason: 'malformed' } });
    assert.throws(() => chat.operations.complete.encodeResponse(malformed, options), { code: 'upstream_error' });
  });
});

test('media of an answer that messages have no place for are named', () => {
  const named = (part: OpenPart) => chat.operations.complete.unshown?.(part);
  assert.deepEqual(named({ type: 'media', kind: 'document', mime: 'text/csv', text: 'a,b' }), {
    name: 'message.document',
  });
  const url = 'https://a.example/v.mp4';
  assert.deepEqual(named({ type: 'media', kind: 'video', url }), { name: 'message.video', url });
  assert.equal(named({ type: 'media', kind: 'image', data: 'aGk=' }), undefined);
  assert.equal(named({ type: 'text', text: 'Hi' }), undefined);
});

test('a picture in the storage of a provider has no address for clients', () => {
  const picture: OpenPart = { type: 'media', kind: 'image', mime: 'image/png', fileId: 'gs://bucket/a.png' };
  assert.deepEqual(chat.operations.complete.unshown?.(picture), { name: 'message.image' });
  const answer = response({ parts: [picture, { type: 'text', text: 'Hi' }], finish: { reason: 'stop' } });
  const [{ message }] = chat.operations.complete.encodeResponse(answer, options).choices;
  assert.deepEqual([message.content, message.images], ['Hi', undefined]);
  assert.doesNotMatch(text(unfold(answer)), /"images"/);
});

describe('client options', () => {
  test('hidden reasoning is omitted together with its signature', () => {
    const [choice] = chat.operations.complete.encodeResponse(response(FULL), {
      ...options,
      hideReasoning: true,
    }).choices;
    assert.equal(choice.message.reasoning, undefined);
    assert.deepEqual(
      choice.message.reasoning_details.map((detail: Json) => detail.type),
      ['reasoning.encrypted', 'reasoning.encrypted'],
    );
    assert.ok(!text(unfold(response(FULL)), { hideReasoning: true }).includes('Hm.'));
  });
});
