/** The schema as numbered files: `migrations/<database>/<number>-<name>.sql`, applied in order and never changed after a release. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { GatewayError } from '../core/errors.ts';
import type { Database } from './operation.ts';
import type { Store } from './store.ts';

export const MIGRATIONS = new URL('./migrations/', import.meta.url);

/** Which migrations a database has had. */
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

export interface Applied {
  name: string;
  checksum: string;
}

const MACROS: Record<Store['engine'], Record<string, string>> = {
  sqlite: { int: 'INTEGER', blob: 'BLOB' },
  postgres: { int: 'bigint', blob: 'bytea' },
};

export function readMigrations(folder: URL, database: Database, engine: Store['engine']): Migration[] {
  const own = new URL(`${database}/`, folder);
  if (!existsSync(own)) return [];
  const files = readdirSync(own).filter((file) => file.endsWith('.sql'));
  return files.sort().map((file) => {
    const text = readFileSync(new URL(file, own), 'utf8').replaceAll('\r\n', '\n');
    const checksum = createHash('sha256').update(text).digest('hex');
    return { name: `${database}/${file}`, checksum, sql: render(text, engine) };
  });
}

/** Those that are still to be applied. Throws `unavailable` when the database was made by another program than this. */
export function pendingMigrations(known: readonly Migration[], applied: readonly Applied[]): Migration[] {
  const done = new Map(applied.map(({ name, checksum }) => [name, checksum]));
  for (const name of done.keys()) {
    if (known.some((migration) => migration.name === name)) continue;
    throw new GatewayError('unavailable', `The store was made by a newer version of this program: it has ${name}.`);
  }
  for (const { name, checksum } of known) {
    const before = done.get(name);
    if (before === undefined || before === checksum) continue;
    throw new GatewayError('unavailable', `The migration ${name} is not the one that the store was made with.`);
  }
  return known.filter(({ name }) => !done.has(name));
}

/** The engine's own sections, with the macros `{int}` and `{blob}` replaced. */
function render(text: string, engine: Store['engine']): string {
  let section = 'both';
  const lines = text.split('\n').filter((line) => {
    const mark = /^-- @(sqlite|postgres|both)\s*$/.exec(line);
    if (mark?.[1]) section = mark[1];
    return section === 'both' || section === engine;
  });
  return lines.join('\n').replace(/\{(\w+)\}/g, (macro, name: string) => MACROS[engine][name] ?? macro);
}
