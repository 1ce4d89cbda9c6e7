/** The operations of the gateway, and one that runs any statement, as another version or somebody by hand does. */

import { type Row, writing } from '../../src/store/operation.ts';
import { operations as own } from '../../src/store/operations/index.ts';
import type { Store } from '../../src/store/store.ts';

const runSql = writing<{ sql: string }, Row[]>('usage', (transaction, { sql }) => transaction.all(sql));

export const operations = { ...own, runSql };
export const RAW_SQL = { operations: new URL(import.meta.url) };

export function rawSql(store: Store, sql: string): Promise<Row[]> {
  return store.call('runSql' as never, { sql } as never) as Promise<Row[]>;
}
