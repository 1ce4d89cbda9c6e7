/** Answers between two protocols, whole and streamed. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { answered, type ProtocolId, streamed } from './translated.ts';

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
