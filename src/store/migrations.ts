/**
 * Schema migrations: numbered files `migrations/<database>/<number>-<name>.sql`, applied in order and never changed after a
 * release. Each names the oldest version that may use a store which has it, so that versions on both sides of an upgrade run
 * beside each other.
 */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { GatewayError } from '../core/errors.ts';
import { isAtLeast, version } from '../core/version.ts';
import type { Database } from './operation.ts';
import type { Store } from './store.ts';

export const MIGRATIONS_FOLDER = new URL('./migrations/', import.meta.url);

/** Table of the migrations that were applied to a database. */
export const MIGRATION_TABLE = `CREATE TABLE IF NOT EXISTS migration (
  name text PRIMARY KEY,
  checksum text NOT NULL,
  applied_at bigint NOT NULL,
  compatible_from text
)`;

/** Statement that records a migration; its values are name, checksum, time and the oldest compatible version. */
export const RECORD_COLUMNS = 'name, checksum, applied_at, compatible_from';

export interface Migration {
  /** `<database>/<file>` */
  name: string;
  checksum: string;
  sql: string;
  /** Oldest version that may use a store with this migration, although it does not know it. */
  compatibleFrom: string | null;
}

export type AppliedMigration = Omit<Migration, 'sql'>;

export interface SchemaStatus {
  /** Not applied yet, in their order. */
  pending: Migration[];
  /** Applied by newer versions, which this version need not know. */
  newer: AppliedMigration[];
}

const COMPATIBLE_FROM = /^-- @compatible_from (\d+\.\d+\.\d+)$/m;

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
    const [, compatibleFrom = null] = COMPATIBLE_FROM.exec(text) ?? [];
    return { name: `${database}/${file}`, checksum, sql: render(text, engine), compatibleFrom };
  });
}

/** Throws `unavailable` if the database was migrated by a version that this one cannot follow, or by a different program. */
export function compareMigrations(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
  ownVersion = version,
): SchemaStatus {
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]));
  const newer = applied.filter(({ name }) => !known.some((migration) => migration.name === name));
  for (const { name, compatibleFrom } of newer) {
    if (compatibleFrom !== null && isAtLeast(ownVersion, compatibleFrom)) continue;
    const needed =
      compatibleFrom === null ? '' : `, which needs version ${compatibleFrom} or newer; this is ${ownVersion}`;
    throw new GatewayError(
      'unavailable',
      `The store was made by a newer version of this program: it has ${name}${needed}.`,
    );
  }
  for (const { name, checksum } of known) {
    const appliedChecksum = checksums.get(name);
    if (appliedChecksum === undefined || appliedChecksum === checksum) continue;
    throw new GatewayError('unavailable', `The migration ${name} is not the one that the store was made with.`);
  }
  return { pending: known.filter(({ name }) => !checksums.has(name)), newer };
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
