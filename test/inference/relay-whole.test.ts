/** A relayed whole response: the cost in its usage. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readResponseJson } from '../../src/core/json/response.ts';
import { MemberWatch } from '../../src/core/json/spans.ts';
import type { Plan } from '../../src/inference/request/planned-request.ts';
import { soughtMembers } from '../../src/inference/response/model-name.ts';
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
  const bytes = Buffer.from(JSON.stringify(json));
  const members = new MemberWatch(soughtMembers(chat.operations.complete));
  readResponseJson(bytes, members);
  const response = { bytes, json, members };
  const { body } = relayResponse(response, {
    call: callOf(chat, Buffer.from('{}'), {}),
    planned,
    options: { model: 'a/m', created: 1, includeUsage: true, array: false, hideReasoning: false },
    charge: ({ finish }) => (finish === 'stop' ? 10n ** 12n : 0n),
  });
  assert.equal(JSON.parse(String(body)).usage.cost, 1);
});
