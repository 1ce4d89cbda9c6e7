import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import { createCredentials } from '../../src/transport/credentials.ts';

const KEYS = ['one', 'two', 'three'];
const conversations = Array.from({ length: 300 }, (_, index) => `conversation ${index}`);

function limited(retryAfter?: number): GatewayError {
  return new GatewayError('rate_limit_exceeded', 'Slow down.', { upstreamStatus: 429, retryAfter });
}

test('a conversation stays with its credential, and conversations are spread', () => {
  const credentials = createCredentials(KEYS);
  const first = conversations.map((name) => credentials.pick(name).key);
  assert.deepEqual(
    conversations.map((name) => credentials.pick(name).key),
    first,
  );
  for (const key of KEYS) assert.ok(first.filter((other) => other === key).length > 60, key);
});

test('a failing credential rests: its conversations move, the others stay, and they come back', () => {
  let now = 0;
  const credentials = createCredentials(KEYS, () => now);
  const before = conversations.map((name) => credentials.pick(name).key);
  credentials.pick(conversations[before.indexOf('two')] ?? '').failed(limited(5000));
  const during = conversations.map((name) => credentials.pick(name).key);
  for (const [index, key] of before.entries()) {
    if (key === 'two') assert.notEqual(during[index], 'two');
    else assert.equal(during[index], key);
  }
  now = 5001;
  assert.deepEqual(
    conversations.map((name) => credentials.pick(name).key),
    before,
  );
});

test('errors that say nothing of the account change nothing, and when all rest they are used all the same', () => {
  const credentials = createCredentials(KEYS);
  const { key, failed } = credentials.pick('a');
  failed(new GatewayError('overloaded', 'Busy.', { upstreamStatus: 503 }));
  assert.equal(credentials.pick('a').key, key);
  for (let count = 0; count < 3; count++) credentials.pick('a').failed(limited());
  assert.equal(credentials.pick('a').key, key);
});

test('without a key there is a credential without one', () => {
  assert.equal(createCredentials([]).pick('a').key, undefined);
});
