/** An answer whose counts cannot be read fails with an estimate of what was generated. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import type { Protocol } from '../../src/core/protocol.ts';
import { chat } from '../../src/protocols/chat/index.ts';
import { type Answer, deliver } from '../fuzz/delivery.ts';

const { complete } = chat.operations;

function unreadable(): never {
  throw new GatewayError('upstream_error', 'The counts cannot be read.');
}

/** A protocol whose counts cannot be read. */
const broken: Protocol = {
  ...chat,
  operations: {
    ...chat.operations,
    complete: {
      ...complete,
      usageOf: unreadable,
      streamDecoder: (target) => ({ ...complete.streamDecoder(target), usage: unreadable }),
    },
  },
};

const TEXT = 'A fox that is quick and brown jumps over a dog that is lazy, and again over another one.';
const WHOLE = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 20 },
};
const CHUNK = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta: { role: 'assistant', content: TEXT }, finish_reason: null }],
};

const ANSWERS: [what: string, answer: Answer][] = [
  ['a whole answer', { chunks: [Buffer.from(JSON.stringify(WHOLE))] }],
  [
    'a stream that is gathered and breaks off',
    { type: 'text/event-stream', chunks: [Buffer.from(`data: ${JSON.stringify(CHUNK)}\n\n`)] },
  ],
];

for (const [what, answer] of ANSWERS)
  test(`${what} ends once, and its output is estimated`, () => {
    const { error, usage } = deliver({ client: broken, upstream: broken, stream: false }, answer);
    assert.equal(error?.code, 'upstream_error');
    assert.ok(usage?.estimated && (usage.output ?? 0) >= 10, JSON.stringify(usage));
  });
