/** Brings a PostgreSQL database to the schema of this program, one gateway at a time. */

import type { PoolClient } from 'pg';
import { GatewayError } from '../../core/errors.ts';
import { MIGRATION_TABLE, pendingMigrations, readMigrations } from '../migrations.ts';
import { ask } from './pool.ts';

const OLDEST = 15;

/** Any number that nobody else uses on this database. */
const LOCK = 7_072_026;

/** Inside a transaction. Throws `unavailable` for a server that is too old and for a schema of another program. */
export async function migrate(client: PoolClient, folder: URL): Promise<void> {
  await refuseOldServer(client);
  await ask(client, 'SET LOCAL statement_timeout = 0');
  await ask(client, `SELECT pg_advisory_xact_lock(${LOCK})`);
  await ask(client, MIGRATION_TABLE);
  const { rows: applied } = await ask(client, 'SELECT name, checksum FROM migration');
  const known = [...readMigrations(folder, 'state', 'postgres'), ...readMigrations(folder, 'usage', 'postgres')];
  for (const { name, checksum, sql } of pendingMigrations(known, applied)) {
    await ask(client, sql);
    const record = 'INSERT INTO migration (name, checksum, applied_at) VALUES ($1, $2, $3)';
    await ask(client, { text: record, values: [name, checksum, Date.now()] });
  }
}

async function refuseOldServer(client: PoolClient): Promise<void> {
  const { rows } = await ask(client, "SELECT current_setting('server_version') AS version");
  const version = String(rows[0]?.version);
  if (Number.parseInt(version, 10) >= OLDEST) return;
  throw new GatewayError('unavailable', `PostgreSQL ${OLDEST} or newer is needed; this server is ${version}.`);
}
