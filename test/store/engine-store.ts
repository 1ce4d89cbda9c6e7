/** Stores with the additional operations of the engine tests. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Clock } from '../../src/core/clock.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import type { operations } from './engine-operations.ts';

type Operations = typeof operations;

export const ENGINE_OPERATIONS = new URL('./engine-operations.ts', import.meta.url);

/** The same store, as one that has those operations. */
export interface EngineStore extends Omit<Store, 'call'> {
  call<Name extends keyof Operations>(
    name: Name,
    parameters: Parameters<Operations[Name]['run']>[1],
  ): Promise<Awaited<ReturnType<Operations[Name]['run']>>>;
}

export function engineStore(store: Store): EngineStore {
  return store as unknown as EngineStore;
}

interface Opening {
  role?: 'owner' | 'guest';
  lockTimeoutMs?: number;
  readerIdleMs?: number;
  maxPages?: number;
  clock?: Clock;
}

/** The embedded engine in a folder. */
export async function openEngine(context: TestContext, folder: string, opening: Opening = {}): Promise<EngineStore> {
  const places = { operations: ENGINE_OPERATIONS, migrations: MIGRATIONS_FOLDER };
  const store = await openSqlite({ folder, role: 'owner', ...places, ...opening });
  context.after(() => store.close());
  return engineStore(store);
}

/** Tells an engine that cannot work from other errors, by what the operator reads. */
export function unavailable(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreUnavailable, String(error));
    assert.match(error.problem, pattern);
    assert.equal(error.retryAfter, 1000);
    assert.ok(!pattern.test(error.message));
    return true;
  };
}
