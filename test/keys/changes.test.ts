/** Key changes: effects, complete audit log, atomicity. */

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { isIntact } from '../../src/keys/key.ts';
import { type KeyStore, openKeyStore } from '../../src/keys/store.ts';
import { createCipher } from '../../src/security/cipher.ts';
import { Secret } from '../../src/security/secret.ts';
import { createWebhookSecrets } from '../../src/webhooks/secrets.ts';
import { forEachStore, type TestStore, temporaryData } from '../store/stores.ts';

const HOUR = 3_600_000;
const REFUSED = { code: 'set_in_configuration', message: 'The key "fixed" is set in polygate.yaml; change it there.' };
const ADMIN = { actor: 'admin', requestId: 'req_1' } as const;

interface Opened {
  store: TestStore;
  keys: KeyStore;
  clock: { now: number };
  secrets: ReturnType<typeof createWebhookSecrets>;
  /** Another process on the same data. */
  beside(): Promise<KeyStore>;
}

forEachStore((engine, openStore) => {
  async function opened(context: TestContext): Promise<Opened> {
    const store = await openStore(context);
    const folder = temporaryData(context);
    const clock = { now: Date.UTC(2027, 0, 1) };
    const now = () => clock.now;
    const secrets = createWebhookSecrets({
      store: { call: store.call, now },
      cipher: createCipher([Buffer.alloc(32, 7)]),
    });
    const options = {
      folder,
      now,
      origin: 'polygate.yaml',
      newWebhookSecret: async (owner: string) => secrets.generateFirst(owner),
    };
    const configured = [{ name: 'fixed', key: new Secret('0123456789abcdef') }];
    const open = (own: TestStore | Awaited<ReturnType<TestStore['beside']>>) =>
      openKeyStore({ ...options, store: own, configured });
    return { store, clock, secrets, keys: await open(store), beside: async () => open(await store.beside()) };
  }

  const audit = (store: TestStore) => store.call('readAudit', { limit: 100 });

  describe(`changes of keys (${engine})`, () => {
    test('merge settings, and null takes one back', async (context) => {
      const { keys } = await opened(context);
      const settings = { surfaces: ['chat' as const], limits: { requestsPerMinute: 5 }, budgets: { day: '1' } };
      const { key } = await keys.create({ name: 'ci', settings });
      const patch = { limits: { tokensPerMinute: 100 }, budgets: { day: null, month: '9.5' }, surfaces: null };
      const changed = await keys.update('ci', { settings: patch, name: 'build', expiresAt: key.created ?? 0 });
      assert.deepEqual(changed.settings, {
        limits: { requestsPerMinute: 5, tokensPerMinute: 100 },
        budgets: { month: '9.5' },
      });
      assert.equal(changed.name, 'build');
      assert.equal(changed.expires, key.created);
      assert.equal((await keys.update('build', { expiresAt: null })).expires, undefined);
    });

    test('keep what a later version wrote into the settings', async (context) => {
      const { keys } = await opened(context);
      await keys.create({ name: 'ci', settings: { tomorrow: { x: 1 } } as object });
      const { settings } = await keys.update('ci', { settings: { readOnly: true } });
      assert.deepEqual(settings, { tomorrow: { x: 1 }, readOnly: true });
    });

    test('of two processes at once all hold', async (context) => {
      const { keys, beside } = await opened(context);
      const other = await beside();
      await keys.create({ name: 'ci' });
      const patches = Array.from({ length: 10 }, (_, index) => ({ settings: { modelLimits: { [`m${index}`]: {} } } }));
      await Promise.all(patches.map((patch, index) => (index % 2 ? keys : other).update('ci', patch)));
      const { settings } = await keys.find('ci');
      assert.equal(Object.keys(settings.modelLimits ?? {}).length, 10);
    });

    test('give a name to one of those who want it at once', async (context) => {
      const { keys, beside } = await opened(context);
      const other = await beside();
      for (const name of ['a', 'b', 'c', 'd']) await keys.create({ name });
      const renamed = await Promise.allSettled(
        ['a', 'b', 'c', 'd'].map((name, index) => (index % 2 ? keys : other).update(name, { name: 'one' })),
      );
      assert.equal(renamed.filter(({ status }) => status === 'fulfilled').length, 1);
    });

    test('are refused where somebody else was first since the key was read', async (context) => {
      const { keys, beside } = await opened(context);
      const { key } = await keys.create({ name: 'ci', settings: { owner: 'Ana' } });
      const other = await beside();
      const read = { unchangedSince: key.updated as number };
      // In the same millisecond.
      await other.update(key.id, { settings: { owner: 'Ben' }, ...read });
      await assert.rejects(keys.update(key.id, { settings: { owner: 'Cleo' }, ...read }), {
        code: 'changed_meanwhile',
      });
      const [now] = (await keys.list()).filter(({ id }) => id === key.id);
      assert.equal(now?.settings.owner, 'Ben');
      const again = await keys.update(key.id, { settings: { owner: 'Cleo' }, unchangedSince: now?.updated as number });
      assert.equal(again.settings.owner, 'Cleo');
    });

    test('have later and later times, also within a millisecond and where the clock was set back', async (context) => {
      const { keys, clock } = await opened(context);
      const { key } = await keys.create({ name: 'ci', settings: { owner: 'Ana' } });
      const times = [key.updated as number];
      const note = ({ updated }: { updated?: number }) => times.push(updated as number);
      note(await keys.update(key.id, { settings: { owner: 'Ben' } }));
      clock.now -= HOUR;
      note((await keys.rotate(key.id, HOUR, ADMIN)).key);
      note(await keys.update(key.id, { settings: { owner: 'Cleo' } }));
      const stale = { unchangedSince: times[1] as number };
      await assert.rejects(keys.update(key.id, { settings: { owner: 'Dan' }, ...stale }), {
        code: 'changed_meanwhile',
      });
      note(await keys.revoke(key.id, ADMIN));
      const [first] = times as [number];
      assert.deepEqual(times, [first, first + 1, first + 2, first + 3, first + 4]);
    });

    test('disable and enable', async (context) => {
      const { keys } = await opened(context);
      const { secret } = await keys.create({ name: 'ci' });
      await keys.update('ci', { disabled: true });
      assert.equal(await keys.authenticate(secret), undefined);
      await keys.update('ci', { disabled: false });
      assert.ok(await keys.authenticate(secret));
    });

    test('are refused for revoked, unknown and configured keys', async (context) => {
      const { keys } = await opened(context);
      const { key } = await keys.create({ name: 'ci' });
      await keys.revoke('ci');
      await assert.rejects(keys.update(key.id, { disabled: false }), { message: /revoked for good/ });
      await assert.rejects(keys.rotate(key.id), { message: /revoked for good/ });
      await assert.rejects(keys.update('nobody', {}), { code: 'not_found' });
      await assert.rejects(keys.update('fixed', {}), REFUSED);
      await assert.rejects(keys.rotate('fixed'), REFUSED);
      assert.equal((await keys.find('fixed')).origin, 'configuration');
    });
  });

  describe(`rotation (${engine})`, () => {
    test('lets the old secret work until the overlap ends', async (context) => {
      const { keys, clock } = await opened(context);
      const first = await keys.create({ name: 'ci' });
      const second = await keys.rotate('ci', HOUR);
      assert.equal(second.key.id, first.key.id);
      assert.equal(second.key.prefix, second.secret.slice(0, 8));
      assert.equal(second.key.previousUntil, clock.now + HOUR);
      clock.now += HOUR - 1;
      assert.equal((await keys.authenticate(first.secret))?.id, first.key.id);
      assert.equal((await keys.authenticate(second.secret))?.id, first.key.id);
      clock.now += 1;
      assert.equal(await keys.authenticate(first.secret), undefined);
      assert.ok(await keys.authenticate(second.secret));
    });

    test('makes the old secret no text of the key once the overlap ends', async (context) => {
      const { keys, clock } = await opened(context);
      const first = await keys.create({ name: 'ci' });
      const second = await keys.rotate('ci', HOUR);
      assert.equal((await keys.identify(first.secret))?.id, first.key.id);
      clock.now += HOUR;
      assert.equal(await keys.identify(first.secret), undefined);
      await keys.update('ci', { disabled: true });
      assert.equal((await keys.identify(second.secret))?.id, first.key.id);
    });

    test('at once, after a leak', async (context) => {
      const { keys } = await opened(context);
      const first = await keys.create({ name: 'ci' });
      const second = await keys.rotate('ci', 0);
      assert.equal(await keys.authenticate(first.secret), undefined);
      assert.ok(await keys.authenticate(second.secret));
    });

    test('leaves two secrets at most, whoever rotates at the same time', async (context) => {
      const { store, keys, beside } = await opened(context);
      const other = await beside();
      await keys.create({ name: 'ci' });
      const all = await Promise.all([0, 1, 2, 3].map((index) => (index % 2 ? keys : other).rotate('ci', HOUR)));
      const rows = await store.call('readKeys', {});
      assert.equal(rows.length, 2);
      assert.equal(rows.filter(({ secretExpiresAt }) => secretExpiresAt === null).length, 1);
      await keys.list();
      const working = await Promise.all(all.map(({ secret }) => keys.authenticate(secret)));
      assert.equal(working.filter(Boolean).length, 2);
    });
  });

  describe(`the log (${engine})`, () => {
    test('has every change in order, and no secret', async (context) => {
      const { store, keys, secrets } = await opened(context);
      const { key, secret, webhookSecret } = await keys.create({ name: 'ci' }, ADMIN);
      await keys.update('ci', { disabled: true }, ADMIN);
      const rotated = await keys.rotate('ci', HOUR, { actor: 'command line' });
      const signs = await secrets.rotate(key.id, { author: ADMIN });
      await keys.revoke('ci');
      await keys.revoke(key.id);
      const entries = await audit(store);
      assert.deepEqual(
        entries.map(({ id, actor, action, subject }) => [id, actor, action, subject === key.id]),
        [
          [5, 'gateway', 'key.revoke', true],
          [4, 'admin', 'webhook-secret.rotate', true],
          [3, 'command line', 'key.rotate', true],
          [2, 'admin', 'key.update', true],
          [1, 'admin', 'key.create', true],
        ],
      );
      assert.equal(entries[4]?.requestId, 'req_1');
      assert.deepEqual([entries[3]?.before.disabled, entries[3]?.after.disabled], [false, true]);
      const text = JSON.stringify(entries);
      for (const hidden of [secret, rotated.secret, webhookSecret ?? '', signs.secret]) {
        assert.ok(hidden.length > 40 && !text.includes(hidden.slice(10)), text);
      }
    });

    test('has no entry for a change that changes nothing', async (context) => {
      const { store, keys } = await opened(context);
      const settings = { models: ['a/*'] };
      const { key } = await keys.create({ name: 'ci', settings });
      const nothing = { settings: { limits: { requestsPerMinute: null }, budgets: {}, owner: null } };
      for (const patch of [{}, { name: 'ci' }, { settings }, { disabled: false }, nothing])
        await keys.update(key.id, patch);
      assert.deepEqual(
        (await audit(store)).map(({ action }) => action),
        ['key.create'],
      );
    });

    test('stands exactly when the change does', async (context) => {
      const { store, keys } = await opened(context);
      await keys.create({ name: 'ci' });
      const before = await audit(store);
      await assert.rejects(keys.create({ name: 'ci' }), { message: /already a key named "ci"/ });
      await assert.rejects(keys.update('nobody', { name: 'x' }));
      const secret = { digest: 'd', prefix: 'p' };
      const change = { author: ADMIN, now: 1 };
      await assert.rejects(store.call('rotateKey', { ...change, id: 'nobody', secret, until: 2 }));
      const [row] = await store.call('readKeys', {});
      assert.ok(row);
      // The secret is another key's, which is found after the rest was done.
      await assert.rejects(
        store.call('rotateKey', { ...change, id: row.id, secret: { digest: row.digest, prefix: 'p' }, until: 2 }),
      );
      assert.deepEqual(await audit(store), before);
      assert.equal((await store.call('readKeys', {}))[0]?.secretExpiresAt, null);
    });

    test('pages from newest to oldest, also by what was changed', async (context) => {
      const { store, keys } = await opened(context);
      const { key } = await keys.create({ name: 'a' });
      await keys.create({ name: 'b' });
      await keys.revoke('a');
      const ids = async (page: object) => (await store.call('readAudit', { limit: 2, ...page })).map(({ id }) => id);
      assert.deepEqual(await ids({}), [3, 2]);
      assert.deepEqual(await ids({ after: 2 }), [1]);
      assert.deepEqual(await ids({ subject: key.id }), [3, 1]);
    });
  });

  test(`a webhook secret comes with the key, encrypted (${engine})`, async (context) => {
    const { store, keys, secrets } = await opened(context);
    const { key, webhookSecret } = await keys.create({ name: 'ci' });
    assert.match(webhookSecret ?? '', /^whsec_/);
    assert.deepEqual(
      (await secrets.reveal(key.id, { actor: 'command line' })).map(({ secret }) => secret),
      [webhookSecret],
    );
    const [row] = await store.call('listSecrets', { owner: key.id });
    assert.match(row?.ciphertext ?? '', /^v1:/);
    await assert.rejects(keys.create({ name: 'ci' }));
    assert.equal((await store.call('scanSecrets', { after: '', limit: 10 })).length, 1);
  });

  test(`a key that is found somewhere is known by its text (${engine})`, async (context) => {
    const { keys } = await opened(context);
    const { key, secret } = await keys.create({ name: 'ci' });
    assert.equal((await keys.identify(secret))?.id, key.id);
    await keys.revoke('ci');
    assert.equal((await keys.identify(secret))?.revoked, (await keys.find(key.id)).revoked);
    assert.equal(await keys.identify('sk-pg-other'), undefined);
  });

  test(`a mistyped key is refused without a look into the store (${engine})`, async (context) => {
    const { keys, store } = await opened(context);
    const { secret } = await keys.create({ name: 'ci' });
    const wrong = (secret[20] === 'A' ? 'B' : 'A') + secret.slice(21);
    const mistyped = secret.slice(0, 20) + wrong;
    assert.ok(isIntact(secret) && !isIntact(mistyped));
    await store.close();
    assert.equal(keys.authenticate(mistyped), undefined);
  });
});

test('a checksum is asked of our own keys only', () => {
  for (const key of ['0123456789abcdef', `sk-pg-${'a'.repeat(43)}`, '']) assert.ok(isIntact(key), key);
  assert.ok(!isIntact(`sk-pg-${'a'.repeat(49)}`));
});
