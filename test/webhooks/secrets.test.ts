/** Webhook secrets: made once, shown, rotated with an overlap, encrypted, and readable only with their key. */

import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createCipher } from '../../src/security/cipher.ts';
import { Secret } from '../../src/security/secret.ts';
import { createWebhookSecrets } from '../../src/webhooks/secrets.ts';
import { signatureHeaders } from '../../src/webhooks/signature.ts';
import { until } from '../jobs/rig.ts';
import { forEachStore, openTestSqlite } from '../store/stores.ts';
import { startReceiver } from './receiver.ts';
import { encryptionKey, OWNER, startRig } from './rig.ts';

const DAY = 86_400_000;
const AUTHOR = { actor: 'command line' } as const;
const SENT_AT = 1_800_000_000_000;
const cipher = createCipher([encryptionKey]);

forEachStore((name, open) => {
  test(`concurrent calls create one secret per key (${name})`, async (context) => {
    const store = await open(context);
    const secrets = createWebhookSecrets({ store, cipher });
    assert.equal(await secrets.canSign('a'), false);
    assert.equal(await secrets.signingSecrets('a'), undefined);
    const made = await Promise.all([1, 2, 3, 4].map(() => secrets.create('a')));
    assert.equal(new Set(made).size, 1);
    assert.match(made[0] ?? '', /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.notEqual(await secrets.create('b'), made[0]);
    assert.deepEqual(await secrets.signingSecrets('a'), { current: made[0] });
    assert.equal((await secrets.reveal('a', AUTHOR))[0]?.secret, made[0]);
    const rows = await store.call('listSecrets', { owner: 'a' });
    assert.ok(!JSON.stringify(rows).includes(String(made[0]).slice(6)), 'it is encrypted');
  });

  test(`a rotated secret signs from its activation, and both are known before (${name})`, async (context) => {
    const store = await open(context);
    let now = 1_800_000_000_000;
    const secrets = createWebhookSecrets({ store: { call: store.call, now: () => now }, cipher });
    const first = await secrets.create('a');
    const second = await secrets.rotate('a');
    assert.equal(second.activeAt, now + DAY);
    assert.deepEqual(await secrets.signingSecrets('a'), { current: first, next: second.secret });
    const third = await secrets.rotate('a', { after: 1000 });
    assert.deepEqual(
      (await secrets.reveal('a', AUTHOR)).map(({ secret }) => secret),
      [first, third.secret],
    );
    now += 1000;
    assert.deepEqual(await secrets.signingSecrets('a'), { current: third.secret });
    const leaked = await secrets.rotate('a', { after: 0 });
    assert.deepEqual(await secrets.signingSecrets('a'), { current: leaked.secret });
    assert.equal((await secrets.reveal('a', AUTHOR)).length, 1);
  });

  test(`of concurrent rotations one takes effect (${name})`, async (context) => {
    const store = await open(context);
    const secrets = createWebhookSecrets({ store, cipher });
    const first = await secrets.create('a');
    const rotated = await Promise.all(Array.from({ length: 8 }, () => secrets.rotate('a')));
    const [active, next, ...more] = await secrets.reveal('a', AUTHOR);
    assert.equal(active?.secret, first);
    assert.ok(rotated.some(({ secret }) => secret === next?.secret));
    assert.deepEqual(more, []);
  });

  test(`secrets cannot be read with another encryption key, and rekeying re-encrypts all (${name})`, async (context) => {
    const store = await open(context);
    const first = await createWebhookSecrets({ store, cipher }).create('a');
    await createWebhookSecrets({ store, cipher }).create('b');
    const fresh = randomBytes(32);
    const wrong = createWebhookSecrets({ store, cipher: createCipher([fresh]) });
    await assert.rejects(wrong.verify(), { code: 'unavailable', message: /cannot be decrypted/ });
    const both = createWebhookSecrets({ store, cipher: createCipher([fresh, encryptionKey]) });
    await both.verify();
    assert.equal(await both.rekey({ actor: 'command line' }), 2);
    assert.equal(await both.rekey({ actor: 'command line' }), 0);
    const audit = await store.call('readAudit', { limit: 2 });
    assert.deepEqual(
      audit.map(({ action, actor, after }) => ({ action, actor, after })),
      [0, 2].map((secrets) => ({ action: 'encryption.rekey', actor: 'command line', after: { secrets } })),
    );
    await wrong.verify();
    assert.deepEqual(await wrong.signingSecrets('a'), { current: first });
  });
});

test('configured keys use callbacks.secret, or get an error that names it', async (context) => {
  const store = await openTestSqlite(context);
  const without = createWebhookSecrets({ store, cipher });
  await assert.rejects(without.ensureCanSign({ id: 'configured', origin: 'configuration' }), {
    ...{ code: 'invalid_request', param: 'callback_url', message: /callbacks\.secret/ },
  });
  await without.ensureCanSign({ id: 'stored', origin: 'store' });
  assert.equal(await without.canSign('stored'), true);
  const fallback = new Secret('a-secret-for-all');
  const single = createWebhookSecrets({ store, cipher, fallback });
  await single.ensureCanSign({ id: 'configured', origin: 'configuration' });
  assert.deepEqual(await single.signingSecrets('configured'), { current: 'a-secret-for-all' });
  assert.notEqual((await single.signingSecrets('stored'))?.current, 'a-secret-for-all');
  const { secret } = await single.rotate('configured');
  assert.deepEqual(await single.signingSecrets('configured'), { current: 'a-secret-for-all', next: secret });
});

test('a webhook is signed with the secret that is current when it is sent', async (context) => {
  const receiver = await startReceiver();
  context.after(receiver.close);
  const rig = await startRig(context, openTestSqlite);
  const secrets = createWebhookSecrets({ store: rig.store, cipher });
  const first = await secrets.create(OWNER);
  const { secret: second } = await secrets.rotate(OWNER);
  const taskId = await rig.owe(receiver.url());
  await until(async () => (await rig.log(taskId))?.state === 'delivered');
  const { headers, body } = receiver.received[0] ?? assert.fail();
  assert.equal(headers['x-service-signature'], createHmac('sha256', first).update(body).digest('base64url'));
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`;
  const standard = [first, second].map((secret) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return `v1,${createHmac('sha256', key).update(signed).update(body).digest('base64')}`;
  });
  assert.equal(headers['webhook-signature'], standard.join(' '));
});

test('a secret in base64 without whsec_ verifies by its characters and by its bytes, as libraries of Standard Webhooks take it', () => {
  const body = Buffer.from('{}');
  const signed = (key: Buffer | string) =>
    `v1,${createHmac('sha256', key)
      .update(`a-failed.${SENT_AT / 1000}.`)
      .update(body)
      .digest('base64')}`;
  const signaturesBy = (current: string) =>
    signatureHeaders({ id: 'a-failed', body, sentAt: SENT_AT }, { current }, true)['webhook-signature'];
  for (const secret of ['+Zb0xkGm3q4uT1nXo5mXl8m0m3o2v9m4Jd0Qq3m5x7Y=', 'a3f1'.repeat(16)]) {
    assert.equal(signaturesBy(secret), `${signed(secret)} ${signed(Buffer.from(secret, 'base64'))}`);
  }
  for (const secret of ['a-secret-of-the-whole-gateway', 'abcde']) assert.equal(signaturesBy(secret), signed(secret));
});

test('webhooks of a revoked key are still signed with its secret', async (context) => {
  const receiver = await startReceiver();
  context.after(receiver.close);
  const rig = await startRig(context, openTestSqlite);
  const { secret, stored } = createWebhookSecrets({ store: rig.store, cipher }).generateFirst(OWNER);
  const now = rig.store.now();
  const change = { author: { actor: 'admin' }, now } as const;
  const moments = { createdAt: now, expiresAt: null, revokedAt: null };
  const key = { id: OWNER, name: 'one', settings: '{}', ...moments };
  await rig.store.call('createKey', { ...change, key, secret: { digest: 'd', prefix: 'p' }, webhookSecret: stored });
  await rig.store.call('revokeKey', { ...change, id: OWNER });
  await rig.owe(receiver.url());
  await until(() => receiver.received.length === 1);
  const [{ headers, body } = assert.fail()] = receiver.received;
  assert.equal(headers['x-service-signature'], createHmac('sha256', secret).update(body).digest('base64url'));
});

test('a ciphertext is rejected in another location or after a change', () => {
  const place = { table: 'webhook_secret', id: 'a', column: 'ciphertext' };
  const envelope = cipher.encrypt('geheim ü', place);
  assert.match(envelope, /^v1:[0-9a-f]{8}:[\w-]{16}:[\w-]+:[\w-]{22}$/);
  assert.equal(cipher.decrypt(envelope, place), 'geheim ü');
  assert.notEqual(cipher.encrypt('geheim ü', place), envelope);
  for (const moved of [
    { ...place, id: 'b' },
    { ...place, column: 'x' },
    { ...place, table: 'y' },
  ]) {
    assert.throws(() => cipher.decrypt(envelope, moved), { code: 'unavailable' });
  }
  const parts = envelope.split(':');
  for (const index of [2, 3, 4]) {
    const changed = parts.with(index, `${parts[index]?.startsWith('A') ? 'B' : 'A'}${parts[index]?.slice(1)}`);
    assert.throws(() => cipher.decrypt(changed.join(':'), place), { code: 'unavailable' });
  }
  for (const broken of ['', 'v2:a:b:c:d', 'v1:a']) assert.throws(() => cipher.decrypt(broken, place));
  assert.throws(() => createCipher([Buffer.alloc(31)]), { code: 'invalid_request' });
  assert.throws(() => createCipher([]), { code: 'invalid_request' });
});
