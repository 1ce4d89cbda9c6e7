/** Copies of SQLite files: of one moment, beside a running gateway; and operations on a copy. */

import { backup, DatabaseSync } from 'node:sqlite';
import { MIGRATIONS_FOLDER } from '../migrations.ts';
import type { Database } from '../operation.ts';
import { operations } from '../operations/index.ts';
import type { Store } from '../store.ts';
import { migrate } from './database.ts';
import { decodeFailure, toStoreError } from './failure.ts';
import { type AnyOperation, commitGroup, runReads } from './group-commit.ts';
import { createSession } from './transaction.ts';

/** All pages in one step: a copy in several steps begins anew with each write of the gateway. */
const ALL_PAGES = 0x7fff_ffff;

/** Throws `StoreUnavailable` if the source cannot be read or is damaged. */
export async function copyDatabase(source: string, target: string): Promise<void> {
  const connection = open(source, { readOnly: true });
  try {
    await backup(connection, target, { rate: ALL_PAGES });
  } catch (error) {
    throw toStoreError(error);
  } finally {
    connection.close();
  }
  const copy = open(target, {});
  try {
    // One file, which can be read from a disk that cannot be written to.
    copy.exec('PRAGMA journal_mode = DELETE');
  } finally {
    copy.close();
  }
}

/** Returns why a database is damaged; undefined if it is whole. */
export function damageOf(path: string): string | undefined {
  try {
    const connection = open(path, { readOnly: true });
    try {
      const [row] = connection.prepare('PRAGMA quick_check(1)').all();
      const answer = String(row?.quick_check);
      return answer === 'ok' ? undefined : answer.replaceAll('\n', ' ').trim();
    } finally {
      connection.close();
    }
  } catch (error) {
    return (error as Error).message;
  }
}

/** Gives a copy of a store of an earlier version the columns that operations write. */
export function migrateCopy(path: string, database: Database): void {
  const connection = open(path, {});
  try {
    migrate(connection, MIGRATIONS_FOLDER, database);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    connection.close();
  }
}

export interface OpenedCopy extends Pick<Store, 'call' | 'engine'> {
  close(): void;
}

/** Runs operations on a copy that nothing else uses, in this thread. */
export function openCopy(path: string): OpenedCopy {
  const connection = open(path, {});
  const session = createSession(connection);
  const known: Record<string, unknown> = operations;
  const options = { connection, session, findOperation: (name: string) => known[name] as AnyOperation };

  async function call(name: string, parameters: unknown): Promise<unknown> {
    const run = options.findOperation(name).writes ? commitGroup : runReads;
    const [outcome] = await run([{ id: 0, name, parameters }], options);
    if (outcome && 'failure' in outcome) throw decodeFailure(outcome.failure);
    return outcome?.result;
  }

  return { engine: 'sqlite', call: call as Store['call'], close: () => connection.close() };
}

function open(path: string, options: { readOnly?: boolean }): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: 5000, ...options });
  } catch (error) {
    throw toStoreError(error);
  }
}
