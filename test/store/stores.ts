/** Both engines of the store for tests: `forEachStore((name, open) => { test(`... (${name})`, ...) })`. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Clock } from '../../src/core/clock.ts';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import type { NeededRoom } from '../../src/store/stored-rows.ts';
import { providePostgres, provideTemplate } from './postgres-server.ts';
import { useStore } from './reusable-store.ts';

export interface TestStore extends Store {
  /** Opens what a second gateway, or the command line, sees of the same data. */
  beside(): Promise<Store>;
}

/** The result of a read of contents that had room for all of them. */
export function allOf<Result>(found: Result): Exclude<Result, NeededRoom> {
  assert.ok(!(typeof found === 'object' && found && 'needs' in found), 'it had no room');
  return found as Exclude<Result, NeededRoom>;
}

export interface TestStoreOptions {
  /** The module of other operations than the gateway's. */
  operations?: URL;
  /** The folder of another schema. */
  migrations?: URL;
  /** Milliseconds that an operation waits at most. */
  timeoutMs?: number;
  /** Clock of the machine that the store is on. */
  clock?: Clock;
}

/** An empty store, which is closed and removed when the test is over. */
export type OpenTestStore = (context: TestContext, options?: TestStoreOptions) => Promise<TestStore>;

const OPERATIONS = new URL('../../src/store/operations/index.ts', import.meta.url);

/** Both, but `npm test` has only SQLite; `npm run test:all` runs the same files with PostgreSQL too. */
const { TEST_ENGINES = 'sqlite,postgres' } = process.env;

export function forEachStore(run: (name: Store['engine'], open: OpenTestStore) => void): void {
  const engines = TEST_ENGINES.split(',');
  if (engines.includes('sqlite')) run('sqlite', openTestSqlite);
  if (engines.includes('postgres')) run('postgres', openTestPostgres);
}

/** A folder that is removed when the test is over. */
export function temporaryData(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-store-'));
  context.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** One that was used before, unless the test asks for other times, a clock or another schema. */
export const openTestSqlite: OpenTestStore = async (context, options = {}) => {
  const { operations = OPERATIONS, timeoutMs: lockTimeoutMs, migrations = MIGRATIONS_FOLDER, clock } = options;
  const stores = keeper(context);
  const open = (folder: string, role: 'owner' | 'guest') =>
    openSqlite({ folder, role, operations, migrations, lockTimeoutMs, ...(clock && { clock }) });
  if (lockTimeoutMs === undefined && options.migrations === undefined && !clock) {
    const { store, folder, release } = await useStore(operations);
    context.after(release);
    return { ...store, beside: () => stores.keep(open(folder, 'guest')) };
  }
  const folder = temporaryData(context);
  const store = await stores.keep(open(folder, 'owner'));
  return { ...store, beside: () => stores.keep(open(folder, 'guest')) };
};

/** A copy of a migrated database, unless the test asks for a clock or another schema: migrations take longer than most tests. */
export const openTestPostgres: OpenTestStore = async (context, options = {}) => {
  const stores = keeper(context);
  const isUsual = options.migrations === undefined && !options.clock;
  const database = await providePostgres(isUsual ? await migratedTemplate() : undefined);
  context.after(database.close);
  const url = new Secret(database.url);
  const open = () => openPostgres({ url, operations: OPERATIONS, migrations: MIGRATIONS_FOLDER, ...options });
  const store = await stores.keep(open());
  return { ...store, beside: () => stores.keep(open()) };
};

const TEMPLATE = 'migrated';
let template: Promise<void> | undefined;

async function migratedTemplate(): Promise<string> {
  template ??= provideTemplate(TEMPLATE, async (address) => {
    const url = new Secret(address);
    const store = await openPostgres({ url, operations: OPERATIONS, migrations: MIGRATIONS_FOLDER });
    await store.close();
  });
  await template;
  return TEMPLATE;
}

/** Closes stores before what they stand on goes away: hooks run in the order in which they were set. */
function keeper(context: TestContext): { keep(opening: Promise<Store>): Promise<Store> } {
  const opened: Store[] = [];
  context.after(() => Promise.all(opened.map((store) => store.close())));
  return {
    async keep(opening) {
      const store = await opening;
      opened.push(store);
      return store;
    },
  };
}
