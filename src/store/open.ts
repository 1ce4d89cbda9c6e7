/** Opens the store that the configuration names: a folder, or a PostgreSQL database. */

import { extname } from 'node:path';
import type { Secret } from '../core/secret.ts';
import { MIGRATIONS } from './migrations.ts';
import type { Store } from './store.ts';

const OPERATIONS = new URL(`./operations/index${extname(import.meta.url)}`, import.meta.url);

export interface OpenOptions {
  /** Folder of the embedded store. */
  data: string;
  /** URL of the database that is the store instead. */
  postgres?: Secret;
  /** A gateway is the owner of its folder; the command line is a guest that may work beside it. */
  role: 'owner' | 'guest';
}

/** Throws `unavailable` in words for the operator. */
export async function openStore({ data, postgres, role }: OpenOptions): Promise<Store> {
  const places = { operations: OPERATIONS, migrations: MIGRATIONS };
  if (postgres) {
    const { openPostgres } = await import('./postgres/store.ts');
    return openPostgres({ url: postgres, ...places });
  }
  const { openSqlite } = await import('./sqlite/store.ts');
  return openSqlite({ folder: data, role, ...places });
}
