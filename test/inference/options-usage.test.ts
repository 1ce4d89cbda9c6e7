/** Expected usage of a request whose candidates share the options for their provider, over several protocols. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectedUsageWithOptions } from '../../src/inference/tokens/expected-usage.ts';
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
