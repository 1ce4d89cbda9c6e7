/** Embedded store: two SQLite files in a folder, each with a writer thread and, while it is read much, a reader thread. */

import { stat, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Clock, systemClock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import { createPrivateFolder } from '../../security/file-modes.ts';
import { createHealthCheck } from '../health.ts';
import { isMissingOrEmpty, lostStoreError } from '../lost-store.ts';
import type { Database, StoreOperation } from '../operation.ts';
import type { Store, StoreOperationName } from '../store.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { lockFolder, writeProblem } from './folder-lock.ts';
import { createStoreThread, type StoreThread } from './store-thread.ts';

/** Older versions can corrupt a database with two writing connections. */
const MIN_SQLITE_VERSION = [3, 51, 3];
/** Default wait for the lock of another process. */
const LOCK_TIMEOUT_MS = 5000;
/** Time that a short read waits for the writer, which may wait for the disk or for another process, while a reader runs. */
const READ_PATIENCE_MS = 50;
/** Wait of a short read if a reader thread must start first, which takes processor time, and long on a busy machine. */
const START_PATIENCE_MS = 250;
const HELD_UP = Symbol('held up');
/** Default of `readerIdleMs`: a thread holds 12 MB. */
const READER_IDLE_MS = 10_000;
/** Writes that check whether a database can be written, those of workers too. */
const PROBES: ReadonlySet<string> = new Set<StoreOperationName>(['probeState', 'probeUsage']);

/** SQLite maps an index of each write-ahead log into memory, in parts for so much of the log. */
const INDEX_PART_BYTES = 32_768;
const LOG_PART_BYTES = 16 * 1024 * 1024;
/** Size of the steps in which SQLite allocates an index, by one byte each. */
const INDEX_STEP_BYTES = 4096;

export interface SqliteOptions {
  folder: string;
  /** A gateway owns its folder; the command line works beside it as a guest. */
  role: 'owner' | 'guest';
  /** The module that exports `operations`. */
  operations: URL;
  migrations: URL;
  /** Remnants of an earlier gateway in the folder; if there are any, no new store is created. */
  remnants?: readonly string[];
  lockTimeoutMs?: number;
  /** Time without a call after which a reader thread ends. */
  readerIdleMs?: number;
  maxPages?: number;
  clock?: Clock;
}

export async function openSqlite(options: SqliteOptions): Promise<Store> {
  checkSqliteVersion(process.versions.sqlite ?? '0');
  const { clock = systemClock } = options;
  const folder = resolve(options.folder);
  const { operations }: { operations: Record<string, StoreOperation<unknown, unknown>> } = await import(
    options.operations.href
  );
  createFolder(folder);
  const { remnants = [] } = options;
  // Checked before opening: SQLite deletes the write-ahead log of an empty file, from which it could be restored.
  if (remnants.length > 0 && isMissingOrEmpty(join(folder, 'state.db'))) throw lostStoreError(folder, remnants);
  await requireIndexSpace(options.role, folder);
  const folderLock = options.role === 'owner' ? lockFolder(folder) : undefined;
  const writers: Record<Database, StoreThread> = {
    state: createThread('state', 'writer'),
    usage: createThread('usage', 'writer'),
  };
  const readers: Record<Database, StoreThread> = {
    state: createThread('state', 'reader'),
    usage: createThread('usage', 'reader'),
  };

  function createThread(database: Database, role: 'writer' | 'reader'): StoreThread {
    const { migrations, lockTimeoutMs = LOCK_TIMEOUT_MS, readerIdleMs = READER_IDLE_MS, maxPages } = options;
    const idleMs = role === 'reader' ? readerIdleMs : undefined;
    const details = {
      path: join(folder, `${database}.db`),
      idleMs,
      database,
      role,
      lockTimeoutMs,
      maxPages,
      remnants: database === 'state' ? remnants : [],
      migrations: migrations.href,
      operations: options.operations.href,
    };
    return createStoreThread(details, clock);
  }

  async function call(name: string, parameters: unknown): Promise<unknown> {
    const operation = operations[name];
    if (!operation) throw new Error(`no operation ${name}`);
    const [writer, reader] = [writers[operation.database], readers[operation.database]];
    if (PROBES.has(name)) {
      const checked = [requireFile(join(folder, `${operation.database}.db`)), writer.call(name, parameters)] as const;
      return (await Promise.all(checked))[1];
    }
    if (operation.writes) return writer.call(name, parameters);
    const patienceMs = reader.isRunning() ? READ_PATIENCE_MS : START_PATIENCE_MS;
    if (operation.scans || writer.busyMs() > patienceMs) return reader.call(name, parameters);
    return readPatiently(name, parameters, { writer, reader, clock, patienceMs });
  }

  let closed: Promise<void> | undefined;
  /** Closes the writer last: the last connection checkpoints the write-ahead log. */
  function close(): Promise<void> {
    closed ??= Promise.all([readers.state.close(), readers.usage.close()])
      .then(() => Promise.all([writers.state.close(), writers.usage.close()]))
      .then(() => folderLock?.release());
    return closed;
  }

  const store: Store = {
    engine: 'sqlite',
    call: call as Store['call'],
    now: clock.now,
    health: createHealthCheck({ call: call as Store['call'] }, clock),
    close,
    releaseMemory: async () => void (await Promise.all([writers.state.releaseMemory(), writers.usage.releaseMemory()])),
    access: {
      engine: 'sqlite',
      attach: (role, port) => (role === 'writer' ? writers : readers).state.attach(port),
    },
  };
  try {
    await Promise.all([writers.state.ready(), writers.usage.ready()]);
    // A folder has one owner at a time, so all former lease holders are dead.
    if (folderLock) await store.call('releaseLeases' as StoreOperationName, {} as never);
  } catch (error) {
    await close();
    if (!(error instanceof StoreUnavailable)) throw error;
    const problem = writeProblem(folder) ?? error.problem;
    throw new GatewayError('unavailable', `The store in ${folder} cannot be opened: ${problem}.`, { cause: error });
  }
  return store;
}

/** Where blocks are smaller than a step, a disk that is full ends a process that writes to an index. Throws `unavailable`. */
async function requireIndexSpace(role: SqliteOptions['role'], folder: string): Promise<void> {
  const disk = await statfs(folder).catch(() => undefined);
  if (!disk || disk.blocks === 0 || disk.bsize >= INDEX_STEP_BYTES) return;
  // Root may also use its reserve, but not what ext4 keeps to itself: a fiftieth, counted with its own blocks.
  const ofRoot = process.geteuid?.() === 0 ? disk.bfree - Math.ceil(disk.blocks / 40) : 0;
  const free = disk.bsize * Math.max(disk.bavail, ofRoot);
  let needed = 0;
  for (const database of ['state', 'usage']) {
    const [log, index] = await Promise.all(
      ['wal', 'shm'].map((end) => stat(join(folder, `${database}.db-${end}`)).catch(() => undefined)),
    );
    // A command uses the index of a gateway as it is.
    if (role === 'guest' && index) continue;
    // A log keeps its size once its content is in the database, and then needs less.
    const parts = 1 + Math.floor((log?.size ?? 0) / LOG_PART_BYTES);
    needed += Math.max(0, parts * INDEX_PART_BYTES - (index?.blocks ?? 0) * 512);
  }
  if (free >= needed) return;
  const [left, least] = [free, needed].map((bytes) => Math.ceil(bytes / 1024));
  throw new GatewayError(
    'unavailable',
    `The store in ${folder} cannot be opened: the disk is full (${left} kB are free, and it needs ${least} kB to start).`,
  );
}

/** A deleted database takes writes until the process ends, and they end with it. Throws `StoreUnavailable`. */
async function requireFile(path: string): Promise<void> {
  // A file that cannot be looked up for another reason may be written all the same.
  const code = await stat(path).catch((error: NodeJS.ErrnoException) => error.code);
  if (code === 'ENOENT') throw new StoreUnavailable(`${path} was deleted; its content is lost when this process ends`);
}

/** A short read uses the writer: a reader for it alone would hold memory. It does not wait for one that is held up. */
async function readPatiently(
  name: string,
  parameters: unknown,
  { writer, reader, clock, patienceMs }: { writer: StoreThread; reader: StoreThread; clock: Clock; patienceMs: number },
): Promise<unknown> {
  const { promise: heldUp, resolve } = Promise.withResolvers<typeof HELD_UP>();
  const cancel = clock.after(patienceMs, () => resolve(HELD_UP));
  try {
    const result = await Promise.race([writer.call(name, parameters), heldUp]);
    if (result !== HELD_UP) return result;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
  } finally {
    cancel();
  }
  return reader.call(name, parameters);
}

function createFolder(folder: string): void {
  try {
    createPrivateFolder(folder);
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    const isFile = code === 'EEXIST' || code === 'ENOTDIR';
    const reason = isFile ? 'it is a file, or below one' : message;
    throw new GatewayError('unavailable', `The folder ${folder} cannot be made: ${reason}.`, { cause: error });
  }
}

function checkSqliteVersion(version: string): void {
  const parts = version.split('.').map(Number);
  for (const [index, needed] of MIN_SQLITE_VERSION.entries()) {
    const part = parts[index] ?? 0;
    if (part > needed) return;
    if (part < needed) {
      throw new GatewayError(
        'unavailable',
        `SQLite ${MIN_SQLITE_VERSION.join('.')} or newer is needed and this Node has ${version}; use a newer Node.`,
      );
    }
  }
}
