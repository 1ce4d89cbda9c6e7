/** Embedded engine under faults: kills, full disks, locks, a second gateway. */

import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Readable, Writable } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createChannelStore } from '../../src/gateway/workers/channel-store.ts';
import type { StoreCall } from '../../src/gateway/workers/messages.ts';
import { isMissingOrEmpty } from '../../src/store/lost-store.ts';
import { MIGRATIONS_FOLDER, readMigrations } from '../../src/store/migrations.ts';
import { openStore, readStoreStatus } from '../../src/store/open.ts';
import { operations } from '../../src/store/operations/index.ts';
import { createSession } from '../../src/store/sqlite/transaction.ts';
import type { StoreHealth } from '../../src/store/store.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { type EngineStore, openEngine as open, unavailable } from './engine-store.ts';
import { temporaryData } from './stores.ts';

const windows = process.platform === 'win32';

/** A small file system of 1 kB blocks; undefined where this user may not mount one. */
function mountSmallBlocks(context: TestContext): string | undefined {
  // Before its folder is removed.
  context.after(() => spawnSync('umount', ['-l', folder]));
  const whole = temporaryData(context);
  const [image, folder] = [join(whole, 'image'), join(whole, 'mounted')];
  mkdirSync(folder);
  writeFileSync(image, Buffer.alloc(4 * 1024 * 1024));
  const steps = [
    ['mke2fs', '-q', '-t', 'ext4', '-b', '1024', '-m', '0', '-O', '^has_journal', image],
    ['mount', '-o', 'loop', image, folder],
  ];
  for (const [program = '', ...values] of steps) if (spawnSync(program, values).status !== 0) return undefined;
  return folder;
}

test('a start on a nearly full disk of small blocks is refused, and one with space for its indexes is not', async (context) => {
  const disk = mountSmallBlocks(context);
  if (disk === undefined) return context.skip('this user may not mount a file system');
  const data = join(disk, 'data');
  const openAndClose = async (role: 'owner' | 'guest' = 'owner') => (await openStore({ data, role })).close();
  await openAndClose();
  const filling = join(disk, 'filling');
  const leave = (kilobytes: number) => {
    rmSync(filling, { force: true });
    for (;;) {
      const { bavail, bsize } = statfsSync(disk);
      const excess = bavail * bsize - kilobytes * 1024;
      if (excess <= 0) return;
      // Half at a time: the file system takes blocks of its own, too.
      appendFileSync(filling, Buffer.alloc(Math.max(1024, excess / 2)));
    }
  };
  for (const kilobytes of [2, 17, 23, 60]) {
    leave(kilobytes);
    const message = /cannot be opened: the disk is full \(\d+ kB are free, and it needs 64 kB to start\)\.$/;
    for (const role of ['owner', 'guest'] as const)
      await assert.rejects(openAndClose(role), { code: 'unavailable', message });
  }
  leave(72);
  await openAndClose('guest');
  const gateway = await openStore({ data, role: 'owner' });
  context.after(gateway.close);
  leave(1);
  // A command beside a gateway uses its indexes.
  await openAndClose('guest');
});

type Child = ChildProcessByStdio<Writable, Readable, null>;

function start(context: TestContext, program: string, ...args: string[]): Child {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  context.after(() => child.kill('SIGKILL'));
  return child;
}

/** What the process told until now, in whole lines. */
function linesOf(child: Child): () => string[] {
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text.split('\n').slice(0, -1);
}

async function until(condition: () => boolean): Promise<void> {
  const giveUp = AbortSignal.timeout(15_000);
  while (!condition()) {
    giveUp.throwIfAborted();
    await wait(5);
  }
}

describe('what is acknowledged is there', () => {
  test('after kill -9, five times in a row', async (context) => {
    const folder = temporaryData(context);
    const acknowledged: string[] = [];
    for (let round = 0; round < 5; round++) {
      const child = start(context, 'sqlite-writer.ts', folder, String(round * 1_000_000));
      const lines = linesOf(child);
      await until(() => lines().length > 20);
      await wait(Math.random() * 60);
      child.kill('SIGKILL');
      await once(child, 'close');
      acknowledged.push(...lines().filter((line) => line !== 'open'));
      const store = await open(context, folder);
      const rows = new Set(await store.call('list', { prefix: 'row ' }));
      assert.deepEqual(
        acknowledged.filter((row) => !rows.has(row)),
        [],
      );
      await store.close();
    }
    assert.ok(acknowledged.length > 100);
  });

  test('in a copy of the files as they were at any moment', { skip: windows }, async (context) => {
    const folder = temporaryData(context);
    const child = start(context, 'sqlite-writer.ts', folder, '0');
    const lines = linesOf(child);
    await until(() => lines().length > 5);
    for (let round = 0; round < 5; round++) {
      await wait(Math.random() * 40);
      const acknowledged = lines().slice(1);
      // All at one moment, as a power cut would leave them.
      child.kill('SIGSTOP');
      const copy = temporaryData(context);
      for (const file of ['state.db', 'state.db-wal']) copyFileSync(join(folder, file), join(copy, file));
      child.kill('SIGCONT');
      const store = await open(context, copy);
      const rows = new Set(await store.call('list', { prefix: 'row ' }));
      assert.deepEqual(
        acknowledged.filter((row) => !rows.has(row)),
        [],
      );
      const [integrity] = await store.call('ask', { sql: 'PRAGMA integrity_check', row: {} });
      assert.deepEqual({ ...integrity }, { integrity_check: 'ok' });
    }
    child.kill('SIGKILL');
    await once(child, 'close');
  });

  test('because every commit waits for the disk', async (context) => {
    const store = await open(context, temporaryData(context));
    const pragmas = { journal_mode: 'wal', synchronous: 2, foreign_keys: 1, fullfsync: 1 };
    for (const [name, value] of Object.entries(pragmas)) {
      const [row] = await store.call('tell', { sql: `PRAGMA ${name}`, row: {} });
      assert.equal(row?.[name], value, name);
    }
  });

  test('in the order in which it was asked for', async (context) => {
    const store = await open(context, temporaryData(context));
    await store.call('put', { subject: 'count', value: 0 });
    const results = await Promise.all(
      Array.from({ length: 3000 }, () => store.call('increment', { subject: 'count' })),
    );
    assert.deepEqual(
      results,
      results.map((_, index) => index + 1),
    );
  });
});

describe('a folder', () => {
  test('has one owner, and is free at once when that one is killed', async (context) => {
    const folder = temporaryData(context);
    const child = start(context, 'sqlite-writer.ts', folder, '0');
    const lines = linesOf(child);
    await until(() => lines().length > 0);
    const second = openStore({ data: folder, role: 'owner' });
    await assert.rejects(second, {
      code: 'unavailable',
      message: `A gateway runs on the folder ${folder} already. Stop it, or choose another folder.`,
    });
    child.kill('SIGKILL');
    await once(child, 'close');
    const store = await open(context, folder);
    await assert.rejects(open(context, folder), /A gateway runs on/);
    await store.close();
    await open(context, folder);
  });

  test('has guests beside its owner', async (context) => {
    const folder = temporaryData(context);
    const owner = await open(context, folder);
    const guests = await Promise.all([1, 2].map(() => open(context, folder, { role: 'guest' })));
    const everybody = [owner, ...guests];
    await owner.call('put', { subject: 'count', value: 0 });
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => everybody[index % 3]?.call('increment', { subject: 'count' })),
    );
    assert.equal(await owner.call('get', { subject: 'count' }), 60);
  });

  test('has leases that end with their owner, whatever guests do', async (context) => {
    const folder = temporaryData(context);
    const owner = await open(context, folder);
    const insert = `INSERT INTO job (id, kind, ref, due_at, lease, lease_until)
      VALUES ('a', 'kind', 'ref', 0, 'somebody', 9000000000000) RETURNING id`;
    await owner.call('tell', { sql: insert, row: {} });
    const lease = async (store: EngineStore) =>
      (await store.call('ask', { sql: 'SELECT lease, lease_until FROM job', row: {} })).map((row) => ({ ...row }));
    await open(context, folder, { role: 'guest' });
    assert.deepEqual(await lease(owner), [{ lease: 'somebody', lease_until: 9000000000000 }]);
    await owner.close();
    assert.deepEqual(await lease(await open(context, folder)), [{ lease: '', lease_until: 0 }]);
  });

  test('is made for its owner alone', { skip: windows }, async (context) => {
    const folder = join(temporaryData(context), 'deep', 'data');
    const store = await open(context, folder);
    await store.call('put', { subject: 'a', value: 1 });
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    for (const file of readdirSync(folder)) assert.equal(statSync(join(folder, file)).mode & 0o077, 0, file);
  });

  test('that cannot be used is refused in words', async (context) => {
    const folder = temporaryData(context);
    writeFileSync(join(folder, 'file'), '');
    for (const path of [join(folder, 'file', 'data'), join(folder, 'file')])
      await assert.rejects(open(context, path), /The folder .* cannot be made: it is a file, or below one\.$/);
    mkdirSync(join(folder, 'odd', 'state.db'), { recursive: true });
    await assert.rejects(open(context, join(folder, 'odd')), /cannot be opened: the file cannot be opened/);
    mkdirSync(join(folder, 'locked', 'lock.db'), { recursive: true });
    await assert.rejects(open(context, join(folder, 'locked')), /The folder .*locked cannot be used: unable to open/);
    mkdirSync(join(folder, 'damaged'));
    writeFileSync(join(folder, 'damaged', 'usage.db'), 'no database'.repeat(1000));
    await assert.rejects(open(context, join(folder, 'damaged')), {
      code: 'unavailable',
      message: /The store in .*damaged cannot be opened: the file is no database/,
    });
  });

  test('that cannot be made ends the start', { skip: process.platform !== 'linux', timeout: 30_000 }, () => {
    // In a process of its own, which can be ended.
    const program = `import('${pathToFileURL('src/security/file-modes.ts')}').then(({ createPrivateFolder: create }) => create('/proc/none/data'))`;
    const { status, stderr } = spawnSync(process.execPath, ['-e', program], { timeout: 20_000, encoding: 'utf8' });
    assert.equal(status, 1, stderr);
    assert.match(stderr, /ENOENT[^\n]*\/proc\/none/);
  });

  test('that cannot be written says so, and for whom', { skip: windows }, async (context) => {
    const folder = temporaryData(context);
    await (await open(context, folder)).close();
    const { reason, end } = denyWrites(folder);
    try {
      if (!reason) return context.skip('root may write everywhere, and cannot mount a disk here');
      for (const role of ['owner', 'guest'] as const) {
        const message = new RegExp(`cannot be (used|opened): ${reason}\\.$`);
        await assert.rejects(open(context, folder, { role }), { code: 'unavailable', message });
      }
    } finally {
      end();
    }
  });
});

test('a folder of another user is no folder without a store', { skip: windows }, async (context) => {
  const folder = temporaryData(context);
  await (await open(context, folder)).close();
  chmodSync(folder, 0o000);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    const user = process.geteuid?.();
    const refusal = {
      code: 'unavailable',
      message: new RegExp(`${folder} cannot be used: user ${user} may not read it`),
    };
    await assert.rejects(openStore({ data: folder, role: 'guest', createIfMissing: false }), refusal);
    assert.throws(() => isMissingOrEmpty(join(folder, 'state.db')), refusal);
    await assert.rejects(readStoreStatus({ data: folder }), refusal);
  } finally {
    if (isRoot) process.seteuid?.(0);
    chmodSync(folder, 0o700);
  }
});

/** What the refusal says. For root the folder becomes a disk of its own that is read-only. */
function denyWrites(folder: string): { reason?: string; end(): void } {
  const user = process.getuid?.();
  if (user !== 0) {
    chmodSync(folder, 0o500);
    return { reason: `user ${user} may not write to ${folder}`, end: () => chmodSync(folder, 0o700) };
  }
  const mount = (...args: string[]) => spawnSync('mount', [...args, folder]).status === 0;
  const isMounted = mount('--bind', folder);
  const isReadOnly = isMounted && mount('-o', 'remount,bind,ro');
  const end = () => void (isMounted && spawnSync('umount', [folder]));
  return { ...(isReadOnly && { reason: `the disk of ${folder} is read-only` }), end };
}

describe('an engine that cannot write now', () => {
  test('because the disk is full fails what is too much and nothing else', async (context) => {
    const folder = temporaryData(context);
    const full = await open(context, folder, { maxPages: 80 });
    await full.call('put', { subject: 'count', value: 0 });
    const items = Array.from({ length: 20_000 }, (_, value) => ({ subject: `too much ${value}`, value }));
    const [big, small] = await Promise.allSettled([
      full.call('putMany', { items, ignoreDuplicates: false }),
      full.call('increment', { subject: 'count' }),
    ]);
    assert.equal(big.status, 'rejected');
    assert.ok(unavailable(/the disk is full/)(big.reason));
    assert.deepEqual(small, { status: 'fulfilled', value: 1 });
    await full.close();
    const store = await open(context, folder);
    assert.equal(await store.call('get', { subject: 'count' }), 1);
    assert.deepEqual(await store.call('list', { prefix: 'too much' }), []);
    assert.equal(await store.call('putMany', { items, ignoreDuplicates: false }), 20_000);
  });

  test('because the file is read-only says so, and works when it is not', async (context) => {
    const store = await open(context, temporaryData(context));
    await store.call('dieLater', { milliseconds: 500 });
    await store.call('tell', { sql: 'PRAGMA query_only = ON', row: {} });
    await assert.rejects(store.call('put', { subject: 'a', value: 1 }), unavailable(/read-only/));
    const { writable, problem } = await store.health();
    assert.equal(writable, false);
    assert.match(problem ?? '', /read-only/);
    // The next one opens the file anew.
    await wait(600);
    await store.call('put', { subject: 'a', value: 1 });
    assert.deepEqual(await store.health(), { writable: true });
  });

  test('because a file was deleted while it runs says so', { skip: windows }, async (context) => {
    const folder = temporaryData(context);
    const store = await open(context, folder);
    await store.call('put', { subject: 'a', value: 1 });
    assert.deepEqual(await store.health(), { writable: true });
    rmSync(join(folder, 'state.db'));
    const ofWorker = createChannelStore({
      call: (_kind, asked) => store.call((asked as StoreCall).name as never, (asked as StoreCall).parameters as never),
    });
    for (const { health } of [store, ofWorker]) {
      const { writable, problem } = await health();
      assert.equal(writable, false);
      assert.match(problem ?? '', /state\.db was deleted/);
    }
  });

  test('because pages of the file are damaged says so', async (context) => {
    const folder = temporaryData(context);
    const store = await open(context, folder);
    const items = Array.from({ length: 20_000 }, (_, value) => ({ subject: `row ${value}`, value }));
    await store.call('putMany', { items, ignoreDuplicates: false });
    await store.close();
    const file = join(folder, 'state.db');
    const bytes = readFileSync(file);
    const middle = Math.floor(bytes.length / 8192) * 4096;
    writeFileSync(file, bytes.fill(0xff, middle, middle + 40 * 4096));
    const damaged = await open(context, folder);
    await assert.rejects(damaged.call('list', { prefix: 'row ' }), unavailable(/the file is damaged/));
  });

  test('because another process holds the lock still reads, and writes when it is free', async (context) => {
    const folder = temporaryData(context);
    const store = await open(context, folder, { lockTimeoutMs: 100 });
    await store.call('put', { subject: 'a', value: 1 });
    const locker = start(context, 'sqlite-locker.ts', join(folder, 'state.db'));
    await once(locker.stdout, 'data');
    await assert.rejects(store.call('put', { subject: 'b', value: 1 }), unavailable(/another process holds the lock/));
    assert.equal(await store.call('get', { subject: 'a' }), 1);
    assert.equal((await store.health()).writable, false);
    locker.stdin.end();
    await once(locker, 'close');
    await store.call('put', { subject: 'b', value: 1 });
    assert.deepEqual(await store.health(), { writable: true });
  });

  test('because it does not answer says so in time, and its checks do not pile up', async (context) => {
    const folder = temporaryData(context);
    const clock = createManualClock(Date.now());
    const store = await open(context, folder, { lockTimeoutMs: 60_000, clock });
    const locker = start(context, 'sqlite-locker.ts', join(folder, 'state.db'));
    await once(locker.stdout, 'data');
    const checks: Promise<StoreHealth>[] = [];
    for (let round = 0; round < 3; round++) {
      checks.push(store.health(), store.health());
      clock.advance(5_000);
    }
    for (const { writable, problem } of await Promise.all(checks)) {
      assert.equal(writable, false);
      assert.equal(problem, 'it does not answer');
    }
    locker.stdin.end();
    await once(locker, 'close');
    while (!(await store.health()).writable);
    // The probe counts how often it is written: once for all checks while it waited, and once for each after that.
    const [row] = await store.call('ask', { sql: "SELECT value FROM version WHERE subject = 'probe'", row: {} });
    assert.ok(Number(row?.value) <= 3, `${row?.value}`);
  });

  test('because another process holds the lock waits for it a while', async (context) => {
    const folder = temporaryData(context);
    const store = await open(context, folder, { lockTimeoutMs: 10_000 });
    const locker = start(context, 'sqlite-locker.ts', join(folder, 'state.db'));
    await once(locker.stdout, 'data');
    const waiting = store.call('put', { subject: 'a', value: 1 });
    await wait(100);
    const asked = performance.now();
    assert.equal(await store.call('get', { subject: 'a' }), undefined);
    assert.ok(performance.now() - asked < 5000, 'who reads waits for nobody');
    locker.stdin.end();
    await waiting;
  });
});

test('a search for old video tasks looks at these, and not at all that have no media', async () => {
  const database = new DatabaseSync(':memory:');
  for (const { sql } of readMigrations(MIGRATIONS_FOLDER, 'state', 'sqlite')) database.exec(sql);
  const { writing } = createSession(database);
  const plans: string[] = [];
  const all: typeof writing.all = (sql, row = {}) => {
    const plan = writing.all(`EXPLAIN QUERY PLAN ${sql}`, row) as { detail: string }[];
    plans.push(...plan.map(({ detail }) => detail));
    return [];
  };
  await operations.pruneVideos.run({ ...writing, all }, { settledBefore: 1, limit: 10 });
  assert.match(plans[0] ?? '', /^SEARCH video_task USING INDEX video_task_settled/);
  assert.ok(!plans.some((detail) => detail.includes('TEMP B-TREE')));
  database.close();
});
