/** Schema migrations: numbered files `migrations/<database>/<number>-<name>.sql`, applied in order and never changed after a release. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { GatewayError } from '../core/errors.ts';
import type { Database } from './operation.ts';
import type { Store } from './store.ts';

export const MIGRATIONS_FOLDER = new URL('./migrations/', import.meta.url);

/** Table of the migrations that were applied to a database. */
export const MIGRATION_TABLE = `CREATE TABLE IF NOT EXISTS migration (
  name text PRIMARY KEY,
  checksum text NOT NULL,
  applied_at bigint NOT NULL
)`;

export interface Migration {
  /** `<database>/<file>` */
  name: string;
  checksum: string;
  sql: string;
}

export interface AppliedMigration {
  name: string;
  checksum: string;
}

const MACROS: Record<Store['engine'], Record<string, string>> = {
  sqlite: { int: 'INTEGER', blob: 'BLOB' },
  postgres: { int: 'bigint', blob: 'bytea' },
};

export function readMigrations(folder: URL, database: Database, engine: Store['engine']): Migration[] {
  const databaseFolder = new URL(`${database}/`, folder);
  if (!existsSync(databaseFolder)) return [];
  const files = readdirSync(databaseFolder).filter((file) => file.endsWith('.sql'));
  return files.sort().map((file) => {
    const text = readFileSync(new URL(file, databaseFolder), 'utf8').replaceAll('\r\n', '\n');
    const checksum = createHash('sha256').update(text).digest('hex');
    return { name: `${database}/${file}`, checksum, sql: render(text, engine) };
  });
}

/** Migrations not yet applied. Throws `unavailable` if the database was created by a newer or a different program. */
export function pendingMigrations(known: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]));
  for (const name of checksums.keys()) {
    if (known.some((migration) => migration.name === name)) continue;
    throw new GatewayError('unavailable', `The store was made by a newer version of this program: it has ${name}.`);
  }
  for (const { name, checksum } of known) {
    const appliedChecksum = checksums.get(name);
    if (appliedChecksum === undefined || appliedChecksum === checksum) continue;
    throw new GatewayError('unavailable', `The migration ${name} is not the one that the store was made with.`);
  }
  return known.filter(({ name }) => !checksums.has(name));
}

/** Keeps the sections of the engine and replaces the macros `{int}` and `{blob}`. */
function render(text: string, engine: Store['engine']): string {
  let section = 'both';
  const lines = text.split('\n').filter((line) => {
    const mark = /^-- @(sqlite|postgres|both)\s*$/.exec(line);
    if (mark?.[1]) section = mark[1];
    return section === 'both' || section === engine;
  });
  return lines.join('\n').replace(/\{(\w+)\}/g, (macro, name: string) => MACROS[engine][name] ?? macro);
}
