/** Opening of the configured store: a folder, or a PostgreSQL database. */

import { extname, join } from 'node:path';
import { GatewayError } from '../core/errors.ts';
import type { Secret } from '../security/secret.ts';
import { remnantsOf, sizeOf } from './lost-store.ts';
import { MIGRATIONS_FOLDER, type SchemaStatus } from './migrations.ts';
import type { Store } from './store.ts';

export const OPERATIONS_MODULE = new URL(`./operations/index${extname(import.meta.url)}`, import.meta.url);

export interface OpenStoreOptions {
  /** Folder of the embedded store. */
  data: string;
  /** URL of the PostgreSQL database to use instead. */
  postgres?: Secret;
  /** Source of the encryption key; absent means the file in the folder. */
  encryption?: { keys: readonly unknown[]; keyFile?: string };
  /** A gateway owns its folder; the command line works beside it as a guest. */
  role: 'owner' | 'guest';
  /** Whether to create a missing store; by default only the owner does. */
  createIfMissing?: boolean;
  /** Time that a write to the embedded store waits for another process. */
  lockTimeoutMs?: number;
}

/** Throws `not_found` and `unavailable` with a message for the operator. */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { data, postgres, encryption, role, createIfMissing = role === 'owner', lockTimeoutMs } = options;
  if (!createIfMissing && !hasStore({ data, postgres })) throw missingStoreError(data);
  const modules = { operations: OPERATIONS_MODULE, migrations: MIGRATIONS_FOLDER };
  if (postgres) {
    const { openPostgres } = await import('./postgres/store.ts');
    return openPostgres({ url: postgres, ...modules });
  }
  const { openSqlite } = await import('./sqlite/store.ts');
  const ownsKeyFile = encryption === undefined || (encryption.keys.length === 0 && encryption.keyFile === undefined);
  const remnants = remnantsOf({ folder: data, ownsKeyFile });
  return openSqlite({ folder: data, role, remnants, lockTimeoutMs, ...modules });
}

/** Changes nothing. Throws `StoreUnavailable`, and `unavailable` if the store is not one that this program may use. */
export async function readStoreStatus({
  data,
  postgres,
}: Pick<OpenStoreOptions, 'data' | 'postgres'>): Promise<SchemaStatus> {
  if (postgres) {
    const { databaseSchemaStatus } = await import('./postgres/store.ts');
    return databaseSchemaStatus(postgres, MIGRATIONS_FOLDER);
  }
  const { folderSchemaStatus } = await import('./sqlite/folder-status.ts');
  return folderSchemaStatus(data, MIGRATIONS_FOLDER);
}

/** Whether a store exists. A PostgreSQL database is assumed to exist until it is opened. Throws `unavailable` if this user may not look. */
export function hasStore({ data, postgres }: Pick<OpenStoreOptions, 'data' | 'postgres'>): boolean {
  return postgres !== undefined || sizeOf(join(data, 'state.db')) !== undefined;
}

function missingStoreError(folder: string): GatewayError {
  return new GatewayError(
    'not_found',
    `There is no store in ${folder}. The configuration (--config, or polygate.yaml in this folder) names its place with ` +
      'data; "polygate serve" makes one.',
  );
}
