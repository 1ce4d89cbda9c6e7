import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChatEvent, ChatResponse, Citation, OpenPart } from '../../src/core/chat.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { fold, unfold } from '../../src/core/fold.ts';
import type { Json } from '../../src/core/json/json.ts';
import { unwrap } from '../../src/core/opaque.ts';
import type { EncoderOptions } from '../../src/core/operation.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { generate } from '../../src/protocols/generate/index.ts';

const OPTIONS: EncoderOptions = { model: 'p/m', created: 0, includeUsage: false, array: false, hideReasoning: false };
const TARGET = { origin: 'google/gemini', model: 'm', rules: {} };
const USAGE = { input: 10, output: 5 };

function response(parts: OpenPart[], more: Partial<ChatResponse> = {}): ChatResponse {
  return { id: 'r1', model: 'm', candidates: [{ parts, finish: { reason: 'stop' } }], usage: USAGE, ...more };
}

function encoded(source: ChatResponse, options: Partial<EncoderOptions> = {}): string {
  const encoder = generate.operations.complete.streamEncoder({ ...OPTIONS, ...options });
  return [...unfold(source)].map((event) => encoder.encode(event)).join('') + encoder.end();
}

function chunks(source: ChatResponse, options?: Partial<EncoderOptions>): Json[] {
  return parseEvents(Buffer.from(encoded(source, options))).map(({ data }) => JSON.parse(data));
}

describe('encoding a stream', () => {
  test('every chunk names the role, and the last has the reason and the counts', () => {
    const parts: OpenPart[] = [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Hello' },
      { type: 'call', id: 'c1', name: 'f', args: '{"a":1}' },
    ];
    const all = chunks(response(parts, { candidates: [{ parts, finish: { reason: 'calls' } }] }));
    assert.ok(all.every((chunk) => chunk.candidates[0].content.role === 'model' && chunk.modelVersion === 'p/m'));
    assert.deepEqual(
      all.map((chunk) => chunk.candidates[0].content.parts[0]),
      [
        { text: 'Hm.', thought: true },
        { text: 'Hello' },
        { functionCall: { id: 'c1', name: 'f', args: { a: 1 } } },
        { text: '' },
      ],
    );
    assert.equal(all.at(-1).candidates[0].finishReason, 'STOP');
    assert.equal(all.at(-1).usageMetadata.totalTokenCount, 15);
    assert.ok(all.slice(0, -1).every((chunk) => !chunk.candidates[0].finishReason));
  });

  test('only data lines, each block closed by a blank line', () => {
    const text = encoded(response([{ type: 'text', text: 'a\nb' }]));
    assert.match(text, /^(data: \{.*\}\r\n\r\n)+$/);
    assert.doesNotMatch(text, /\[DONE\]/);
  });

  test('as an array it is one JSON text', () => {
    const text = encoded(response([{ type: 'text', text: 'Hello' }]), { array: true });
    const array: Json[] = JSON.parse(text);
    assert.equal(array.map((chunk) => chunk.candidates[0].content.parts[0].text).join(''), 'Hello');
    assert.equal(
      generate.operations.complete.streamType({ ...OPTIONS, array: true }).startsWith('application/json'),
      true,
    );
  });

  test('an error ends the array too, whenever it comes', () => {
    const options = { ...OPTIONS, array: true };
    const events = [...unfold(response([{ type: 'text', text: 'Hello' }]))];
    for (let count = 1; count < events.length - 1; count++) {
      const encoder = generate.operations.complete.streamEncoder(options);
      const text = events
        .slice(0, count)
        .map((event) => encoder.encode(event))
        .join('');
      const error = generate.operations.complete.encodeStreamError(
        new GatewayError('timeout', 'Late.'),
        'req_1',
        options,
      );
      assert.equal(JSON.parse(text + error).at(-1).error.code, 504);
    }
  });

  test('an error event has a numeric code, and an unfinished comment for clients that skip errors', () => {
    const text = generate.operations.complete.encodeStreamError(
      new GatewayError('overloaded', 'Full.'),
      'req_1',
      OPTIONS,
    );
    const [event = '', rest] = text.split('\r\n\r\n');
    const { error } = JSON.parse(event.slice('data: '.length));
    assert.equal(rest, ': incomplete');
    assert.deepEqual([error.code, error.status, error.message], [503, 'UNAVAILABLE', 'Full.']);
  });

  test('Unicode line separators are escaped', () => {
    const events = [...unfold(response([{ type: 'text', text: 'a\u2028b\u2029c' }]))];
    const encoder = generate.operations.complete.streamEncoder(OPTIONS);
    const text = events.map((event) => encoder.encode(event)).join('');
    assert.doesNotMatch(text, /[\u2028\u2029]/);
    assert.equal(
      chunks(response([{ type: 'text', text: 'a\u2028b\u2029c' }]))[0].candidates[0].content.parts[0].text,
      'a\u2028b\u2029c',
    );
  });

  test('state is sent wrapped in base64, with the last of its part', () => {
    const opaque = { kind: 'signature', value: 'sig', origin: 'anthropic/claude' } as const;
    const all = chunks(
      response([
        { type: 'reasoning', text: 'Hm.', opaque },
        { type: 'text', text: 'Hi' },
      ]),
    );
    const part = all[0].candidates[0].content.parts[0];
    assert.deepEqual(unwrap(part.thoughtSignature), opaque);
    assert.deepEqual([part.thought, part.text], [true, 'Hm.']);
    assert.equal(Buffer.from(part.thoughtSignature, 'base64').toString('base64'), part.thoughtSignature);
  });

  test('hidden reasoning keeps its state', () => {
    const opaque = { kind: 'redacted', value: 'x', origin: 'o' } as const;
    const parts: OpenPart[] = [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'reasoning', text: 'Secret', opaque },
      { type: 'text', text: 'Hi' },
    ];
    const text = encoded(response(parts), { hideReasoning: true });
    assert.doesNotMatch(text, /Hm\.|Secret/);
    assert.match(text, /thoughtSignature/);
    const whole = generate.operations.complete.encodeResponse(response(parts), { ...OPTIONS, hideReasoning: true });
    assert.equal(whole.candidates[0].content.parts.length, 2);
  });

  test('a call with broken arguments is an error, unless the output limit cut it', () => {
    const parts: OpenPart[] = [
      { type: 'text', text: 'a' },
      { type: 'call', id: 'c', name: 'f', args: '{"a":' },
    ];
    assert.throws(
      () => encoded(response(parts, { candidates: [{ parts, finish: { reason: 'calls' } }] })),
      /not a JSON object/,
    );
    const cut = response(parts, { candidates: [{ parts, finish: { reason: 'length' } }] });
    assert.equal(chunks(cut).at(-1).candidates[0].finishReason, 'MAX_TOKENS');
    assert.deepEqual(generate.operations.complete.encodeResponse(cut, OPTIONS).candidates[0].content.parts, [
      { text: 'a' },
    ]);
  });

  test('citations come last and count in bytes of the whole text', () => {
    const citations: Citation[] = [
      { url: 'https://a.example/', title: 'A', start: 2, end: 4 },
      { url: 'https://b.example/' },
    ];
    const parts: OpenPart[] = [
      { type: 'text', text: 'Über ' },
      { type: 'text', text: '😀 ja', citations },
    ];
    const { groundingMetadata } = chunks(response(parts)).at(-1).candidates[0];
    assert.deepEqual(groundingMetadata.groundingSupports[0].segment, { startIndex: 10, endIndex: 12, text: ' j' });
    assert.deepEqual(groundingMetadata.groundingSupports[1].segment, { startIndex: 6, endIndex: 13, text: '😀 ja' });
    assert.deepEqual(
      groundingMetadata,
      generate.operations.complete.encodeResponse(response(parts), OPTIONS).candidates[0].groundingMetadata,
    );
  });

  test('a blocked prompt has no candidates', () => {
    const blocked = response([], { candidates: [{ parts: [], finish: { reason: 'blocked', raw: 'content_filter' } }] });
    for (const body of [...chunks(blocked), generate.operations.complete.encodeResponse(blocked, OPTIONS)]) {
      assert.deepEqual(body.promptFeedback, { blockReason: 'SAFETY' });
      assert.equal(body.candidates, undefined);
    }
  });

  test('several answers are separate candidates', () => {
    const answer = (text: string) => ({
      parts: [{ type: 'text', text } as const],
      finish: { reason: 'stop' } as const,
    });
    const all = chunks(response([], { candidates: [answer('A'), answer('B')] }));
    assert.deepEqual(
      all.at(-1).candidates.map(({ index }: Json) => index),
      [0, 1],
    );
    assert.deepEqual(
      all.map((chunk) => chunk.candidates[0].index),
      [0, 1, 0],
    );
  });
});

describe('finish reasons for clients', () => {
  for (const [reason, raw, expected] of [
    ['stop-sequence', 'stop_sequence', 'STOP'],
    ['calls', 'tool_calls', 'STOP'],
    ['context-full', undefined, 'MAX_TOKENS'],
    ['paused', 'pause_turn', 'MAX_TOKENS'],
    ['filtered', 'content_filter', 'SAFETY'],
    ['filtered', 'RECITATION', 'RECITATION'],
    ['refused', 'refusal', 'SAFETY'],
    ['malformed', undefined, 'MALFORMED_RESPONSE'],
    ['other', 'whatever', 'OTHER'],
  ] as const) {
    test(`${reason} is ${expected}`, () => {
      const source = response([], { candidates: [{ parts: [], finish: { reason, raw } }] });
      assert.equal(generate.operations.complete.encodeResponse(source, OPTIONS).candidates[0].finishReason, expected);
    });
  }
});

describe('decoding a stream', () => {
  function decode(...bodies: Json[]): ChatEvent[] {
    const decoder = generate.operations.complete.streamDecoder(TARGET);
    return [...bodies.flatMap((body) => decoder.decode({ data: JSON.stringify(body) })), ...decoder.end()];
  }
  const chunk = (parts: Json[], more: Json = {}) => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
    responseId: 'r1',
  });

  test('is the same as decoding the whole response', () => {
    const parts = [
      { text: 'Hm.', thought: true },
      { text: 'Hello' },
      { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'U0lH' },
    ];
    const whole = generate.operations.complete.decodeResponse(chunk(parts, { finishReason: 'STOP' }), TARGET);
    const streamed = fold(
      decode(...parts.map((part) => chunk([part])), chunk([{ text: '' }], { finishReason: 'STOP' })),
    );
    assert.deepEqual(streamed, whole);
    assert.deepEqual(whole.candidates[0]?.finish, { reason: 'calls', raw: 'STOP' });
  });

  test('ends with an error when the upstream breaks off', () => {
    for (const events of [decode(), decode(chunk([{ text: 'a' }]))]) {
      const last = events.at(-1);
      assert.equal(last?.type === 'error' && last.error.code, 'upstream_error');
    }
  });

  test('nothing follows an error', () => {
    const events = decode(chunk([{ text: 'a' }]), { error: { code: 429, message: 'Slow.' } }, chunk([{ text: 'b' }]));
    assert.equal(events.filter(({ type }) => type === 'error').length, 1);
    assert.equal(events.at(-1)?.type, 'error');
  });

  test('ids of calls without one are stable, apart from each other, and safe everywhere', () => {
    const call = { functionCall: { name: 'f', args: {} } };
    const ids = () =>
      fold(decode(chunk([call, call], { finishReason: 'STOP' }))).candidates[0]?.parts.map(
        (part) => part.type === 'call' && part.id,
      );
    const [first, second] = ids() ?? [];
    assert.deepEqual(ids(), [first, second]);
    assert.notEqual(first, second);
    assert.match(String(first), /^call_[a-f0-9]{24}$/);
  });

  test('paths of argument pieces cannot reach a prototype or a huge array', () => {
    const piece = (jsonPath: string) => ({ jsonPath, stringValue: 'x' });
    const partialArgs = [piece('$.__proto__.polluted'), piece('$.list[999999999]'), piece('$.fine')];
    const [part] =
      fold(decode(chunk([{ functionCall: { name: 'f', partialArgs } }], { finishReason: 'STOP' }))).candidates[0]
        ?.parts ?? [];
    assert.equal(part?.type === 'call' && part.args, '{"fine":"x"}');
    assert.equal(({} as Json).polluted, undefined);
  });

  test('an answer that ends for a reason that is not told is what came of it; of nothing or of thoughts alone, it is malformed', () => {
    const endOf = (parts: Json[]) => fold(decode(chunk(parts, { finishReason: 'OTHER' }))).candidates[0]?.finish.reason;
    assert.equal(endOf([{ text: 'Part' }]), 'other');
    assert.equal(endOf([{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }]), 'other');
    assert.equal(endOf([{ functionCall: { name: 'f', args: {} } }]), 'calls');
    assert.equal(endOf([]), 'malformed');
    assert.equal(endOf([{ text: 'Hm.', thought: true }]), 'malformed');
  });

  test('a call that broke off before its end mark is not whole', () => {
    const begun = { functionCall: { name: 'f', willContinue: true } };
    const piece = { jsonPath: '$.path', stringValue: '/home/us', willContinue: true };
    const grown = { functionCall: { partialArgs: [piece], willContinue: true } };
    const endOf = (parts: Json[], finishReason: string) => {
      const answer = fold(decode(...parts.map((part) => chunk([part])), chunk([], { finishReason }))).candidates[0];
      return [answer?.finish.reason, answer?.parts.map((part) => part.type === 'call' && part.args)];
    };
    assert.deepEqual(endOf([begun, grown], 'MAX_TOKENS'), ['length', ['{"path":"/home/us"']]);
    assert.deepEqual(endOf([begun], 'MAX_TOKENS'), ['length', ['']]);
    assert.deepEqual(endOf([begun, grown, { functionCall: {} }], 'MAX_TOKENS'), ['calls', ['{"path":"/home/us"}']]);
    assert.deepEqual(endOf([begun, grown], 'STOP'), ['calls', ['{"path":"/home/us"}']]);
  });

  test('offsets with another base are corrected by the text of the segment', () => {
    const groundingMetadata = {
      groundingChunks: [{ web: { uri: 'https://a.example/' } }],
      groundingSupports: [
        { segment: { startIndex: 900, endIndex: 905, text: 'there' }, groundingChunkIndices: [0, 7] },
      ],
    };
    const [part] =
      fold(decode(chunk([{ text: 'Hi there' }], { finishReason: 'STOP', groundingMetadata }))).candidates[0]?.parts ??
      [];
    assert.deepEqual(part?.type === 'text' && part.citations, [{ url: 'https://a.example/', start: 3, end: 8 }]);
  });
});
