/** Framings of upstream streams: AWS event stream and JSON lines, whole, in every cut, and damaged. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import { type Framer, parseEvents, type SseEvent } from '../../src/core/sse.ts';
import { createAwsEventStreamFramer } from '../../src/transport/framing/aws-event-stream.ts';
import { framerFor } from '../../src/transport/framing/index.ts';
import { createJsonLinesFramer } from '../../src/transport/framing/json-lines.ts';
import { awsChunk, awsException, awsMessage } from './aws-message.ts';

function eventsOf(framer: Framer, bytes: Buffer, size = bytes.length): SseEvent[] {
  const frames: Buffer[] = [];
  // In the memory of one read, which the next one overwrites.
  const read = Buffer.alloc(size);
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = read.subarray(0, bytes.copy(read, 0, at, at + size));
    frames.push(...framer.push(chunk).map((lent) => Buffer.from(lent)));
    read.fill(0);
  }
  frames.push(...framer.end());
  assert.equal(framer.pending, 0);
  return parseEvents(Buffer.concat(frames));
}

const START = { type: 'message_start', message: { id: 'msg_1', content: [] } };
const DELTA = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Grüße\n\u2028' } };
const CONVERSE = awsMessage({ ':event-type': 'messageStop', ':message-type': 'event' }, '{"stopReason":"end_turn"}');
const STREAM = Buffer.concat([awsChunk(START), awsChunk(DELTA), CONVERSE]);
const EVENTS = [
  { event: 'message_start', data: JSON.stringify(START) },
  { event: 'content_block_delta', data: JSON.stringify(DELTA) },
  { event: 'messageStop', data: '{"stopReason":"end_turn"}' },
];

describe('AWS event stream', () => {
  for (const size of [1, 2, 3, 5, 7, 11, 12, 13, 16, 100, 1000]) {
    test(`in pieces of ${size} bytes`, () => {
      assert.deepEqual(eventsOf(createAwsEventStreamFramer(), STREAM, size), EVENTS);
    });
  }

  test('cut in two at every place (checklist 79)', () => {
    for (let cut = 0; cut <= STREAM.length; cut++) {
      const framer = createAwsEventStreamFramer();
      const frames = [...framer.push(STREAM.subarray(0, cut)), ...framer.push(STREAM.subarray(cut)), ...framer.end()];
      assert.deepEqual(parseEvents(Buffer.concat(frames)), EVENTS);
    }
  });

  test('a flipped bit anywhere is found', () => {
    const message = awsChunk(START);
    for (let at = 0; at < message.length; at++) {
      const damaged = Buffer.from(message);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      const framer = createAwsEventStreamFramer();
      assert.throws(() => [...framer.push(damaged), ...framer.end()], isBroken, `byte ${at}`);
    }
  });

  test('a stream that ends inside a message is an error', () => {
    const framer = createAwsEventStreamFramer();
    assert.equal(framer.push(STREAM.subarray(0, -1)).length, 2);
    assert.throws(() => framer.end(), isBroken);
  });

  test('headers that are longer than they may be, of unknown types, or no strings', () => {
    const odd = awsMessage({ ':event-type': 'chunk' }, '{"no":"bytes"}');
    assert.throws(() => createAwsEventStreamFramer().push(odd), isBroken);
  });

  test('the response beside a stream is no event, and neither a name nor broken JSON can make several of one', () => {
    const initial = awsMessage({ ':event-type': 'initial-response', ':message-type': 'event' }, '{}');
    assert.deepEqual(eventsOf(createAwsEventStreamFramer(), Buffer.concat([initial, STREAM]), 16), EVENTS);
    const odd: [name: string, payload: string][] = [
      ['messageStop\ndata: {"stopReason":"end_turn"}\n', '{}'],
      ['messageStop', '{"a":\n\nevent: messageStop\ndata: {}'],
    ];
    for (const [name, payload] of odd) {
      const message = awsMessage({ ':event-type': name, ':message-type': 'event' }, payload);
      assert.throws(() => createAwsEventStreamFramer().push(message), isBroken, name);
    }
    const spaced = awsMessage(
      { ':event-type': 'messageStop', ':message-type': 'event' },
      '{\r\n"stopReason": "end_turn"}',
    );
    assert.deepEqual(eventsOf(createAwsEventStreamFramer(), spaced, 16), [EVENTS[2]]);
  });

  test('an exception ends the stream after what came before it, and says what it means', () => {
    const framer = createAwsEventStreamFramer(({ headers, body }) => {
      assert.equal(headers['x-amzn-errortype'], 'throttlingException');
      return new GatewayError('rate_limit_exceeded', body.message);
    });
    const frames = framer.push(Buffer.concat([awsChunk(START), awsException('throttlingException', 'Slow down.')]));
    assert.equal(frames.length, 1);
    assert.throws(
      () => framer.end(),
      (error) =>
        error instanceof GatewayError && error.code === 'rate_limit_exceeded' && error.message === 'Slow down.',
    );
    const plain = createAwsEventStreamFramer();
    assert.throws(
      () => plain.push(awsException('modelStreamErrorException', 'It broke.')),
      (error) => error instanceof GatewayError && error.code === 'upstream_error' && error.message === 'It broke.',
    );
  });

  test('headers of every type of value stand beside those of strings', () => {
    const name = (text: string) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
    // Type, then a value of fixed length or with a length before it: true, false, 1, 2, 4 and 8 bytes, bytes, time, UUID.
    const values = [[0], [1], [2, 7], [3, 0, 7], [4, 0, 0, 0, 7], [5, 0, 0, 0, 0, 0, 0, 0, 7], [6, 0, 2, 1, 2]];
    values.push([8, 0, 0, 0, 0, 0, 0, 0, 7], [9, ...Array.from({ length: 16 }, (_, index) => index)]);
    const fields = values.map((value, index) => Buffer.concat([name(`h${index}`), Buffer.from(value)]));
    const headers = { ':event-type': 'contentBlockDelta', ':message-type': 'event' };
    const payload = { contentBlockIndex: 0, delta: { text: 'Grüße' }, p: 'abcdefgh' };
    const message = awsMessage(headers, JSON.stringify(payload), Buffer.concat(fields));
    for (const size of [1, 16, 1000]) {
      const events = eventsOf(createAwsEventStreamFramer(), Buffer.concat([message, message]), size);
      assert.deepEqual(events, Array(2).fill({ event: 'contentBlockDelta', data: JSON.stringify(payload) }));
    }
  });
});

describe('JSON lines', () => {
  const lines = [
    { model: 'm', message: { role: 'assistant', content: 'Grüße\u2028' }, done: false },
    { model: 'm', message: { role: 'assistant', content: '' }, done: true, eval_count: 3 },
  ].map((line) => JSON.stringify(line));
  const events = lines.map((data) => ({ event: undefined, data }));
  for (const [about, end] of [
    ['a line feed', '\n'],
    ['CRLF and empty lines', '\r\n\r\n'],
  ] as const) {
    for (const size of [1, 2, 7, 1000]) {
      test(`ended by ${about}, in pieces of ${size} bytes`, () => {
        const bytes = Buffer.from(lines.map((line) => line + end).join(''));
        assert.deepEqual(eventsOf(createJsonLinesFramer(), bytes, size), events);
      });
    }
  }

  test('the last line may lack its end', () => {
    assert.deepEqual(eventsOf(createJsonLinesFramer(), Buffer.from(lines.join('\n')), 5), events);
  });
});

test('a framing is taken by its media type, and only at a platform that has it', () => {
  const ndjson = 'application/x-ndjson; charset=utf-8';
  assert.equal(framerFor({}, ndjson), undefined);
  assert.equal(framerFor({ framing: 'aws-event-stream' }, ndjson), undefined);
  assert.equal(framerFor({ framing: 'json-lines' }, ndjson), createJsonLinesFramer);
  assert.ok(framerFor({ framing: 'aws-event-stream' }, 'application/vnd.amazon.eventstream'));
  assert.ok(framerFor({ framing: 'json-lines' }, 'text/event-stream'));
  assert.equal(framerFor({}, undefined), undefined);
});

function isBroken(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'upstream_error';
}
