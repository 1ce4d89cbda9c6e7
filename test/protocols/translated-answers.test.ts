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
});
