/** The validators themselves: each of these streams breaks a rule, and is told so. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SPEAKERS } from '../conformance/answers.ts';
import { checkChatStream } from './chat.ts';
import { checkGenerateStream } from './generate.ts';
import { checkMessagesStream } from './messages.ts';

type Breakage = [name: string, breakIt: (text: string) => string, words: RegExp];

const CALLS = [
  { id: 'call_1', name: 'f', args: { a: 1 } },
  { id: 'call_2', name: 'g', args: { b: 2 } },
];

const without = (text: string) => (stream: string) =>
  stream
    .split(/(?<=\n\n)/)
    .filter((frame) => !frame.includes(text))
    .join('');
const twice = (text: string) => (stream: string) =>
  stream
    .split(/(?<=\n\n)/)
    .flatMap((frame) => (frame.includes(text) ? [frame, frame] : [frame]))
    .join('');
const replaced = (from: string | RegExp, to: string) => (stream: string) => stream.replace(from, to);

const CHAT: Breakage[] = [
  ['no [DONE]', without('[DONE]'), /last event of a broken stream/],
  ['[DONE] twice', twice('[DONE]'), /JSON|token/],
  ['no final blank line', (text) => text.slice(0, -1), /blank line/],
  ['no finish_reason', without('"finish_reason":"tool_calls"'), /no finish_reason/],
  ['the finish twice', twice('"finish_reason":"tool_calls"'), /goes on after/],
  ['no role', without('"role"'), /role/],
  ['the role twice', twice('"role"'), /role/],
  ['another id', replaced(/"id":"chatcmpl-1"(?=.*"content":"Hel")/, '"id":"other"'), /id changes/],
  ['calls that end with stop', replaced('"tool_calls"}]', '"stop"}]'), /end with stop/],
  ['a call without an id', replaced('"id":"call_1",', ''), /without an id/],
  ['a hole in the indexes', replaced(/"index":1,"id"/, '"index":2,"id"'), /in order/],
  ['arguments cut short', without(':1}"'), /JSON|object/],
  ['a name for an event', replaced('data: ', 'event: x\ndata: '), /has a name/],
  ['usage that does not add up', replaced('"total_tokens":15', '"total_tokens":16'), /16/],
  ['an error that is followed by [DONE]', replaced('data: [DONE]', 'data: {"error":{}}\n\ndata: [DONE]'), /chunk/],
];

const MESSAGES: Breakage[] = [
  ['no message_start', without('message_start'), /before message_start/],
  ['no message_stop', without('message_stop'), /without message_stop/],
  ['no message_delta', without('message_delta'), /without message_delta/],
  ['two message_delta', twice('message_delta'), /two message_delta/],
  ['a block that is not ended', without('"content_block_stop","index":1'), /two blocks are open/],
  [
    'indexes that start at one',
    replaced('"content_block_start","index":0', '"content_block_start","index":1'),
    /order/,
  ],
  ['no name of an event', replaced('event: content_block_delta\n', ''), /name of an event/],
  ['an unknown block', replaced('"content_block":{"type":"text"', '"content_block":{"type":"novel"'), /unknown block/],
  ['an unknown delta', replaced('text_delta', 'novel_delta'), /novel_delta/],
  ['a text delta in a thinking block', replaced('thinking_delta","thinking"', 'text_delta","text"'), /text_delta in a/],
  ['a signature that is not last', twice('signature_delta'), /follows the signature/],
  ['no usage at the end', replaced(/,"usage":\{"output_tokens":5.*?\}(?=\})/, ''), /usage/],
  [
    'usage that shrinks',
    replaced(/"input_tokens":10,"output_tokens":1/, '"input_tokens":10,"output_tokens":9'),
    /cumul/,
  ],
  ['calls that end with end_turn', replaced('"stop_reason":"tool_use"', '"stop_reason":"end_turn"'), /end_turn/],
  ['arguments cut short', without(':1}"'), /JSON|object/],
  ['an error after the end', (text) => `${text}event: error\ndata: {"type":"error"}\n\n`, /after message_stop/],
];

const GENERATE: Breakage[] = [
  ['no finishReason', replaced(',"finishReason":"STOP"', ''), /no finishReason/],
  ['an end that goes on', twice('finishReason'), /goes on after/],
  ['[DONE]', (text) => `${text}data: [DONE]\n\n`, /JSON|token/],
  ['a name for an event', replaced('data: ', 'event: x\ndata: '), /has a name/],
  ['no role', replaced('"role":"model"', '"role":"user"'), /model/],
  ['a call without id', replaced('"id":"call_1",', ''), /without id/],
  ['arguments as text', replaced('"args":{"a":1}', '"args":"{}"'), /not an object/],
  ['a signature that is not base64', replaced('"thoughtSignature":"', '"thoughtSignature":"!'), /false|falsy|base64/],
  ['a total that does not add up', replaced('"totalTokenCount":15', '"totalTokenCount":16'), /sum/],
  ['a comment in the block of an event', replaced('data: ', ': x\ndata: '), /not a line/],
];

const streams = {
  chat: SPEAKERS.chat.stream({ reasoning: 'Hmm.', text: 'Hello', calls: CALLS }),
  messages: withBothCounts(SPEAKERS.messages.stream({ reasoning: 'Hmm.', text: 'Hello', calls: CALLS })),
  generate: SPEAKERS.generate.stream({ reasoning: 'Hmm.', signature: 'c2ln', text: 'Hello', calls: CALLS }),
};

/** The gateway says all counts at the end; upstreams need not. */
function withBothCounts(stream: string): string {
  return stream.replace('"usage":{"output_tokens":5}', '"usage":{"output_tokens":5,"input_tokens":10}');
}

const GRAMMARS = { chat: checkChatStream, messages: checkMessagesStream, generate: checkGenerateStream };

for (const [id, breakages] of Object.entries({ chat: CHAT, messages: MESSAGES, generate: GENERATE })) {
  const protocol = id as keyof typeof GRAMMARS;
  describe(`the grammar of ${protocol}`, () => {
    test('a good stream passes', () => {
      assert.equal(GRAMMARS[protocol](streams[protocol]).ending, 'complete');
    });
    for (const [name, breakIt, words] of breakages) {
      test(`breaks with ${name}`, () => {
        const broken = breakIt(streams[protocol]);
        assert.notEqual(broken, streams[protocol], 'nothing was broken');
        assert.throws(() => GRAMMARS[protocol](broken), words);
      });
    }
  });
}
