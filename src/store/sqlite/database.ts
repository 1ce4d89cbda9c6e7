/** One SQLite file, opened so that a commit survives a power cut, with the schema it should have; or to be read only. */

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { lostStore } from '../lost.ts';
import { type Applied, MIGRATION_TABLE, pendingMigrations, readMigrations } from '../migrations.ts';
import type { Database } from '../operation.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { connect } from './connection.ts';

/** The least size of a page; sizes are multiples of it. */
const PAGE_BYTES = 512;

export interface DatabaseOptions {
  path: string;
  database: Database;
  /** Folder of the migrations. */
  migrations: URL;
  /** Milliseconds to wait for another process's lock. */
  patience: number;
  /** What an earlier gateway left beside the file: where there is anything, the file is not made anew. */
  traces?: readonly string[];
  /** Largest file, in pages of 4 kB. */
  maxPages?: number;
}

export function openDatabase(options: DatabaseOptions): DatabaseSync {
  const { path, database, migrations, patience, traces = [], maxPages } = options;
  const connection = connect(path, { timeout: patience, enableForeignKeyConstraints: true });
  try {
    if (traces.length > 0 && !hasTable(connection)) throw lostStore(dirname(path), traces);
    connection.exec(`PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA fullfsync = ON;
      PRAGMA temp_store = MEMORY;
      PRAGMA journal_size_limit = 67108864;`);
    refuseCutOff(path);
    migrate(connection, migrations, database);
    if (maxPages !== undefined) connection.exec(`PRAGMA max_page_count = ${maxPages}`);
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

/** SQLite reads the missing end of a page as zeros. A log, if there is one, may still have the whole page. */
function refuseCutOff(path: string): void {
  const [file, log] = [path, `${path}-wal`].map((name) => statSync(name, { throwIfNoEntry: false }));
  if (file?.isFile() && file.size % PAGE_BYTES !== 0 && (log?.size ?? 0) === 0) {
    throw new StoreUnavailable('the file is damaged (its end is cut off)');
  }
}

/** Sees what is committed, whatever holds up who writes. */
export function openForReading({ path, patience }: Pick<DatabaseOptions, 'path' | 'patience'>): DatabaseSync {
  const connection = new DatabaseSync(path, { readOnly: true, timeout: patience });
  connection.exec('PRAGMA temp_store = MEMORY');
  return connection;
}

/** A database that has everything is left alone, so that opening one beside a busy writer doesn't wait. */
function migrate(connection: DatabaseSync, folder: URL, database: Database): void {
  const known = readMigrations(folder, database, 'sqlite');
  if (hasTable(connection) && pendingMigrations(known, appliedTo(connection)).length === 0) return;
  connection.exec('BEGIN EXCLUSIVE');
  try {
    connection.exec(MIGRATION_TABLE);
    const record = connection.prepare('INSERT INTO migration (name, checksum, applied_at) VALUES (?, ?, ?)');
    for (const { name, checksum, sql } of pendingMigrations(known, appliedTo(connection))) {
      connection.exec(sql);
      record.run(name, checksum, Date.now());
    }
    connection.exec('COMMIT');
  } catch (error) {
    if (connection.isTransaction) connection.exec('ROLLBACK');
    throw error;
  }
}

function hasTable(connection: DatabaseSync): boolean {
  return connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migration'").get() !== undefined;
}

function appliedTo(connection: DatabaseSync): Applied[] {
  const rows = connection.prepare('SELECT name, checksum FROM migration').all();
  return rows.map(({ name, checksum }) => ({ name: String(name), checksum: String(checksum) }));
}
