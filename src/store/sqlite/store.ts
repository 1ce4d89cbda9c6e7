/** The embedded store: two SQLite files in a folder, each with a thread that writes and one that reads. */

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GatewayError } from '../../core/errors.ts';
import { PRIVATE_FOLDER } from '../../security/file-modes.ts';
import { healthOf } from '../health.ts';
import { isVoid, lostStore } from '../lost.ts';
import type { Database, StoreOperation } from '../operation.ts';
import type { Store, StoreOperationName } from '../store.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { own } from './ownership.ts';
import { createWorker, type StoreThread } from './worker.ts';

/** Older ones may damage a file that two connections write to. */
const OLDEST_SQLITE = [3, 51, 3];
/** Milliseconds to wait for another process's lock. */
const PATIENCE = 5000;

export interface SqliteOptions {
  folder: string;
  /** A gateway owns its folder; the command line works beside it as a guest. */
  role: 'owner' | 'guest';
  /** The module that exports `operations`. */
  operations: URL;
  migrations: URL;
  /** What an earlier gateway left in the folder, beside which no new store is made; none if absent. */
  traces?: readonly string[];
  patience?: number;
  maxPages?: number;
}

export async function openSqlite(options: SqliteOptions): Promise<Store> {
  refuseOldSqlite(process.versions.sqlite ?? '0');
  const folder = resolve(options.folder);
  const { operations }: { operations: Record<string, StoreOperation<unknown, unknown>> } = await import(
    options.operations.href
  );
  makeFolder(folder);
  const { traces = [] } = options;
  // Before anything is opened: SQLite deletes the log of an empty file, from which it could still be restored.
  if (traces.length > 0 && isVoid(join(folder, 'state.db'))) throw lostStore(folder, traces);
  const ownership = options.role === 'owner' ? own(folder) : undefined;
  const writers: Record<Database, StoreThread> = { state: worker('state', 'writer'), usage: worker('usage', 'writer') };
  const readers: Record<Database, StoreThread> = { state: worker('state', 'reader'), usage: worker('usage', 'reader') };

  function worker(database: Database, role: 'writer' | 'reader'): StoreThread {
    const { migrations, patience = PATIENCE, maxPages } = options;
    return createWorker({
      ...{ path: join(folder, `${database}.db`), database, role, patience, maxPages },
      traces: database === 'state' ? traces : [],
      ...{ migrations: migrations.href, operations: options.operations.href },
    });
  }

  async function call(name: string, parameters: unknown): Promise<unknown> {
    const operation = operations[name];
    if (!operation) throw new Error(`no operation ${name}`);
    return (operation.writes ? writers : readers)[operation.database].call(name, parameters);
  }

  let closed: Promise<void> | undefined;
  /** Whoever writes is the last to leave a file, and tidies it up. */
  function close(): Promise<void> {
    closed ??= Promise.all([readers.state.close(), readers.usage.close()])
      .then(() => Promise.all([writers.state.close(), writers.usage.close()]))
      .then(() => ownership?.release());
    return closed;
  }

  const store: Store = {
    engine: 'sqlite',
    call: call as Store['call'],
    now: Date.now,
    health: () => healthOf(store),
    close,
  };
  try {
    await Promise.all([writers.state.ready(), writers.usage.ready()]);
    // Whoever held a lease before is dead, for there is one owner at a time.
    if (ownership) await store.call('releaseLeases' as StoreOperationName, {} as never);
  } catch (error) {
    await close();
    throw error instanceof StoreUnavailable
      ? new GatewayError('unavailable', `The store in ${folder} cannot be opened: ${error.problem}.`, { cause: error })
      : error;
  }
  return store;
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  } catch (error) {
    const { message } = error as Error;
    throw new GatewayError('unavailable', `The folder ${folder} cannot be made: ${message}.`, { cause: error });
  }
}

function refuseOldSqlite(version: string): void {
  const parts = version.split('.').map(Number);
  for (const [index, needed] of OLDEST_SQLITE.entries()) {
    const part = parts[index] ?? 0;
    if (part > needed) return;
    if (part < needed) {
      throw new GatewayError(
        'unavailable',
        `SQLite ${OLDEST_SQLITE.join('.')} or newer is needed and this Node has ${version}; use a newer Node.`,
      );
    }
  }
}
