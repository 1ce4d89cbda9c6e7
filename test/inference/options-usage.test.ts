/** Expected usage of a request: with options that its candidates share, over several protocols, and with media of unknown size. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rulesFor } from '../../src/catalog/rules.ts';
import type { Json } from '../../src/core/json/json.ts';
import { expectedUsageOf, expectedUsageWithOptions } from '../../src/inference/tokens/expected-usage.ts';
import { longestInput } from '../../src/inference/tokens/reservation.ts';
import { protocolOf } from '../../src/protocols/index.ts';

type Given = Parameters<typeof expectedUsageWithOptions>;

/** About 10,000 tokens, in a member that the protocol messages alone reads. */
const options = { system: 'a boat on a river '.repeat(2000) };

function inputOver(...protocols: string[]): number {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
  const call = { protocol: protocolOf('chat'), body, bytes: Buffer.from(JSON.stringify(body)) };
  const candidates = protocols.map((protocol) => ({ endpoint: { options, dialect: { protocol } } }));
  return expectedUsageWithOptions(call as unknown as Given[0], { candidates } as unknown as Given[1]).input;
}

test('attack: a text counts by the protocol that reads it, wherever that candidate stands', () => {
  const input = inputOver('messages');
  assert.ok(input > 5000, String(input));
  assert.equal(inputOver('messages', 'chat'), input);
  assert.equal(inputOver('chat', 'messages', 'chat'), input);
});

/** Longest input of a question with a part, for a model of OpenAI's. */
function longestWith(part: Json, id: string): { input: number; audioInput: number; imageInput: number } {
  const body = { model: 'm', messages: [{ role: 'user', content: [part] }] };
  const call = { protocol: protocolOf('chat'), body, bytes: Buffer.from(JSON.stringify(body)) };
  const model = { contextLength: 100_000, rules: rulesFor('openai', id) };
  const endpoint = { model } as unknown as Parameters<typeof longestInput>[1];
  return longestInput(expectedUsageOf(call as unknown as Given[0]), endpoint);
}

test('attack: a picture holds the most that its model counts, whatever detail is asked for', () => {
  const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } };
  assert.equal(longestWith(picture, 'gpt-99').imageInput, 12_000);
  const dear = longestWith(picture, 'gpt-4o-mini');
  assert.equal(dear.imageInput, 48_169);
  assert.ok(dear.input > dear.imageInput && dear.input < 48_200, String(dear.input));
});

test('attack: compressed sound holds a whole context at the price of audio, also where the hub cannot read the request', () => {
  const sound = { type: 'input_audio', input_audio: { format: 'mp3', data: '//NExAAAAAAA' } };
  const { input, audioInput } = longestWith(sound, 'gpt-audio');
  assert.deepEqual([input, audioInput], [100_000, 100_000]);
  assert.equal(longestWith({ type: 'novel', data: 'JVBERi0xLjcK' }, 'gpt-audio').audioInput, 100_000);
});
