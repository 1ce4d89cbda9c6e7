import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { digestOf } from '../../src/keys/key.ts';
import { type KeyStore, openKeyStore, type StaticKey } from '../../src/keys/store.ts';
import { Secret } from '../../src/security/secret.ts';
import type { Store } from '../../src/store/store.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { ENGINE_OPERATIONS, engineStore } from '../store/engine-store.ts';
import { forEachStore, type TestStore, type TestStoreOptions, temporaryData } from '../store/stores.ts';

const DAY = 86_400_000;
const REFUSED = { code: 'set_in_configuration', message: 'The key "fixed" is set in polygate.yaml; change it there.' };
const MINUTE = 60_000;

interface Opened {
  store: TestStore;
  folder: string;
  /** A clock that tests move. */
  clock: { now: number };
  /** The clock of the refresh. */
  timers: ManualClock;
  /** Another process's view with each call, where that process has a store of its own. */
  open(configured?: StaticKey[], store?: Store): Promise<KeyStore>;
}

forEachStore((engine, openStore) => {
  async function opened(context: TestContext, options?: TestStoreOptions): Promise<Opened> {
    const store = await openStore(context, options);
    const folder = temporaryData(context);
    const clock = { now: Date.UTC(2027, 0, 1) };
    const timers = createManualClock(0);
    const open = (configured: StaticKey[] = [], own: Store = store) =>
      openKeyStore({ store: own, folder, configured, origin: 'polygate.yaml', now: () => clock.now, clock: timers });
    return { store, folder, clock, timers, open };
  }

  describe(`the first key (${engine})`, () => {
    test('is made by one of several gateways, and only while there is no key', async (context) => {
      const { store, open } = await opened(context);
      const gateways = [await open(), await open([], await store.beside()), await open([], await store.beside())];
      const [one, other] = gateways as [KeyStore, KeyStore];
      assert.ok(one.isEmpty());
      const text = 'the-text-of-a-first-key-0123456789';
      const made = await Promise.all(gateways.map((keys) => keys.createFirst({}, text)));
      assert.deepEqual(
        made.flatMap((created) => created?.key.name ?? []),
        ['first'],
      );
      assert.equal((await other.authenticate(text))?.name, 'first');
      assert.ok(!other.isEmpty());
      await one.revoke('first');
      assert.equal(await one.createFirst(), undefined);
      assert.equal(await one.createFirst({}, 'the-text-of-another-key-0123456789'), undefined);
      assert.deepEqual(
        (await one.list()).map(({ name }) => name),
        ['first'],
      );
    });
  });

  describe(`changes among many keys (${engine})`, () => {
    /** A store that tells how many secrets each read of keys returned. */
    async function counted(context: TestContext) {
      const { store, clock, folder, open } = await opened(context, { operations: ENGINE_OPERATIONS });
      const reads: number[] = [];
      const call = (async (name: 'readKeys', parameters: never) => {
        const result = await store.call(name, parameters);
        if (name === 'readKeys') reads.push(result.length);
        return result;
      }) as Store['call'];
      const keys = await openKeyStore({ store: { ...store, call }, folder, configured: [], now: () => clock.now });
      const other = await open([], await store.beside());
      for (let index = 0; index < 20; index++) {
        clock.now += 1;
        await other.create({ name: `key ${index}` });
      }
      clock.now += 1;
      await keys.list();
      reads.length = 0;
      return { store, clock, keys, other, reads };
    }

    test('are read alone, and take effect as before', async (context) => {
      const { keys, other, reads, clock } = await counted(context);
      const { secret } = await other.create({ name: 'new' });
      assert.equal((await keys.authenticate(secret))?.name, 'new');
      clock.now += MINUTE;
      await other.update('key 3', { name: 'renamed' });
      const { secret: rotated } = await other.rotate('new', MINUTE);
      assert.equal((await keys.identify(secret))?.name, 'new');
      assert.equal((await keys.authenticate(rotated))?.name, 'new');
      clock.now += MINUTE;
      assert.equal(await keys.authenticate(secret), undefined);
      await other.revoke('new');
      await keys.revoke('key 5');
      assert.equal(await keys.authenticate(rotated), undefined);
      const names = (await keys.list()).map(({ name }) => name);
      assert.deepEqual(names, [
        ...Array.from({ length: 20 }, (_, index) => (index === 3 ? 'renamed' : `key ${index}`)),
        'new',
      ]);
      assert.ok(Math.max(...reads) <= 4, String(reads));
    });

    test('by a gateway that does not mark them lead to a new reading of all', async (context) => {
      const { store, keys, other, reads } = await counted(context);
      const { id } = await other.find('key 7');
      const { call } = engineStore(store);
      await call('tell', { sql: "UPDATE version SET value = value + 1 WHERE subject = 'keys'", row: {} });
      await call('tell', { sql: 'UPDATE api_key SET disabled = 1 WHERE id = :id', row: { id } });
      assert.equal((await keys.find('key 7')).disabled, true);
      assert.equal(reads.at(-1), 20);
    });

    test('show the last use by any gateway in a list, and that by the current secret', async (context) => {
      const { store, keys, other } = await counted(context);
      const { id } = await other.find('key 7');
      const digest = (await store.call('readKeys', {})).find((row) => row.id === id)?.digest ?? '';
      const shown = async () => {
        const key = (await keys.list()).find((one) => one.id === id);
        return [key?.lastUsed, key?.secretLastUsed];
      };
      await store.call('recordKeyUse', { uses: [{ id, digest, at: 5000 }] });
      assert.deepEqual(await shown(), [5000, 5000]);
      const { secret } = await keys.rotate(id, 60_000);
      assert.deepEqual(await shown(), [5000, undefined]);
      await store.call('recordKeyUse', { uses: [{ id, digest, at: 6000 }] });
      assert.deepEqual(await shown(), [6000, undefined]);
      await store.call('recordKeyUse', { uses: [{ id, digest: digestOf(secret), at: 7000 }] });
      assert.deepEqual(await shown(), [7000, 7000]);
    });
  });

  describe(`a new key (${engine})`, () => {
    test('has its form, works, and is stored only as a digest', async (context) => {
      const { store, open } = await opened(context);
      const { key, secret } = await (await open()).create({ name: 'ci' });
      assert.match(secret, /^sk-pg-[A-Za-z0-9_-]{49}$/);
      assert.equal(key.prefix, secret.slice(0, 8));
      assert.equal((await (await open()).authenticate(secret))?.name, 'ci');
      assert.ok(!JSON.stringify(await store.call('readKeys', {})).includes(secret.slice(8)));
    });

    test('may not take the name of an active one', async (context) => {
      const keys = await (await opened(context)).open();
      await keys.create({ name: 'ci' });
      await assert.rejects(keys.create({ name: 'ci' }), {
        code: 'invalid_request',
        message: /already a key named "ci"/,
      });
      await keys.revoke('ci');
      assert.ok(await keys.create({ name: 'ci' }));
    });

    test('takes a name once, however many ask for it at the same moment', async (context) => {
      const { store, open } = await opened(context);
      const all = await Promise.all([open(), open([], await store.beside()), open([], await store.beside())]);
      const outcomes = await Promise.allSettled(
        Array.from({ length: 12 }, (_, index) => all[index % 3]?.create({ name: 'one' })),
      );
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal((await store.call('readKeys', {})).length, 1);
    });

    test('keeps its limits', async (context) => {
      const { open } = await opened(context);
      const { secret } = await (await open()).create({
        name: 'ci',
        settings: { models: ['sandbox/*', '*/gpt-*-mini'] },
      });
      const key = await (await open()).authenticate(secret);
      const allowed = ['sandbox/echo', 'sandbox/a/b', 'openai/gpt-5-mini', 'a/b/gpt--mini'];
      for (const model of allowed) assert.ok(key?.allows(model), model);
      for (const model of ['sandbox', 'xsandbox/echo', 'openai/gpt-5', 'openai/gpt-mini'])
        assert.ok(!key?.allows(model), model);
    });
  });

  describe(`a key is refused when it (${engine})`, () => {
    test('is unknown, empty or only nearly right', async (context) => {
      const keys = await (await opened(context)).open();
      const { secret } = await keys.create({ name: 'ci' });
      for (const presented of ['', 'sk-pg-', secret.slice(0, -1), `${secret} `, secret.toUpperCase()]) {
        assert.equal(await keys.authenticate(presented), undefined);
      }
    });

    test('has expired', async (context) => {
      const { clock, open } = await opened(context);
      const keys = await open();
      const { secret } = await keys.create({ name: 'ci', expires: clock.now + DAY });
      clock.now += DAY - 1;
      assert.ok(await keys.authenticate(secret));
      clock.now += 1;
      assert.equal(await keys.authenticate(secret), undefined);
    });

    test('was replaced, and its overlap is over or began by a clock that was set back since', async (context) => {
      const { clock, open } = await opened(context);
      const keys = await open();
      const started = clock.now;
      const { secret } = await keys.create({ name: 'ci' });
      const isValid = async () => (await keys.authenticate(secret)) !== undefined;
      clock.now = started + 400 * DAY;
      await keys.rotate('ci', DAY);
      assert.deepEqual([await isValid(), (await keys.identify(secret))?.name], [true, 'ci']);
      clock.now += DAY;
      assert.equal(await isValid(), false, 'after the overlap');
      clock.now = started + 400 * DAY - 11 * 60 * MINUTE;
      assert.equal(await isValid(), true, 'by a clock that is hours off');
      clock.now = started;
      assert.deepEqual([await isValid(), await keys.identify(secret)], [false, undefined]);
      clock.now = MINUTE;
      assert.equal(await isValid(), true, 'by a clock that is not set');
    });

    test('is revoked, by name or id', async (context) => {
      const keys = await (await opened(context)).open();
      const first = await keys.create({ name: 'first' });
      const second = await keys.create({ name: 'second' });
      await keys.revoke('first');
      await keys.revoke(second.key.id);
      assert.equal(await keys.authenticate(first.secret), undefined);
      assert.equal(await keys.authenticate(second.secret), undefined);
      assert.ok((await keys.list()).every(({ revoked }) => revoked !== undefined));
      await assert.rejects(keys.revoke('third'), { code: 'not_found' });
    });
  });

  describe(`a running gateway (${engine})`, () => {
    test('answers for the keys it knows without a look into the store', async (context) => {
      const { store, open } = await opened(context);
      const keys = await open();
      const { secret } = await keys.create({ name: 'ci' });
      await store.close();
      const answer = keys.authenticate(secret);
      assert.ok(!(answer instanceof Promise));
      assert.equal(answer?.name, 'ci');
      assert.equal(await keys.authenticate('stranger'), undefined);
    });

    test('notices a new key of another process at its first use, looking for strangers once a second', async (context) => {
      const { store, clock, open } = await opened(context);
      const running = await open();
      assert.equal(await running.authenticate('stranger'), undefined);
      const { secret } = await (await open([], await store.beside())).create({ name: 'new' });
      assert.equal(await running.authenticate(secret), undefined);
      clock.now += 1000;
      const [one, two] = await Promise.all([running.authenticate(secret), running.authenticate(secret)]);
      assert.equal(one?.name, 'new');
      assert.equal(two?.name, 'new');
    });

    test('notices within a second that another process revoked one', async (context) => {
      const { store, timers, open } = await opened(context);
      const running = await open();
      const { secret } = await running.create({ name: 'doomed' });
      running.startRefreshing();
      assert.ok(await running.authenticate(secret));
      await (await open([], await store.beside())).revoke('doomed');
      timers.advance(999);
      assert.ok(await running.authenticate(secret));
      timers.advance(1);
      while (await running.authenticate(secret)) await new Promise((resolve) => setTimeout(resolve, 5));
      await running.close();
    });

    test('notes when a key was used, to the minute', async (context) => {
      const { store, clock, open } = await opened(context);
      const keys = await open();
      const { key, secret } = await keys.create({ name: 'ci' });
      const start = clock.now;
      const version = await store.call('keysVersion', {});
      for (const later of [0, MINUTE - 1, MINUTE, MINUTE + 1]) {
        clock.now = start + later;
        await keys.authenticate(secret);
      }
      await keys.close();
      const [used] = await (await open()).list();
      assert.equal(used?.id, key.id);
      assert.equal(used?.lastUsed, start + MINUTE);
      assert.equal(await store.call('keysVersion', {}), version);
    });
  });

  test(`the file of an earlier version is taken over once (${engine})`, async (context) => {
    const { store, folder, open } = await opened(context);
    const file = join(folder, 'keys.jsonl');
    const secrets = ['sk-pg-one', 'sk-pg-two'];
    const lines = secrets.map((secret, index) => ({
      event: 'create',
      id: randomUUID(),
      name: `key ${index}`,
      digest: createHash('sha256').update(secret).digest('base64url'),
      prefix: 'sk-pg-',
      created: Date.UTC(2026, 10, index + 1),
      models: ['a/*'],
    }));
    const events = [...lines, { event: 'revoke', id: lines[1]?.id, revoked: Date.UTC(2026, 10, 5) }, { event: 'x' }];
    const text = events.map((event) => `${JSON.stringify(event)}\n`).join('');
    writeFileSync(file, `${text}not JSON\n{"event":"create","cut":`);
    const [keys] = await Promise.all([open(), open([], await store.beside())]);
    assert.equal((await keys.authenticate('sk-pg-one'))?.allows('b/c'), false);
    assert.equal(await keys.authenticate('sk-pg-two'), undefined);
    assert.deepEqual(
      (await keys.list()).map(({ name, revoked }) => [name, revoked]),
      [
        ['key 0', undefined],
        ['key 1', Date.UTC(2026, 10, 5)],
      ],
    );
    assert.ok(!existsSync(file));
    assert.ok(existsSync(`${file}.imported`));
    assert.equal((await (await open()).list()).length, 2);
  });

  describe(`keys of the configuration (${engine})`, () => {
    const fixed = (key: string): StaticKey => ({ name: 'fixed', key: new Secret(key), settings: { models: ['a/*'] } });

    test('work beside the stored ones and show little', async (context) => {
      const keys = await (await opened(context)).open([fixed('0123456789abcdef')]);
      assert.equal((await keys.authenticate('0123456789abcdef'))?.origin, 'configuration');
      assert.deepEqual(
        (await keys.list()).map(({ id, name, prefix }) => [id, name, prefix]),
        [['config:fixed', 'fixed', '0123']],
      );
    });

    test('cannot be revoked, but replaced', async (context) => {
      const keys = await (await opened(context)).open([fixed('0123456789abcdef')]);
      await assert.rejects(keys.revoke('fixed'), REFUSED);
      await assert.rejects(keys.create({ name: 'fixed' }), { message: /configuration has a key named "fixed"/ });
      keys.configure([fixed('fedcba9876543210')]);
      assert.equal(await keys.authenticate('0123456789abcdef'), undefined);
      assert.equal((await keys.authenticate('fedcba9876543210'))?.id, 'config:fixed', 'its history stays');
    });
  });
});
