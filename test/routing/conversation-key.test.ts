/** Conversation keys: what is read of a request, which a long stream releases before its end. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messages } from '../../src/protocols/messages/index.ts';
import { ConversationKey } from '../../src/routing/conversation-key.ts';

test('a thread is named by the id of its answer, also where the body was released meanwhile', () => {
  const call = {
    ...{ owner: 'k', headers: {}, operation: messages.operations.complete },
    body: { messages: [{ role: 'user', content: 'Hi' }], thread: { type: 'create' } },
  };
  const first = new ConversationKey(call as never, 'm');
  const { key } = first;
  Object.assign(call, { body: {} });
  const next = first.keyBehind('msg_2');
  assert.notEqual(next, key);
  const body = { messages: [], thread: { type: 'continue', previous_message_id: 'msg_2' } };
  assert.equal(new ConversationKey({ ...call, body } as never, 'm').key, next);
  const plain = { ...call, body: { messages: [{ role: 'user', content: 'Hi' }] } };
  assert.equal(new ConversationKey(plain as never, 'm').keyBehind('msg_2'), undefined);
});
