/** Opens the store that the configuration names: a folder, or a PostgreSQL database. */

import { extname } from 'node:path';
import type { Secret } from '../core/secret.ts';
import { MIGRATIONS } from './migrations.ts';
import { openSqlite } from './sqlite/store.ts';
import type { Store } from './store.ts';

const OPERATIONS = new URL(`./operations/index${extname(import.meta.url)}`, import.meta.url);

export interface OpenOptions {
  /** A folder for the embedded store, or the URL of a PostgreSQL database. */
  data: string | { postgres: Secret };
  /** A gateway is the owner of its store; the command line is a guest that may work beside it. */
  role: 'owner' | 'guest';
}

/** Throws `unavailable` in words for the operator. */
export async function openStore({ data, role }: OpenOptions): Promise<Store> {
  const places = { operations: OPERATIONS, migrations: MIGRATIONS };
  if (typeof data !== 'string') throw new Error('not yet');
  return openSqlite({ folder: data, role, ...places });
}
