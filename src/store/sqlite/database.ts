/** SQLite databases: opened with durable commits and the current schema, or read-only. */

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../../core/clock.ts';
import { lostStoreError } from '../lost-store.ts';
import {
  type AppliedMigration,
  compareMigrations,
  MIGRATION_TABLE,
  RECORD_COLUMNS,
  readMigrations,
  type SchemaStatus,
} from '../migrations.ts';
import type { Database } from '../operation.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { connect } from './connection.ts';

/** Smallest page size; the size of a file is a multiple of it. */
const MIN_PAGE_BYTES = 512;

export interface DatabaseOptions {
  path: string;
  database: Database;
  /** Folder of the migrations. */
  migrations: URL;
  /** Longest wait for the lock of another process. */
  lockTimeoutMs: number;
  /** Remnants of an earlier gateway; if there are any, a missing file is not created. */
  remnants?: readonly string[];
  /** Size limit of the file, in pages of 4 kB. */
  maxPages?: number;
}

export function openDatabase(options: DatabaseOptions): DatabaseSync {
  const { path, database, migrations, lockTimeoutMs, remnants = [], maxPages } = options;
  const connection = connect(path, { timeout: lockTimeoutMs, enableForeignKeyConstraints: true });
  try {
    if (remnants.length > 0 && !hasTable(connection)) throw lostStoreError(dirname(path), remnants);
    connection.exec(`PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA fullfsync = ON;
      PRAGMA temp_store = MEMORY;
      PRAGMA journal_size_limit = 67108864;`);
    refuseTruncatedFile(path);
    migrate(connection, migrations, database);
    if (maxPages !== undefined) connection.exec(`PRAGMA max_page_count = ${maxPages}`);
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

/** SQLite reads the missing end of a page as zeros. A write-ahead log may still contain the whole page. */
function refuseTruncatedFile(path: string): void {
  const [file, log] = [path, `${path}-wal`].map((name) => statSync(name, { throwIfNoEntry: false }));
  if (file?.isFile() && file.size % MIN_PAGE_BYTES !== 0 && (log?.size ?? 0) === 0) {
    throw new StoreUnavailable('the file is damaged (its end is cut off)');
  }
}

/** A read-only connection, which sees committed data and is not blocked by the writer. */
export function openForReading({ path, lockTimeoutMs }: Pick<DatabaseOptions, 'path' | 'lockTimeoutMs'>): DatabaseSync {
  const connection = new DatabaseSync(path, { readOnly: true, timeout: lockTimeoutMs });
  connection.exec('PRAGMA temp_store = MEMORY');
  return connection;
}

/** Takes no lock if nothing is pending, so that opening a database beside a busy writer doesn't wait. */
export function migrate(connection: DatabaseSync, folder: URL, database: Database): void {
  if (schemaStatus(connection, folder, database).pending.length === 0) return;
  connection.exec('BEGIN EXCLUSIVE');
  try {
    connection.exec(MIGRATION_TABLE);
    if (!hasCompatibility(connection)) connection.exec('ALTER TABLE migration ADD COLUMN compatible_from text');
    const record = connection.prepare(`INSERT INTO migration (${RECORD_COLUMNS}) VALUES (?, ?, ?, ?)`);
    for (const { name, checksum, sql, compatibleFrom } of schemaStatus(connection, folder, database).pending) {
      connection.exec(sql);
      record.run(name, checksum, systemClock.now(), compatibleFrom);
    }
    connection.exec('COMMIT');
  } catch (error) {
    if (connection.isTransaction) connection.exec('ROLLBACK');
    throw error;
  }
}

/** Throws `unavailable` if the database is not one that this program may use. */
export function schemaStatus(connection: DatabaseSync, folder: URL, database: Database): SchemaStatus {
  const applied = hasTable(connection) ? appliedMigrations(connection) : [];
  return compareMigrations(readMigrations(folder, database, 'sqlite'), applied);
}

function hasTable(connection: DatabaseSync): boolean {
  return connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migration'").get() !== undefined;
}

/** Databases of early versions have no column for it. */
function hasCompatibility(connection: DatabaseSync): boolean {
  const sql = "SELECT 1 FROM pragma_table_info('migration') WHERE name = 'compatible_from'";
  return connection.prepare(sql).get() !== undefined;
}

function appliedMigrations(connection: DatabaseSync): AppliedMigration[] {
  const compatibleFrom = hasCompatibility(connection) ? 'compatible_from' : 'NULL';
  const rows = connection.prepare(`SELECT name, checksum, ${compatibleFrom} AS compatible_from FROM migration`).all();
  return rows.map(({ name, checksum, compatible_from: from }) => ({
    name: String(name),
    checksum: String(checksum),
    compatibleFrom: from === null ? null : String(from),
  }));
}
