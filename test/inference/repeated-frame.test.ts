/** Frames that repeat the one before but for one text: they say the same as if each were parsed, and they are not parsed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Protocol } from '../../src/core/protocol.ts';
import type { StreamDecoder } from '../../src/core/stream-codec.ts';
import { createResponseAssembler } from '../../src/inference/response/assembler.ts';
import type { Output } from '../../src/inference/response/converter.ts';
import { createTranslation } from '../../src/inference/response/translate-stream.ts';
import { chat } from '../../src/protocols/chat/index.ts';
import { protocols } from '../../src/protocols/index.ts';
import { messages } from '../../src/protocols/messages/index.ts';

const target = { model: 'm', origin: 'up', answerId: 'msg_1', provider: 'up', rules: {} };
const request = { model: 'm', turns: [], tools: [], sampling: {} };
const options = { model: 'a/m', created: 1, includeUsage: true, array: false, hideReasoning: false };

/** The protocol with another form of its decoder. */
function withDecoder(protocol: Protocol, change: (decoder: StreamDecoder) => StreamDecoder): Protocol {
  const { complete } = protocol.operations;
  const streamDecoder: typeof complete.streamDecoder = (about) => change(complete.streamDecoder(about));
  return { ...protocol, operations: { ...protocol.operations, complete: { ...complete, streamDecoder } } };
}

const parsesAll = (protocol: Protocol) => withDecoder(protocol, (decoder) => ({ ...decoder, again: undefined }));

/** Output after each chunk, with the memory that the translation holds, its usage, and its error. */
function translated(upstream: Protocol, client: Protocol, chunks: readonly Buffer[]): string[] {
  // biome-ignore lint/suspicious/noExplicitAny: a plan has more members than a translation reads.
  const plan = { upstream, target, toolNames: new Map(), request } as any;
  const translation = createTranslation({ plan, client, options, assembler: createResponseAssembler(plan) });
  const said: string[] = [];
  const step = (work: (out: Output[]) => void) => {
    const out: Output[] = [];
    let failure = '';
    try {
      work(out);
    } catch (error) {
      failure = (error as Error).message;
    }
    said.push(`${out.join('')} ${translation.held()} ${JSON.stringify(translation.partialUsage())} ${failure}`);
    return failure === '';
  };
  // A chunk is lent: the next read overwrites it.
  const lent = (chunk: Buffer) => (out: Output[]) => {
    const bytes = Buffer.from(chunk);
    translation.push(bytes, out);
    bytes.fill(0);
  };
  if (chunks.every((chunk) => step(lent(chunk)))) step((out) => translation.end(out));
  return [...said, translation.last().join('')];
}

const escaped = (json: string) =>
  json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const chunk = (delta: object, more: object = {}, choice: object = {}) => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' },
  ...{ choices: [{ index: 0, delta, finish_reason: null, ...choice }], ...more },
});
const call = (index: number, args: string, more: object = {}) => ({
  tool_calls: [{ index, ...more, function: { arguments: args } }],
});

/** Frames of chat completions around a text; the same text may stand elsewhere, or not be a text at all. */
const CHAT_FORMS: ((text: string) => object | string)[] = [
  (text) => chunk({ content: text }),
  (text) => chunk({ content: text }, { obfuscation: 'x'.repeat(text.length % 5) }),
  (text) => chunk({ content: text }, { obfuscation: text }),
  (text) => chunk({ content: text, role: 'assistant', reasoning_content: null }),
  (text) => chunk({ reasoning_content: text, content: null }),
  (text) => chunk({ reasoning: text }),
  (text) => chunk({ refusal: text }),
  (text) => chunk({ content: text }, { id: text }),
  (text) => chunk({ content: text }, { note: { content: text } }),
  (text) => chunk({ content: text }, {}, { index: 1 }),
  (text) => chunk({ content: 5 }, { note: text }),
  (text) => chunk({ content: [{ type: 'text', text }] }),
  (text) => chunk({ content: text }, { usage: { prompt_tokens: text.length, completion_tokens: 2 } }),
  (text) => chunk({ content: text }, {}, { logprobs: { content: [{ token: text, logprob: -1, bytes: null }] } }),
  (text) => chunk(call(0, text, { id: 'call_1', type: 'function' })),
  (text) => chunk({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: text } }] }),
  (text) => chunk(call(0, text)),
  (text) => chunk(call(1, text)),
  (text) => chunk({}, { choices: [chunk({ content: text }).choices[0], { index: 1, delta: {} }] }),
  (text) => chunk({ tool_calls: [...call(0, text).tool_calls, ...call(1, ' ').tool_calls] }),
  (text) => chunk({ ...call(0, text), content: ' ' }),
  (text) => chunk({ content: text, audio: { data: 'AAAA' } }),
  (text) => chunk({}, { choices: [chunk({ content: text }).choices[0], { index: 1, delta: call(1, ' ') }] }),
  (text) => chunk({ annotations: [{ type: 'url_citation', url_citation: { url: text } }] }),
  (text) => `data: {"choices":[{"delta":{"content":${JSON.stringify(text)},"content":"x"}}]}\n\n`,
  (text) => `data: {"choices":[{"delta":{"content": "${text}"}}]}\r\n\r\n`,
  (text) => `data: {"choices":[{"delta":{"content":"${text}","content":"\\u0061"}}]}\n\n`,
  (text) => `data: {"choices":[{"delta":{"content":"${text}","c\\u006fntent":"a"}}]}\n\n`,
  (text) => `: "note":"${text}"\ndata: {"choices":[{"delta":{"content":5}}]}\n\n`,
  (text) => `data: {"choices":[{"delta":{"content":"${text}"}}],"choices":[{"delta":{"content":"\\u0061"}}]}\n\n`,
  (text) => chunk({ content: {} }, { note: text }),
  (text) => chunk({ content: [{ type: 'thinking', thinking: [{ text: 'm' }, { text: 'a' }] }] }, { note: text }),
  (text) => `: ${text}\n\n`,
  () => chunk({}),
];

const block = (type: string, member: string) => (text: string) => ({
  ...{ type: 'content_block_delta', index: 0 },
  delta: { type, [member]: text },
});
const start = (content_block: object) => () => ({ type: 'content_block_start', index: 0, content_block });

const MESSAGES_FORMS: ((text: string) => object | string)[] = [
  block('text_delta', 'text'),
  block('thinking_delta', 'thinking'),
  block('input_json_delta', 'partial_json'),
  block('signature_delta', 'signature'),
  start({ type: 'text', text: '' }),
  start({ type: 'thinking', thinking: '' }),
  start({ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }),
  start({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
  () => ({ type: 'content_block_stop', index: 0 }),
  () => ({ type: 'ping' }),
  (text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text }, note: text }),
];

const UPSTREAMS = [
  { upstream: chat as Protocol, forms: CHAT_FORMS, last: 'data: [DONE]\n\n' },
  { upstream: messages as Protocol, forms: MESSAGES_FORMS, last: 'data: {"type":"message_stop"}\n\n' },
];

const asFrame = (content: object | string, isEscaped: boolean) =>
  typeof content === 'string'
    ? content
    : `data: ${isEscaped ? escaped(JSON.stringify(content)) : JSON.stringify(content)}\n\n`;

const texts = fc.oneof(
  fc.constantFrom(
    ' word',
    'm',
    'a',
    'ma',
    '{}',
    '5',
    'a"b',
    'line\nline',
    '{"a":',
    '1}',
    'é中🦊',
    '\u2028',
    '\\',
    '[DONE]',
    '',
    'x","y":"z',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.string({ maxLength: 6 }),
);

for (const { upstream, forms, last } of UPSTREAMS) {
  const frames = fc.array(
    fc.record({
      form: fc.nat({ max: forms.length - 1 }),
      texts: fc.array(texts, { minLength: 1, maxLength: 5 }),
      isEscaped: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  );

  for (const client of protocols) {
    test(`${upstream.id} to ${client.id}: repeated frames say the same as if each were parsed`, () => {
      fc.assert(
        fc.property(frames, fc.array(fc.nat(), { maxLength: 3 }), fc.boolean(), (runs, cuts, isSplit) => {
          const all = runs.flatMap(({ form, texts, isEscaped }) =>
            texts.map((text) => asFrame(forms[form]?.(text) ?? '', isEscaped)),
          );
          const bytes = Buffer.from([...all, last].join(''));
          const places = cuts.map((cut) => cut % bytes.length).sort((one, other) => one - other);
          const chunks = isSplit
            ? [...all, last].map((frame) => Buffer.from(frame))
            : [...places, bytes.length].map((end, index) => bytes.subarray(places[index - 1] ?? 0, end));
          assert.deepEqual(translated(upstream, client, chunks), translated(parsesAll(upstream), client, chunks));
        }),
        { numRuns: 300 },
      );
    });
  }
}

/** The upstream, with the number of frames that its decoder has parsed. */
function counting(upstream: Protocol): { upstream: Protocol; parsed(): number } {
  let parsed = 0;
  const counted = withDecoder(upstream, (decoder) => ({
    ...decoder,
    decode(event) {
      parsed++;
      return decoder.decode(event);
    },
  }));
  return { upstream: counted, parsed: () => parsed };
}

for (const [name, upstream, form] of [
  ['text of chat', chat, CHAT_FORMS[0]],
  [
    'text of chat with filler',
    chat,
    (text: string) => chunk({ content: text }, { obfuscation: 'x'.repeat(text.length) }),
  ],
  ['reasoning of chat', chat, CHAT_FORMS[4]],
  ['arguments of chat', chat, CHAT_FORMS[15]],
  ['text of messages', messages, MESSAGES_FORMS[0]],
  ['thinking of messages', messages, MESSAGES_FORMS[1]],
] as const) {
  test(`${name}: of 100 frames that differ in their text, the decoder parses three at most`, () => {
    const counted = counting(upstream);
    const all = Array.from({ length: 100 }, (_, index) =>
      asFrame(form?.(` "é中🦊"\n${index}`.slice(index < 3 ? 8 : 0)) ?? '', false),
    );
    const said = translated(
      counted.upstream,
      messages,
      all.map((frame) => Buffer.from(frame)),
    );
    assert.ok(counted.parsed() <= 3, `${counted.parsed()} parsed`);
    assert.equal(said.filter((text) => text.includes('content_block_delta')).length, 100);
  });
}

test('a stream whose frames all differ elsewhere is not compared any more after some frames', () => {
  const different = Array.from({ length: 20 }, (_, index) =>
    asFrame(chunk({ content: ` ${index}` }, { id: `c${index}` }), false),
  );
  const same = Array.from({ length: 20 }, (_, index) => asFrame(chunk({ content: ` ${index}` }), false));
  const counted = counting(chat);
  translated(
    counted.upstream,
    messages,
    [...different, ...same].map((frame) => Buffer.from(frame)),
  );
  assert.equal(counted.parsed(), 40);
});

test('a large frame is parsed, within the limits of events', () => {
  const counted = counting(chat);
  const texts = [' a', ' b', ' c', 'x'.repeat(5000), ' d'];
  const all = texts.map((text) => Buffer.from(asFrame(chunk({ content: text }), false)));
  const said = translated(counted.upstream, messages, all);
  assert.equal(counted.parsed(), 4);
  assert.ok(said.some((text) => text.includes('x'.repeat(5000))));
});
