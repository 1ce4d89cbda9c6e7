/** Opens the store that the configuration names: a folder, or a PostgreSQL database. */

import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { GatewayError } from '../core/errors.ts';
import type { Secret } from '../security/secret.ts';
import { tracesOf } from './lost.ts';
import { MIGRATIONS } from './migrations.ts';
import type { Store } from './store.ts';

const OPERATIONS = new URL(`./operations/index${extname(import.meta.url)}`, import.meta.url);

export interface OpenStoreOptions {
  /** Folder of the embedded store. */
  data: string;
  /** URL of the database that is the store instead. */
  postgres?: Secret;
  /** What secrets are encrypted with; absent means the file in the folder. */
  encryption?: { keys: readonly unknown[]; keyFile?: string };
  /** A gateway is the owner of its folder; the command line is a guest that may work beside it. */
  role: 'owner' | 'guest';
  /** Whether a folder without a store gets one; absent means only from its owner. */
  makes?: boolean;
}

/** Throws `not_found` and `unavailable` in words for the operator. */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { data, postgres, encryption, role, makes = role === 'owner' } = options;
  if (!makes && !hasStore({ data, postgres })) throw missing(data);
  const places = { operations: OPERATIONS, migrations: MIGRATIONS };
  if (postgres) {
    const { openPostgres } = await import('./postgres/store.ts');
    return openPostgres({ url: postgres, ...places });
  }
  const { openSqlite } = await import('./sqlite/store.ts');
  const ownsKeyFile = encryption === undefined || (encryption.keys.length === 0 && encryption.keyFile === undefined);
  return openSqlite({ folder: data, role, traces: tracesOf({ folder: data, ownsKeyFile }), ...places });
}

/** Whether there is one to look into; a database is asked when it is opened. */
export function hasStore({ data, postgres }: Pick<OpenStoreOptions, 'data' | 'postgres'>): boolean {
  return postgres !== undefined || existsSync(join(data, 'state.db'));
}

function missing(folder: string): GatewayError {
  return new GatewayError(
    'not_found',
    `There is no store in ${folder}. The configuration (--config, or polygate.yaml in this folder) names its place with ` +
      'data; "polygate serve" makes one.',
  );
}
