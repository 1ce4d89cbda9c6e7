/**
 * Stores that tests of one process use in turn: the start of a store's threads costs more than most tests do with it. Each
 * test gets an empty store in an empty folder.
 */

import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { OPERATIONS_MODULE } from '../../src/store/open.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';

export interface ReusableStore {
  /** `close` really closes it: then no other test gets it. */
  store: Store;
  folder: string;
  /** Call when the test is over. */
  release(): Promise<void>;
}

interface OpenStore {
  store: Store;
  folder: string;
  operations: string;
}

/** What stays in the folder: the files of the databases and the lock of the folder. */
const DATABASE_FILE = /^(state|usage|lock)\.db/;

const unused: OpenStore[] = [];

process.on('exit', () => {
  for (const { folder } of unused) remove(folder);
});

/** An empty store with the gateway's operations, or those of another module. */
export async function useStore(operations: URL = OPERATIONS_MODULE): Promise<ReusableStore> {
  const found = unused.findIndex((open) => open.operations === operations.href);
  const open = found < 0 ? await openNew(operations) : unused.splice(found, 1)[0];
  if (!open) throw new Error('no store');
  const { store, folder } = open;
  let state: 'open' | 'closed' | 'released' = 'open';

  function refuseIfOver(): void {
    if (state === 'released') throw new StoreUnavailable('the store is closed');
  }

  return {
    store: {
      ...store,
      call: (async (name: never, parameters: never) => {
        refuseIfOver();
        return store.call(name, parameters);
      }) as Store['call'],
      close() {
        state = 'closed';
        return store.close();
      },
    },
    folder,
    async release() {
      if (state === 'released') return;
      const reusable = state === 'open' && (await isEmptied(open));
      state = 'released';
      if (reusable) return void unused.push(open);
      await store.close();
      remove(folder);
    },
  };
}

async function openNew(operations: URL): Promise<OpenStore> {
  const module = new URL('./reusable-operations.ts', import.meta.url);
  module.searchParams.set('of', operations.href);
  const folder = mkdtempSync(join(tmpdir(), 'polygate-store-'));
  const store = await openSqlite({ folder, role: 'owner', operations: module, migrations: MIGRATIONS_FOLDER });
  return { store, folder, operations: operations.href };
}

/** Whether another test may have it: a test may have damaged its files. */
async function isEmptied({ store, folder }: OpenStore): Promise<boolean> {
  const call = store.call as (name: string, parameters: object) => Promise<unknown>;
  try {
    await Promise.all([call('emptyState', {}), call('emptyUsage', {})]);
  } catch {
    return false;
  }
  if (!['state.db', 'usage.db', 'lock.db'].every((name) => existsSync(join(folder, name)))) return false;
  for (const name of readdirSync(folder)) if (!DATABASE_FILE.test(name)) remove(join(folder, name));
  return true;
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}
