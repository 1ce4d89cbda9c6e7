/** Collected responses: what is lent to them is copied, into memory as large as itself, and failures say whether the request was sent. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import { type CollectedResponse, collectResponse } from '../../src/transport/collect-response.ts';

/** Hands chunks over as a connection does: all in the memory of one read, which the next one overwrites. */
function collected(chunks: readonly string[]): CollectedResponse {
  const read = Buffer.allocUnsafeSlow(64 * 1024);
  const responses: CollectedResponse[] = [];
  const receiver = collectResponse({
    accepts: () => true,
    onResponse: (response) => void responses.push(response),
    onTooLarge: () => assert.fail(),
    onFailure: () => assert.fail(),
  });
  receiver.head(200, {});
  for (const chunk of chunks) receiver.data(read.subarray(0, read.write(chunk)));
  read.fill(0);
  receiver.end();
  const [response] = responses;
  assert.ok(response);
  return response;
}

test('a chunk is copied before the next read overwrites it', () => {
  assert.equal(collected(['first ', 'second ', 'third']).body.toString(), 'first second third');
});

test('a body in one chunk takes as much memory as it is long', () => {
  const { body } = collected(['a whole answer']);
  assert.equal(body.toString(), 'a whole answer');
  assert.equal(body.buffer.byteLength, body.length);
});

test('a request whose sending was taken back was not sent', () => {
  const outcomes: boolean[] = [];
  for (const calls of [['sent'], ['sent', 'unsent'], ['sent', 'unsent', 'sent']] as const) {
    const receiver = collectResponse({
      accepts: () => true,
      onResponse: () => assert.fail(),
      onTooLarge: () => assert.fail(),
      onFailure: (_, sent) => void outcomes.push(sent),
    });
    for (const call of calls) receiver[call]?.();
    receiver.fail(new GatewayError('timeout', 'The upstream could not be reached in time.'));
  }
  assert.deepEqual(outcomes, [true, false, true]);
});
