/** One SQLite file, opened so that a commit survives a power cut, with the schema it should have; or to be read only. */

import { DatabaseSync } from 'node:sqlite';
import { type Applied, MIGRATION_TABLE, pendingMigrations, readMigrations } from '../migrations.ts';
import type { Database } from '../operation.ts';
import { connect } from './connection.ts';

export interface DatabaseOptions {
  path: string;
  database: Database;
  /** Folder of the migrations. */
  migrations: URL;
  /** Milliseconds to wait for another process's lock. */
  patience: number;
  /** Largest file, in pages of 4 kB. */
  maxPages?: number;
}

export function openDatabase({ path, database, migrations, patience, maxPages }: DatabaseOptions): DatabaseSync {
  const connection = connect(path, { timeout: patience, enableForeignKeyConstraints: true });
  try {
    connection.exec(`PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA fullfsync = ON;
      PRAGMA temp_store = MEMORY;
      PRAGMA journal_size_limit = 67108864;`);
    migrate(connection, migrations, database);
    if (maxPages !== undefined) connection.exec(`PRAGMA max_page_count = ${maxPages}`);
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
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
