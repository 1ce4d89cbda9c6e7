import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CredentialValue, keyCredential, NO_CREDENTIAL } from '../../src/core/credential.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { type Credential, createCredentials } from '../../src/transport/credentials.ts';

const KEYS = ['one', 'two', 'three'];
const VALUES = KEYS.map(keyCredential);

function keyOf({ value }: Credential): string | undefined {
  return value.type === 'key' ? value.key : undefined;
}

const conversations = Array.from({ length: 300 }, (_, index) => `conversation ${index}`);

function limited(retryAfter?: number): GatewayError {
  return new GatewayError('rate_limit_exceeded', 'Slow down.', { upstreamStatus: 429, retryAfter });
}

test('a conversation stays with its credential, and conversations are spread', () => {
  const credentials = createCredentials(VALUES);
  const first = conversations.map((name) => keyOf(credentials.pick(name)));
  assert.deepEqual(
    conversations.map((name) => keyOf(credentials.pick(name))),
    first,
  );
  for (const key of KEYS) assert.ok(first.filter((other) => other === key).length > 60, key);
});

test('a failing credential enters a cooldown: its conversations move, return later, and others stay', () => {
  let now = 0;
  const credentials = createCredentials(VALUES, () => now);
  const before = conversations.map((name) => keyOf(credentials.pick(name)));
  credentials.pick(conversations[before.indexOf('two')] ?? '').failed(limited(5000));
  const during = conversations.map((name) => keyOf(credentials.pick(name)));
  for (const [index, key] of before.entries()) {
    if (key === 'two') assert.notEqual(during[index], 'two');
    else assert.equal(during[index], key);
  }
  now = 5001;
  assert.deepEqual(
    conversations.map((name) => keyOf(credentials.pick(name))),
    before,
  );
});

test('a credential comes back within an hour, whatever the upstream asks for', () => {
  let now = 0;
  const credentials = createCredentials(VALUES, () => now);
  for (const credential of credentials.all()) credential.failed(limited(Number.POSITIVE_INFINITY));
  assert.deepEqual(new Set(credentials.all().map((credential) => credential.cooldown())), new Set([3_600_000]));
  now = 3_600_000;
  assert.deepEqual(new Set(credentials.all().map((credential) => credential.cooldown())), new Set([0]));
});

test('errors unrelated to the account change nothing, and credentials are used even if all are in cooldown', () => {
  const credentials = createCredentials(VALUES);
  const credential = credentials.pick('a');
  const key = keyOf(credential);
  credential.failed(new GatewayError('overloaded', 'Busy.', { upstreamStatus: 503 }));
  assert.equal(keyOf(credentials.pick('a')), key);
  for (let count = 0; count < 3; count++) credentials.pick('a').failed(limited());
  assert.equal(keyOf(credentials.pick('a')), key);
});

test('a provider without a key has one empty credential', () => {
  assert.deepEqual(createCredentials([]).pick('a').value, NO_CREDENTIAL);
});

test('a credential id is stable, because records of video tasks contain it', () => {
  const idOf = (value: CredentialValue) => createCredentials([value]).all()[0]?.id;
  assert.equal(idOf(keyCredential('access:secret')), idOf({ type: 'key-pair', id: 'access', secret: 'secret' }));
  assert.equal(idOf(keyCredential('one')), 'b2cd1ca059d7');
});
