/** PostgreSQL migrations, serialized across gateways by an advisory lock. */

import type { PoolClient } from 'pg';
import { systemClock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import { MIGRATION_TABLE, pendingMigrations, readMigrations } from '../migrations.ts';
import { runQuery } from './pool.ts';

const MIN_SERVER_VERSION = 15;

/** Key of the advisory lock; arbitrary, but unique on the database. */
const MIGRATION_LOCK_ID = 7_072_026;

/** Runs inside a transaction. Throws `unavailable` if the server is too old or the schema is unknown. */
export async function migrate(client: PoolClient, folder: URL): Promise<void> {
  await checkServerVersion(client);
  await runQuery(client, 'SET LOCAL statement_timeout = 0');
  await runQuery(client, `SELECT pg_advisory_xact_lock(${MIGRATION_LOCK_ID})`);
  await runQuery(client, MIGRATION_TABLE);
  const { rows: applied } = await runQuery(client, 'SELECT name, checksum FROM migration');
  const known = [...readMigrations(folder, 'state', 'postgres'), ...readMigrations(folder, 'usage', 'postgres')];
  for (const { name, checksum, sql } of pendingMigrations(known, applied)) {
    await runQuery(client, sql);
    const recordSql = 'INSERT INTO migration (name, checksum, applied_at) VALUES ($1, $2, $3)';
    await runQuery(client, { text: recordSql, values: [name, checksum, systemClock.now()] });
  }
}

async function checkServerVersion(client: PoolClient): Promise<void> {
  const { rows } = await runQuery(client, "SELECT current_setting('server_version') AS version");
  const version = String(rows[0]?.version);
  if (Number.parseInt(version, 10) >= MIN_SERVER_VERSION) return;
  throw new GatewayError(
    'unavailable',
    `PostgreSQL ${MIN_SERVER_VERSION} or newer is needed; this server is ${version}.`,
  );
}
