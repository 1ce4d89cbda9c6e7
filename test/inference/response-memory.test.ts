/** What is counted of an answer against the response budget: what is held for its client, not what the upstream sent. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createByteBudget } from '../../src/core/byte-budget.ts';
import { protocolOf } from '../../src/protocols/index.ts';
import { WIRES } from '../faults/wires.ts';
import { type Asked, deliver } from '../fuzz/delivery.ts';

const [messages, responses, generate] = [protocolOf('messages'), protocolOf('responses'), protocolOf('generate')];
const NAME = 'a_name_of_some_length';

function whole(memory: number) {
  const calls = Array.from({ length: 200 }, (_, index) => ({
    type: 'tool_use',
    id: `t${index}`,
    name: NAME,
    input: {},
  }));
  const bytes = Buffer.from(JSON.stringify({ ...WIRES.messages.whole, content: calls }));
  const asked: Asked = { client: responses, upstream: messages, stream: false, memory };
  return { bytes, ...deliver(asked, { type: 'application/json', chunks: [bytes] }) };
}

test('a whole answer is counted as it is written', () => {
  const { bytes, text = '' } = whole(1_000_000);
  assert.ok(text.length > bytes.length * 1.5, `${bytes.length} to ${text.length}`);
  assert.equal(whole(text.length).text, text);
  const { text: none, error } = whole(text.length - 1);
  assert.deepEqual([none, error?.code, error?.retryAfter], [undefined, 'unavailable', 1000]);
});

test('the last bytes of a stream are counted, and are not sent where they have no room', () => {
  const { head, text, tail } = WIRES.messages;
  const chunks = [head, ...Array.from({ length: 100 }, () => text('x'.repeat(1000))), tail].map((part) =>
    Buffer.from(part),
  );
  const asked: Asked = { client: responses, upstream: messages, stream: true };
  const answer = { type: 'text/event-stream', chunks };
  const free = deliver(asked, answer);
  assert.match(free.text ?? '', /response\.completed/);
  const { text: sent = '', error } = deliver({ ...asked, memory: 150_000 }, answer);
  assert.equal(error?.code, 'unavailable');
  assert.doesNotMatch(sent, /response\.completed/);
  assert.match(sent, /response\.failed/);
});

test('a frame of a stream is counted once, with how many parts it may have', () => {
  const parts = Array.from({ length: 40 }, (_, index) =>
    index % 2 ? { text: 'Next:' } : { inlineData: { mimeType: 'image/png', data: 'A'.repeat(10_000) } },
  );
  const frame = { candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }] };
  const bytes = Buffer.from(`data: ${JSON.stringify(frame)}\n\n`);
  const asked: Asked = { client: messages, upstream: generate, stream: true, memory: 2 * bytes.length };
  const { text = '', error } = deliver(asked, { type: 'text/event-stream', chunks: [bytes] });
  assert.equal(error, undefined);
  assert.match(text, /message_stop/);
});

describe('the budget of bytes', () => {
  test('leaves room for others, whoever fills it', () => {
    const budget = createByteBudget(1000);
    const fill = (owner: string): number => {
      for (let count = 0; ; count++) if (!budget.open(owner).resize(10)) return count;
    };
    assert.deepEqual([fill('one'), fill('two'), fill('three')], [50, 25, 13]);
    assert.ok(fill('four') > 0 && budget.held <= 1000);
  });

  test('takes the largest share alone, and gets everything back once', () => {
    const budget = createByteBudget(100);
    const share = budget.open('one');
    assert.deepEqual([share.resize(100), share.resize(101), share.resize(20), budget.held], [true, false, true, 20]);
    share.close();
    share.close();
    assert.deepEqual([share.resize(90), budget.held], [true, 0]);
  });
});
