/** Schema status of the embedded store: read beside a running gateway, without creating or changing anything. */

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isMissingOrEmpty } from '../lost-store.ts';
import { compareMigrations, readMigrations, type SchemaStatus } from '../migrations.ts';
import type { Database } from '../operation.ts';
import { schemaStatus } from './database.ts';
import { toStoreError } from './failure.ts';

/** Throws `unavailable` if a database is not one that this program may use. */
export function folderSchemaStatus(folder: string, migrations: URL): SchemaStatus {
  const [state, usage] = (['state', 'usage'] as const).map((database) => fileStatus(folder, migrations, database)) as [
    SchemaStatus,
    SchemaStatus,
  ];
  return { pending: [...state.pending, ...usage.pending], newer: [...state.newer, ...usage.newer] };
}

function fileStatus(folder: string, migrations: URL, database: Database): SchemaStatus {
  const path = join(folder, `${database}.db`);
  if (isMissingOrEmpty(path)) return compareMigrations(readMigrations(migrations, database, 'sqlite'), []);
  const connection = new DatabaseSync(path, { readOnly: true });
  try {
    return schemaStatus(connection, migrations, database);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    connection.close();
  }
}
