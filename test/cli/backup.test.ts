/** `polygate backup` and `polygate restore`, beside a gateway that answers requests, and killed at every step. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { backUp } from '../../src/backup/backup.ts';
import { restore } from '../../src/backup/restore.ts';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { OPERATIONS_MODULE, readStoreStatus } from '../../src/store/open.ts';
import { lockFolder } from '../../src/store/sqlite/folder-lock.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import { RECORD_KINDS } from '../../src/usage/journal/format.ts';
import { encodeEnd } from '../../src/usage/journal/records.ts';
import { temporaryData } from '../store/stores.ts';
import { append, close, openJournal } from '../usage/journal/journals.ts';
import { completion, intent } from '../usage/records.ts';
import { type Outcome, type Program, program, type Running } from './program.ts';

interface Loaded extends Program {
  url: string;
  key: string;
  gateway: Running;
  /** Ids of the requests whose responses have ended, in their order. */
  acknowledged: string[];
  /** Ends the requests that go on without a pause. */
  stop(): Promise<void>;
}

const windows = process.platform === 'win32';
const CLIENTS = 4;

/** A gateway of its own with a first key, and clients that ask it all the time. */
async function loaded(context: TestContext, args: string[] = []): Promise<Loaded> {
  const own = program(context);
  const gateway = own.start(['serve', '--port', '0', ...args]);
  const [, url = ''] = await gateway.shows(/listens on (\S+)/);
  const [key] = await gateway.shows(/sk-pg-[A-Za-z0-9_-]{49}/);
  await gateway.shows(/Ctrl-C stops it/);
  const acknowledged: string[] = [];
  let isOver = false;
  // A request that is refused on a busy disk, or broken by a kill, is not acknowledged.
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isOver)
      acknowledged.push(
        ...(await ask(url, key).then(
          (id) => [id],
          () => [],
        )),
      );
  });
  const stop = async () => {
    isOver = true;
    await Promise.all(clients);
  };
  context.after(stop);
  return { ...own, url, key, gateway, acknowledged, stop };
}

/** The id of a request that was answered in full. */
async function ask(url: string, key: string): Promise<string> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  assert.equal(response.status, 200, await response.text());
  return String(response.headers.get('x-polygate-generation-id'));
}

function recordedIn(file: string): Set<string> {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare('SELECT id FROM usage_request').all();
  database.close();
  return new Set(rows.map(({ id }) => String(id)));
}

function succeeded({ code, stdout, stderr }: Outcome): string {
  assert.equal(code, 0, stderr);
  return stdout;
}

describe('a backup of a gateway under load', () => {
  for (const args of [[], ['--workers', '2']]) {
    test(`has everything that was acknowledged before it began (${args.join(' ') || 'one process'})`, async (context) => {
      const { folder, run, acknowledged, stop, gateway, key } = await loaded(context, args);
      for (const name of ['one', 'two', 'three']) {
        while (acknowledged.length < 30) await new Promise(setImmediate);
        const before = [...acknowledged];
        const outcome = await run(['backup', `backup/${name}`]);
        assert.match(succeeded(outcome), /^2 files with [\d.]+ MB are in backup\/\w+\.\n$/);
        assert.match(outcome.stderr, /^The encryption key is not in it\. [^\n]*\n$/);
        const recorded = recordedIn(join(folder, 'backup', name, 'usage.db'));
        assert.deepEqual(
          before.filter((id) => !recorded.has(id)),
          [],
        );
        assert.deepEqual(readdirSync(join(folder, 'backup', name)).sort(), ['manifest.json', 'state.db', 'usage.db']);
      }
      await stop();
      gateway.signal('SIGTERM');
      await gateway.ended;

      const other = program(context);
      cpSync(join(folder, 'data/encryption.key'), join(other.folder, 'key'));
      const restore = ['restore', join(folder, 'backup/three'), '--encryption-key', 'key'];
      assert.match(succeeded(await other.run([...restore, '--check'])), /can be restored: 2 files/);
      assert.ok(!existsSync(join(other.folder, 'data')), 'a check changes nothing');
      succeeded(await other.run(restore));
      const restored = other.start(['serve', '--port', '0', ...args]);
      const [, url = ''] = await restored.shows(/listens on (\S+)[\s\S]*Ctrl-C/);
      await ask(url, key);
      restored.signal('SIGTERM');
      const { stderr } = await restored.ended;
      assert.doesNotMatch(stderr, /"level":[4-6]0/, 'nothing is missing');
    });
  }

  test('is completed from the journals that a lost store left', async (context) => {
    const { folder, run, start, acknowledged, stop, gateway } = await loaded(context);
    succeeded(await run(['backup', 'backup']));
    const then = acknowledged.length;
    while (acknowledged.length < then + 20) await new Promise(setImmediate);
    gateway.signal('SIGKILL');
    await Promise.all([stop(), gateway.ended]);
    for (const name of readdirSync(join(folder, 'data'))) if (/\.db/.test(name)) rmSync(join(folder, 'data', name));
    const lost = await run(['keys', 'list']);
    assert.match(lost.stderr, /There is no store|polygate restore/);
    succeeded(await run(['restore', 'backup']));
    const again = start(['serve', '--port', '0']);
    await again.shows(/Ctrl-C stops it/);
    again.signal('SIGTERM');
    await again.ended;
    const recorded = recordedIn(join(folder, 'data/usage.db'));
    assert.deepEqual(
      acknowledged.filter((id) => !recorded.has(id)),
      [],
    );
  });
});

/** A store without a gateway, with one key, and a backup of it. */
async function backedUp(context: TestContext): Promise<Program> {
  const own = program(context);
  succeeded(await own.run(['keys', 'create', '--name', 'kept']));
  mkdirSync(join(own.folder, 'data/videos/task'), { recursive: true });
  writeFileSync(join(own.folder, 'data/videos/task/0.mp4'), 'a film');
  succeeded(await own.run(['backup', 'backup', '--media', '--encryption-key', 'apart/encryption.key']));
  return own;
}

describe('a backup is refused', () => {
  test('into a folder that is not empty, and with the key beside what it decrypts', async (context) => {
    const { folder, run } = await backedUp(context);
    const again = await run(['backup', 'backup']);
    assert.deepEqual([again.code, /backup is not empty\. Name a new folder/.test(again.stderr)], [1, true]);
    for (const file of ['next/encryption.key', 'next/sub/key']) {
      const { code, stderr } = await run(['backup', 'next', '--encryption-key', file]);
      assert.deepEqual([code, stderr], [1, `--encryption-key ${file}: keep the key apart from the backup.\n`]);
    }
    writeFileSync(join(folder, 'other.key'), 'the key of earlier backups');
    for (const [file, reason] of [
      ['other.key', 'the file has something else, such as the key of earlier backups; name a new one'],
      ['data', 'it is no file'],
      ['data/encryption.key', 'this is the key itself; name another place for its copy'],
    ]) {
      const { code, stderr } = await run(['backup', 'next', '--encryption-key', String(file)]);
      assert.deepEqual([code, stderr], [1, `--encryption-key ${file}: ${reason}.\n`]);
    }
    assert.equal(readFileSync(join(folder, 'other.key'), 'utf8'), 'the key of earlier backups');
    succeeded(await run(['backup', 'next', '--encryption-key', 'apart/encryption.key']));
    if (!windows) {
      const modes = [
        'backup',
        'backup/state.db',
        'backup/manifest.json',
        'backup/videos/task/0.mp4',
        'apart/encryption.key',
      ];
      for (const name of modes) assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name);
    }
  });

  test('without a store, and of a damaged one', async (context) => {
    const empty = program(context);
    const none = await empty.run(['backup', 'backup']);
    assert.deepEqual([none.code, /There is no store in/.test(none.stderr)], [1, true]);
    assert.equal(existsSync(join(empty.folder, 'backup')), false);
    const { folder, run } = await backedUp(context);
    const file = join(folder, 'data/usage.db');
    const bytes = readFileSync(file);
    bytes.fill(0x55, 4096, 12_288);
    writeFileSync(file, bytes);
    const { code, stderr } = await run(['backup', 'next']);
    assert.equal(code, 1);
    assert.match(stderr, /^usage\.db (in .* is damaged|cannot be copied): [^\n]*\n$/);
    assert.match((await run(['restore', 'next', '--check'])).stderr, /no complete backup/);
  });
});

describe('a restore is refused', () => {
  test('while a gateway runs, and over a store unless that is moved aside', async (context) => {
    const { folder, run, start } = await backedUp(context);
    const gateway = start(['serve', '--port', '0']);
    await gateway.shows(/Ctrl-C stops it/);
    for (const args of [
      ['restore', 'backup'],
      ['restore', 'backup', '--replace'],
    ]) {
      const { code, stderr } = await run(args);
      assert.deepEqual([code, /^A gateway runs on the folder .* already\./.test(stderr)], [1, true], stderr);
    }
    gateway.signal('SIGTERM');
    await gateway.ended;
    assert.match((await run(['restore', 'backup'])).stderr, /There is a store in .*\. --replace moves it aside\.\n$/);
    succeeded(await run(['keys', 'create', '--name', 'later']));
    const replaced = succeeded(await run(['restore', 'backup', '--replace']));
    const [, aside = ''] = /The store that was there is in (.*)\.\n$/.exec(replaced) ?? [];
    assert.ok(existsSync(join(aside, 'state.db')) && existsSync(join(aside, 'journal')));
    const names = JSON.parse(succeeded(await run(['keys', 'list', '--json']))).map(
      ({ name }: { name: string }) => name,
    );
    assert.deepEqual(names, ['kept']);
    assert.equal(readFileSync(join(folder, 'data/videos/task/0.mp4'), 'utf8'), 'a film');
  });

  test('of a backup that is not what was written, with the file', async (context) => {
    const { folder, run } = await backedUp(context);
    const change = (name: string, edit: (text: Buffer) => Buffer | string | undefined, reason: RegExp) =>
      ({ name, edit, reason }) as const;
    const flipped = (bytes: Buffer) => {
      bytes.writeUInt8(bytes.readUInt8(200) ^ 1, 200);
      return bytes;
    };
    const manifest = (edit: (value: Record<string, unknown>) => void) => (bytes: Buffer) => {
      const value = JSON.parse(bytes.toString());
      edit(value);
      return JSON.stringify(value);
    };
    const outside = [{ name: 'videos/../../outside', bytes: 0, sha256: 'a'.repeat(64) }];
    const changes = [
      change('state.db', flipped, /state\.db is not the file that was written/),
      change('usage.db', (bytes) => bytes.subarray(0, -1), /usage\.db has \d+ bytes instead of \d+/),
      change('videos/task/0.mp4', () => undefined, /videos\/task\/0\.mp4 is missing/),
      change('manifest.json', () => undefined, /no complete backup: it has no manifest\.json/),
      change('manifest.json', () => '{', /manifest\.json is damaged/),
      change(
        'manifest.json',
        manifest((value) => Object.assign(value, { format: 2 })),
        /is damaged, or of a backup that/,
      ),
      change(
        'manifest.json',
        manifest((value) => Object.assign(value, { files: outside })),
        /manifest\.json is damaged/,
      ),
      change(
        'manifest.json',
        manifest((value) => Object.assign(value, { encryptionKeyId: 'x' })),
        /encrypted with another key/,
      ),
    ];
    for (const { name, edit, reason } of changes) {
      rmSync(join(folder, 'copy'), { recursive: true, force: true });
      cpSync(join(folder, 'backup'), join(folder, 'copy'), { recursive: true });
      const file = join(folder, 'copy', name);
      const edited = edit(readFileSync(file));
      if (edited === undefined) rmSync(file);
      else writeFileSync(file, edited);
      for (const args of [
        ['restore', 'copy', '--check'],
        ['restore', 'copy', '--replace'],
      ]) {
        const { code, stderr } = await run(args);
        assert.equal(code, 1, name);
        assert.match(stderr, reason);
      }
    }
    const config = '{"data": "postgres://nobody@127.0.0.1:1/none"}';
    const elsewhere = await run(['restore', 'backup', '--config', config]);
    assert.match(elsewhere.stderr, /its store in a data folder, and the configuration names PostgreSQL/);
    assert.match(succeeded(await run(['keys', 'list'])), /^kept\t/, 'the store is as it was');
  });

  test('without the key that its secrets were encrypted with', async (context) => {
    const { folder } = await backedUp(context);
    const other = program(context);
    const backup = join(folder, 'backup');
    const missing = await other.run(['restore', backup]);
    assert.deepEqual(
      [missing.code, /The encryption key .* is missing/.test(missing.stderr)],
      [1, true],
      missing.stderr,
    );
    assert.match(missing.stderr, /by --encryption-key\.$/m);
    writeFileSync(join(other.folder, 'wrong'), `${Buffer.alloc(32, 7).toString('base64')}\n`);
    const wrong = await other.run(['restore', backup, '--encryption-key', 'wrong']);
    assert.match(wrong.stderr, /^The backup was encrypted with another key than wrong\.\n$/);
    assert.ok(!existsSync(join(other.folder, 'data')));
    succeeded(await other.run(['restore', backup, '--encryption-key', join(folder, 'apart/encryption.key')]));
    assert.match(succeeded(await other.run(['keys', 'list'])), /^kept\t/);
  });
});

test('copies of the encryption key are private, whatever mode the file has', { skip: windows }, async (context) => {
  const { folder, run } = await backedUp(context);
  const other = program(context);
  const modeOf = (name: string) => statSync(join(other.folder, name)).mode & 0o777;
  chmodSync(join(folder, 'data/encryption.key'), 0o644);
  const copy = join(other.folder, 'apart.key');
  succeeded(await run(['backup', 'next', '--encryption-key', copy]));
  assert.equal(modeOf('apart.key'), 0o600);
  chmodSync(copy, 0o644);
  succeeded(await other.run(['restore', join(folder, 'next'), '--encryption-key', copy]));
  assert.equal(modeOf('data/encryption.key'), 0o600);
});

test('a backup is complete also where its time cannot be noted in the store, as on a full disk', async (context) => {
  const { folder, run } = await backedUp(context);
  const database = new DatabaseSync(join(folder, 'data/state.db'));
  context.after(() => database.close());
  database.exec('BEGIN IMMEDIATE');
  const { code, stdout, stderr } = await run(['backup', 'again']);
  assert.deepEqual([code, stdout.replace(/[\d.]+ MB/, 'N MB')], [0, '2 files with N MB are in again.\n'], stderr);
  assert.match(
    stderr,
    /^The time of the backup cannot be noted for polygate_last_backup_seconds: another process holds the lock .*\.\n/,
  );
  database.exec('ROLLBACK');
  succeeded(await run(['restore', 'again', '--check']));
});

/** Kills the process before the Nth change of the file system. */
const killer = (number: number) =>
  `data:text/javascript,${encodeURIComponent(`
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    import { isMainThread } from 'node:worker_threads';
    let left = ${number};
    for (const name of ['renameSync', 'mkdirSync', 'rmSync', 'fsyncSync', 'copyFileSync']) {
      const change = fs[name];
      fs[name] = (...args) => {
        if (isMainThread && --left === 0) process.kill(process.pid, 'SIGKILL');
        return change(...args);
      };
    }
    syncBuiltinESMExports();
  `)}`;

test('a restore that is killed at any step leaves a store or none, and can be repeated', {
  skip: windows,
}, async (context) => {
  const { folder } = await backedUp(context);
  const args = ['restore', join(folder, 'backup'), '--encryption-key', join(folder, 'apart/encryption.key')];
  const seen = new Set<string>();
  for (let number = 1; ; number++) {
    const other = program(context);
    const killed = await other.start(args, { NODE_OPTIONS: `--import ${killer(number)}` }).ended;
    if (killed.code === 0) {
      assert.ok(number > 10, `${number} steps`);
      return;
    }
    const data = join(other.folder, 'data');
    const isPlaced = existsSync(join(data, 'state.db'));
    const names = String(existsSync(data) && readdirSync(data).filter((name) => !name.startsWith('replaced')));
    const isNew = !seen.has(names);
    seen.add(names);
    if (isNew && !isPlaced && existsSync(join(data, 'usage.db'))) {
      const started = await other.run(['serve', '--port', '0']);
      assert.deepEqual(
        [started.code, /restoring/.test(started.stderr)],
        [1, true],
        `step ${number}: ${started.stderr}`,
      );
    }
    if (!isNew) continue;
    if (!isPlaced) succeeded(await other.run(args));
    assert.match(succeeded(await other.run(['keys', 'list'])), /^kept\t/, `step ${number}`);
  }
});

test('a backup of more files than may be open at once is checked', { skip: windows }, async (context) => {
  const data = temporaryData(context);
  mkdirSync(join(data, 'videos'));
  for (let number = 0; number < 400; number++) writeFileSync(join(data, 'videos', String(number)), 'video');
  const folder = join(temporaryData(context), 'backup');
  const config = { data, postgres: new Secret('postgres://nobody@127.0.0.1:1/none'), encryption: { keys: [] } };
  await backUp({ config, folder, media: true, log: { error: assert.fail, warn: assert.fail } });
  const { stdout, stderr } = spawnSync(
    'sh',
    [
      '-c',
      'ulimit -n 200 && exec "$0" --input-type=module --eval "$1"',
      process.execPath,
      `
    const { checkBackup } = await import(${JSON.stringify(new URL('../../src/backup/check.ts', import.meta.url))});
    const { files } = await checkBackup({ config: ${JSON.stringify({ data, postgres: 'another', encryption: { keys: [] } })}, folder: ${JSON.stringify(folder)} });
    console.log(files.length);
  `,
    ],
    { encoding: 'utf8' },
  );
  assert.equal(stdout, '400\n', stderr);
});

test('a backup of a store of an earlier version has the records that only its journal has', async (context) => {
  const data = temporaryData(context);
  const migrations = join(temporaryData(context), 'migrations');
  cpSync(MIGRATIONS_FOLDER, migrations, { recursive: true });
  rmSync(join(migrations, 'usage/0021-unpriced.sql'));
  const places = { operations: OPERATIONS_MODULE, migrations: pathToFileURL(`${migrations}/`) };
  const store = await openSqlite({ folder: data, role: 'owner', ...places });
  await store.close();
  const before = readFileSync(join(data, 'usage.db'));
  mkdirSync(join(data, 'journal/1'), { recursive: true });
  const { journal } = await openJournal(join(data, 'journal/1'));
  const end = { kind: RECORD_KINDS.end, payload: encodeEnd(intent('a'), completion()), segment: 0, end: 0 };
  await new Promise<void>((onDurable) => journal.append({ ...end, onDurable }));
  await close(journal);
  const folder = join(temporaryData(context), 'backup');
  const log = { error: assert.fail, warn: assert.fail };
  await backUp({ config: { data, encryption: { keys: [] } }, folder, media: false, log });
  assert.deepEqual([...recordedIn(join(folder, 'usage.db'))], ['a']);
  assert.deepEqual(readFileSync(join(data, 'usage.db')), before);
  assert.equal((await readStoreStatus({ data: folder })).pending.length, 0);
});

describe('journals of a gateway on PostgreSQL', () => {
  const postgres = new Secret('postgres://nobody@127.0.0.1:1/none');
  const encryption = { keys: [new Secret('a'.repeat(32))] };
  const log = { error: assert.fail, warn: assert.fail };

  /** A data folder whose journal has a record, and the bytes of its segment. */
  async function journaled(context: TestContext, id: string) {
    const data = temporaryData(context);
    const folder = join(data, 'journal', '1');
    mkdirSync(folder, { recursive: true });
    const { journal } = await openJournal(folder);
    await append(journal, RECORD_KINDS.end, id);
    await close(journal);
    const name = readdirSync(folder).find((file) => file.endsWith('.journal')) ?? '';
    return { data, path: join(folder, name), bytes: readFileSync(join(folder, name)) };
  }

  async function backedUpJournal(context: TestContext) {
    const { data, bytes } = await journaled(context, 'kept');
    const folder = join(temporaryData(context), 'backup');
    await backUp({ config: { data, postgres, encryption }, folder, media: false, log });
    return { folder, bytes };
  }

  test('are copied although a segment goes while they are looked at', { skip: windows }, async (context) => {
    const { data, bytes } = await journaled(context, 'kept');
    // Its name is listed, and it cannot be opened.
    symlinkSync('gone', join(data, 'journal/1/0009.journal'));
    const folder = join(temporaryData(context), 'backup');
    const { files } = await backUp({ config: { data, postgres, encryption }, folder, media: false, log });
    assert.deepEqual(
      files.map(({ bytes: size }) => size),
      [bytes.length],
    );
  });

  test('replace those of another gateway, and are not left out for them', async (context) => {
    const backup = await backedUpJournal(context);
    const other = await journaled(context, 'other');
    const options = { config: { data: other.data, postgres, encryption }, folder: backup.folder };
    await assert.rejects(restore({ ...options, replace: false }), /There is a journal in .*--replace moves it aside/);
    assert.deepEqual(readFileSync(other.path), other.bytes);
    const { replaced = '' } = await restore({ ...options, replace: true });
    assert.deepEqual(readFileSync(other.path), backup.bytes);
    assert.deepEqual(readFileSync(join(replaced, other.path.slice(other.data.length))), other.bytes);
  });

  test('are restored where none is, and once more after that', async (context) => {
    const backup = await backedUpJournal(context);
    const data = temporaryData(context);
    const options = { config: { data, postgres, encryption }, folder: backup.folder, replace: false };
    for (let time = 0; time < 2; time++) assert.equal((await restore(options)).replaced, undefined);
    const [name = ''] = readdirSync(join(data, 'journal/1'));
    assert.deepEqual(readFileSync(join(data, 'journal/1', name)), backup.bytes);
  });

  test('are not restored where the configuration names a data folder', async (context) => {
    const { folder } = await backedUpJournal(context);
    const data = temporaryData(context);
    const reason = /backup of a gateway with its store in PostgreSQL, and the configuration names a data folder/;
    await assert.rejects(restore({ config: { data, encryption }, folder, replace: false }), reason);
    assert.deepEqual(readdirSync(data), []);
  });

  test('stay while a gateway writes them', async (context) => {
    const backup = await backedUpJournal(context);
    const other = await journaled(context, 'other');
    const lock = lockFolder(join(other.data, 'journal/1'));
    const options = { config: { data: other.data, postgres, encryption }, folder: backup.folder, replace: true };
    await assert.rejects(restore(options), /A gateway runs on the folder/);
    lock.release();
    assert.deepEqual(readFileSync(other.path), other.bytes);
  });
});
