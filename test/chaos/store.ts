/** The store of a gateway that does not run at the moment, or of several on PostgreSQL: filled before, looked into after. */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import type { Row, StoreOperation } from '../../src/store/operation.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { newDelivery } from '../../src/webhooks/envelope.ts';
import type { operations } from './operations.ts';

type Operations = typeof operations;

export interface ChaosStore extends Store {
  do<Name extends keyof Operations>(
    name: Name,
    parameters: Operations[Name] extends StoreOperation<infer Parameters, infer _Result> ? Parameters : never,
  ): Promise<Operations[Name] extends StoreOperation<infer _Parameters, infer Result> ? Awaited<Result> : never>;
  /** Rows of the tables of tasks and webhooks. */
  rows(sql: string): Promise<Row[]>;
}

const OPERATIONS = new URL('./operations.ts', import.meta.url);

/** Of the gateway whose configuration lies in the folder. */
export async function openData(folder: string, role: 'owner' | 'guest' = 'owner'): Promise<ChaosStore> {
  return withMore(
    await openSqlite({ folder: join(folder, 'data'), role, operations: OPERATIONS, migrations: MIGRATIONS_FOLDER }),
  );
}

export async function openDatabase(url: string): Promise<ChaosStore> {
  return withMore(await openPostgres({ url: new Secret(url), operations: OPERATIONS, migrations: MIGRATIONS_FOLDER }));
}

function withMore(store: Store): ChaosStore {
  const perform = store.call as unknown as ChaosStore['do'];
  return { ...store, do: perform, rows: (sql) => perform('askState', { sql }) };
}

/** Few enough for one transaction on a machine that is busy. */
const CHUNK = 100;
const OWNERS = 64;

export interface Owed {
  count: number;
  /** Who gets them, in turns. */
  urls: readonly string[];
  /** When number n is due, in Unix milliseconds; now if absent. */
  dueAt?: (index: number) => number;
}

/** Owes webhooks to receivers, on behalf of many owners. Resolves with their idempotency keys. */
export async function owe(store: ChaosStore, { count, urls, dueAt = () => store.now() }: Owed): Promise<string[]> {
  const deliveries = Array.from({ length: count }, (_, index) => {
    const taskId = randomUUID();
    const task = { id: taskId, status: 'completed', prompt: `A paper boat, number ${index}` };
    const to = { url: urls[index % urls.length] ?? '', owner: `owner-${index % OWNERS}`, createdAt: dueAt(index) };
    return newDelivery({ taskId, status: 'completed', ...to, task });
  });
  for (let start = 0; start < count; start += CHUNK) {
    await store.do('addDeliveries', { deliveries: deliveries.slice(start, start + CHUNK) });
  }
  return deliveries.map(({ id }) => id);
}
