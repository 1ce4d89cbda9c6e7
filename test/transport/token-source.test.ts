/** Token sources: one renewal for all who wait, early renewal, and what happens when the issuer fails. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyCredential } from '../../src/core/credential.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { createCredentials } from '../../src/transport/credentials.ts';
import { createTokenSource } from '../../src/transport/token-source.ts';
import { createManualClock } from '../jobs/manual-clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function issuer(life = HOUR) {
  const clock = createManualClock(1_795_000_000_000);
  let issued = 0;
  let failing = false;
  const source = createTokenSource({
    id: 'account',
    clock,
    async fetchToken() {
      issued++;
      await Promise.resolve();
      if (failing) throw new Error('the issuer is down');
      return { token: `token ${issued}`, expiresAt: clock.now() + life };
    },
  });
  return {
    clock,
    source,
    issued: () => issued,
    fail(now: boolean) {
      failing = now;
    },
  };
}

test('100 requests wait for one token, and later ones do not wait', async () => {
  const { source, issued } = issuer();
  const tokens = await Promise.all(Array.from({ length: 100 }, () => source.token()));
  assert.deepEqual(new Set(tokens), new Set(['token 1']));
  assert.equal(issued(), 1);
  assert.equal(source.token(), 'token 1');
});

test('a token is renewed before it ends, while the old one is given without waiting', async () => {
  const { clock, source, issued } = issuer();
  await source.token();
  clock.advance(HOUR - 6 * MINUTE);
  assert.equal(source.token(), 'token 1');
  assert.equal(issued(), 1);
  clock.advance(2 * MINUTE);
  for (let request = 0; request < 100; request++) assert.equal(source.token(), 'token 1');
  await new Promise(setImmediate);
  assert.equal(source.token(), 'token 2');
  assert.equal(issued(), 2);
});

test('a failed renewal is not repeated at once, and is told to nobody while the old token is valid', async () => {
  const { clock, source, issued, fail } = issuer();
  await source.token();
  fail(true);
  clock.advance(HOUR - 4 * MINUTE);
  for (let second = 0; second < 60; second++) {
    assert.equal(source.token(), 'token 1');
    await new Promise(setImmediate);
    clock.advance(1000);
  }
  assert.ok(issued() > 2 && issued() < 9, `${issued()} requests of a token in a minute`);
  clock.advance(4 * MINUTE);
  await assert.rejects(Promise.resolve(source.token()), isUpstreamError);
  const asked = issued();
  await assert.rejects(Promise.resolve(source.token()), isUpstreamError);
  assert.equal(issued(), asked, 'during the backoff nobody is asked');
  fail(false);
  clock.advance(MINUTE);
  assert.match(String(await source.token()), /^token/);
});

test('an issuer that does not answer is given up', async () => {
  const clock = createManualClock(0);
  const source = createTokenSource({ id: 'account', clock, fetchToken: () => new Promise(() => {}) });
  const waiting = assert.rejects(Promise.resolve(source.token()), isUpstreamError);
  clock.advance(31_000);
  await waiting;
});

test('a refused token is replaced, and only a refused key rests', async () => {
  const { clock, source } = issuer();
  await source.token();
  clock.advance(MINUTE);
  const refusal = new GatewayError('upstream_error', 'Refused.', { upstreamStatus: 401 });
  const [credential] = createCredentials([{ type: 'token', source }]).all();
  credential?.failed(refusal);
  assert.equal(credential?.cooldown(), 0);
  assert.equal(await source.token(), 'token 2');
  credential?.failed(refusal);
  assert.ok((credential?.cooldown() ?? 0) > 0, 'a new token that is refused is a refusal of the account');
  const [key] = createCredentials([keyCredential('one')]).all();
  key?.failed(refusal);
  assert.ok((key?.cooldown() ?? 0) > 0);
});

test('of two requests that had one token, both may try again; a late refusal keeps the new one', async () => {
  const { clock, source, issued } = issuer();
  await source.token();
  clock.advance(MINUTE);
  const sentAt = clock.now();
  assert.equal(source.refused(sentAt), true);
  assert.equal(source.refused(sentAt), true, 'the next one is on its way');
  clock.advance(1);
  assert.equal(await source.token(), 'token 2');
  assert.equal(source.refused(sentAt), true);
  assert.equal(source.token(), 'token 2');
  assert.equal(source.refused(clock.now()), false);
  assert.equal(issued(), 2);
});

test('a clock that is set back neither keeps a refused token nor a failure', async () => {
  const { clock, source, issued, fail } = issuer();
  await source.token();
  clock.advance(MINUTE);
  clock.set(clock.now() - 24 * HOUR);
  assert.equal(source.token(), 'token 1');
  await new Promise(setImmediate);
  assert.equal(source.token(), 'token 2', 'its end by the earlier clock is unknown');
  clock.set(clock.now() - 24 * HOUR);
  clock.advance(MINUTE);
  assert.equal(source.refused(clock.now()), true);
  fail(true);
  await assert.rejects(Promise.resolve(source.token()), isUpstreamError);
  assert.equal(issued(), 3);
  clock.set(clock.now() - 24 * HOUR);
  clock.advance(MINUTE);
  fail(false);
  assert.equal(await source.token(), 'token 4');
});

test('a token that has expired when it is issued is a failure', async () => {
  const { source, issued } = issuer(0);
  await assert.rejects(Promise.resolve(source.token()), /expired by the clock of this machine/);
  await assert.rejects(Promise.resolve(source.token()));
  assert.equal(issued(), 1, 'and not asked for again at once');
});

function isUpstreamError(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'upstream_error' && !error.message.includes('issuer');
}
