import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { Secret } from '../../src/core/secret.ts';
import { type FixedKey, type KeyStore, openKeyStore } from '../../src/keys/store.ts';

const DAY = 86_400_000;

interface Opened {
  folder: string;
  file: string;
  /** A clock that tests move. */
  clock: { now: number };
  open(configured?: FixedKey[]): KeyStore;
}

function opened(context: TestContext): Opened {
  const folder = join(mkdtempSync(join(tmpdir(), 'polygate-keys-')), 'data');
  const clock = { now: Date.UTC(2027, 0, 1) };
  const stores: KeyStore[] = [];
  context.after(() => {
    for (const store of stores) store.close();
    rmSync(join(folder, '..'), { recursive: true });
  });
  const open = (configured: FixedKey[] = []) => {
    const store = openKeyStore({ folder, configured, now: () => clock.now });
    stores.push(store);
    return store;
  };
  return { folder, file: join(folder, 'keys.jsonl'), clock, open };
}

describe('a new key', () => {
  test('has its form, works, and is stored only as a digest', (context) => {
    const { file, open } = opened(context);
    const { key, secret } = open().create({ name: 'ci' });
    assert.match(secret, /^sk-pg-[A-Za-z0-9_-]{43}$/);
    assert.equal(key.prefix, secret.slice(0, 8));
    assert.equal(open().authenticate(secret)?.name, 'ci');
    assert.ok(!readFileSync(file, 'utf8').includes(secret.slice(8)));
  });

  test('is readable by its owner alone', { skip: process.platform === 'win32' }, (context) => {
    const { folder, file, open } = opened(context);
    open().create({ name: 'ci' });
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  test('may not take the name of an active one', (context) => {
    const store = opened(context).open();
    store.create({ name: 'ci' });
    assert.throws(() => store.create({ name: 'ci' }), { code: 'invalid_request', message: /already a key named "ci"/ });
    store.revoke('ci');
    assert.ok(store.create({ name: 'ci' }));
  });

  test('keeps its limits', (context) => {
    const { open } = opened(context);
    const { secret } = open().create({ name: 'ci', models: ['sandbox/*', '*/gpt-*-mini'] });
    const key = open().authenticate(secret);
    const allowed = ['sandbox/echo', 'sandbox/a/b', 'openai/gpt-5-mini', 'a/b/gpt--mini'];
    for (const model of allowed) assert.ok(key?.allows(model), model);
    for (const model of ['sandbox', 'xsandbox/echo', 'openai/gpt-5', 'openai/gpt-mini'])
      assert.ok(!key?.allows(model), model);
  });
});

describe('a key is refused when it', () => {
  test('is unknown, empty or only nearly right', (context) => {
    const store = opened(context).open();
    const { secret } = store.create({ name: 'ci' });
    for (const presented of ['', 'sk-pg-', secret.slice(0, -1), `${secret} `, secret.toUpperCase()]) {
      assert.equal(store.authenticate(presented), undefined);
    }
  });

  test('has expired', (context) => {
    const { clock, open } = opened(context);
    const store = open();
    const { secret } = store.create({ name: 'ci', expires: clock.now + DAY });
    clock.now += DAY - 1;
    assert.ok(store.authenticate(secret));
    clock.now += 1;
    assert.equal(store.authenticate(secret), undefined);
  });

  test('is revoked, by name or id', (context) => {
    const store = opened(context).open();
    const first = store.create({ name: 'first' });
    const second = store.create({ name: 'second' });
    store.revoke('first');
    store.revoke(second.key.id);
    assert.equal(store.authenticate(first.secret), undefined);
    assert.equal(store.authenticate(second.secret), undefined);
    assert.ok(store.list().every(({ revoked }) => revoked !== undefined));
    assert.throws(() => store.revoke('third'), { code: 'not_found' });
  });
});

describe('keys of the configuration', () => {
  const fixed = (key: string): FixedKey => ({ name: 'fixed', key: new Secret(key), models: ['a/*'] });

  test('work beside the stored ones and show little', (context) => {
    const store = opened(context).open([fixed('0123456789abcdef')]);
    assert.equal(store.authenticate('0123456789abcdef')?.origin, 'configuration');
    assert.deepEqual(
      store.list().map(({ name, prefix }) => [name, prefix]),
      [['fixed', '0123']],
    );
  });

  test('cannot be revoked, but replaced', (context) => {
    const store = opened(context).open([fixed('0123456789abcdef')]);
    assert.throws(() => store.revoke('fixed'), { message: /stands in the configuration/ });
    store.configure([fixed('fedcba9876543210')]);
    assert.equal(store.authenticate('0123456789abcdef'), undefined);
    assert.ok(store.authenticate('fedcba9876543210'));
  });
});

describe('a running store notices what another process did', () => {
  test('a new key at its first use, looking for strangers once a second', (context) => {
    const { clock, open } = opened(context);
    const running = open();
    assert.equal(running.authenticate('stranger'), undefined);
    const { secret } = open().create({ name: 'new' });
    assert.equal(running.authenticate(secret), undefined);
    clock.now += 1000;
    assert.equal(running.authenticate(secret)?.name, 'new');
  });

  test('a revoked key as soon as the file changes', async (context) => {
    const { open } = opened(context);
    const running = open();
    running.follow();
    const { secret } = open().create({ name: 'doomed' });
    assert.ok(running.authenticate(secret));
    open().revoke('doomed');
    const giveUp = AbortSignal.timeout(10_000);
    while (running.authenticate(secret)) {
      giveUp.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
});

describe('the file of keys', () => {
  test('survives a line that a crash cut short', (context) => {
    const { file, open } = opened(context);
    const before = open().create({ name: 'before' });
    open().create({ name: 'torn' });
    truncateSync(file, statSync(file).size - 20);
    assert.deepEqual(
      open()
        .list()
        .map(({ name }) => name),
      ['before'],
    );
    const after = open().create({ name: 'after' });
    assert.ok(open().authenticate(before.secret));
    assert.ok(open().authenticate(after.secret));
    assert.deepEqual(
      open()
        .list()
        .map(({ name }) => name),
      ['before', 'after'],
    );
  });

  test('counts no line before its end, and none that is no event', (context) => {
    const { file, open } = opened(context);
    open().create({ name: 'one' });
    const complete = readFileSync(file, 'utf8');
    appendFileSync(
      file,
      `\nnull\n[]\n{"event":"rename"}\n{"event":"revoke","id":"nobody","revoked":1}\n${complete.trimEnd()}`,
    );
    assert.equal(open().list().length, 1);
  });

  test('loses nothing when processes write at once', async (context) => {
    const { folder, open } = opened(context);
    const store = join(import.meta.dirname, '../../src/keys/store.ts');
    const program = `
      import { openKeyStore } from ${JSON.stringify(`file://${store}`)};
      const store = openKeyStore({ folder: ${JSON.stringify(folder)}, configured: [] });
      for (let index = 0; index < 20; index++) store.create({ name: process.argv[1] + index });
    `;
    const writers = ['a', 'b', 'c'].map((name) =>
      spawn(process.execPath, ['--input-type=module', '-e', program, name], { stdio: 'inherit' }),
    );
    for (const [code] of await Promise.all(writers.map((writer) => once(writer, 'exit')))) assert.equal(code, 0);
    const names = open()
      .list()
      .map(({ name }) => name);
    assert.equal(new Set(names).size, 60);
  });
});
