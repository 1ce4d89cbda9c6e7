/** A relayed whole response: the cost in its usage. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '../../src/inference/request/planned-request.ts';
import { relayResponse } from '../../src/inference/response/whole.ts';
import { chat } from '../../src/protocols/chat/index.ts';
import { callOf } from '../fuzz/delivery.ts';

test('the cost in an answer without output counts why it ended', () => {
  const json = {
    id: 'chatcmpl-1',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 0 },
  };
  const planned: Plan = {
    path: 'passthrough',
    upstream: chat,
    operation: chat.operations.complete,
    target: { origin: 'upstream', model: 'm', rules: {} },
    body: Buffer.from('{}'),
    dropped: [],
  };
  const { body } = relayResponse(Buffer.from(JSON.stringify(json)), json, {
    call: callOf(chat, Buffer.from('{}'), {}),
    planned,
    options: { model: 'a/m', created: 1, includeUsage: true, array: false, hideReasoning: false },
    charge: ({ finish }) => (finish === 'stop' ? 10n ** 12n : 0n),
  });
  assert.equal(JSON.parse(String(body)).usage.cost, 1);
});
