/** PostgreSQL migrations, serialized across gateways by an advisory lock. */

import type { PoolClient } from 'pg';
import { systemClock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import {
  type AppliedMigration,
  compareMigrations,
  MIGRATION_TABLE,
  RECORD_COLUMNS,
  readMigrations,
  type SchemaStatus,
} from '../migrations.ts';
import { type QueryResult, runQuery, type SqlQuery } from './pool.ts';

const MIN_SERVER_VERSION = 15;

/** Key of the advisory lock; arbitrary, but unique on the database. */
const MIGRATION_LOCK_ID = 7_072_026;
/** Longest wait for the lock of a table: statements of running gateways wait behind it. */
const TABLE_LOCK_TIMEOUT_MS = 2_000;

interface Queryable {
  query(query: SqlQuery): Promise<QueryResult>;
}

/** Takes no lock. Throws `unavailable` if the server is too old or the schema is not one that this program may use. */
export async function readSchemaStatus(client: Queryable, folder: URL): Promise<SchemaStatus> {
  await checkServerVersion(client);
  const known = [...readMigrations(folder, 'state', 'postgres'), ...readMigrations(folder, 'usage', 'postgres')];
  return compareMigrations(known, await appliedMigrations(client));
}

/** Applies the pending migrations, inside a transaction whose statements may take any time, but the wait for a table. */
export async function migrate(client: PoolClient, folder: URL): Promise<void> {
  await runQuery(client, `SELECT pg_advisory_xact_lock(${MIGRATION_LOCK_ID})`);
  await runQuery(client, MIGRATION_TABLE);
  await runQuery(client, `SET LOCAL lock_timeout = ${TABLE_LOCK_TIMEOUT_MS}`);
  await runQuery(client, 'ALTER TABLE migration ADD COLUMN IF NOT EXISTS compatible_from text');
  const { pending } = await readSchemaStatus(client, folder);
  for (const { name, checksum, sql, compatibleFrom } of pending) {
    await runQuery(client, sql);
    const text = `INSERT INTO migration (${RECORD_COLUMNS}) VALUES ($1, $2, $3, $4)`;
    await runQuery(client, { text, values: [name, checksum, systemClock.now(), compatibleFrom] });
  }
}

async function appliedMigrations(client: Queryable): Promise<AppliedMigration[]> {
  // Databases of early versions have no column for the compatibility, and new ones have no table.
  const { rows: columns } = await runQuery(
    client,
    "SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass('migration') AND attnum > 0",
  );
  if (columns.length === 0) return [];
  const compatibleFrom = columns.some(({ name }) => name === 'compatible_from') ? 'compatible_from' : 'NULL';
  const text = `SELECT name, checksum, ${compatibleFrom} AS "compatibleFrom" FROM migration`;
  return (await runQuery(client, text)).rows;
}

async function checkServerVersion(client: Queryable): Promise<void> {
  const { rows } = await runQuery(client, "SELECT current_setting('server_version') AS version");
  const version = String(rows[0]?.version);
  if (Number.parseInt(version, 10) >= MIN_SERVER_VERSION) return;
  throw new GatewayError(
    'unavailable',
    `PostgreSQL ${MIN_SERVER_VERSION} or newer is needed; this server is ${version}.`,
  );
}
