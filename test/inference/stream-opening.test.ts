/** The opening of a relayed stream: what is held back, for how long, and what ends it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFrame } from '../../src/core/sse.ts';
import { StreamOpening } from '../../src/inference/response/stream-opening.ts';
import { messages } from '../../src/protocols/messages/index.ts';
import { responses } from '../../src/protocols/responses/index.ts';

const frameOf = (type: string, more: object = {}) =>
  Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);

function take(opening: StreamOpening, frame: Buffer): string {
  return opening.take(frame, parseFrame(frame));
}

test('an unread preamble is held back up to 1 MiB, and its first frame is kept', () => {
  const opening = new StreamOpening(responses.operations.complete);
  const frame = frameOf('response.created', { sequence_number: 0, response: { text: 'x'.repeat(300 * 1024) } });
  for (let count = 1; count <= 3; count++) assert.ok(opening.takeUnread(frame));
  assert.deepEqual([opening.isFull, opening.bytes], [false, 3 * frame.length]);
  assert.ok(opening.takeUnread(frameOf('response.in_progress', { response: { text: 'x'.repeat(300 * 1024) } })));
  assert.equal(opening.isFull, true);
  assert.deepEqual(opening.preamble, frame);
  assert.equal(opening.takeUnread(frameOf('response.output_text.delta')), false);
});

test('frames that begin no answer are refused beyond 64 KiB', () => {
  const opening = new StreamOpening(messages.operations.complete);
  const start = frameOf('message_start', { message: { id: 'x'.repeat(10_000), content: [] } });
  for (let count = 0; count < 6; count++) assert.equal(take(opening, start), 'held');
  assert.throws(() => take(opening, start), { code: 'upstream_error', message: /65536 bytes/ });
  assert.equal(opening.bytes, 6 * start.length);
});

test('comments and pings beyond 4 KiB are dropped, and the first delta begins the answer', () => {
  const opening = new StreamOpening(messages.operations.complete);
  const comment = Buffer.from(`: ${'x'.repeat(3000)}\n\n`);
  assert.equal(take(opening, comment), 'held');
  assert.equal(take(opening, comment), 'dropped');
  assert.equal(opening.bytes, comment.length);
  assert.equal(take(opening, frameOf('ping')), 'held');
  assert.equal(take(opening, frameOf('content_block_delta', { delta: { type: 'text_delta', text: 'Hi' } })), 'begins');
  opening.release([]);
  assert.equal(opening.bytes, 0);
});
