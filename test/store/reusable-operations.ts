/** Operations of the module that `?of=URL` names, and one for each database that empties it for the next test. */

import { type StoreOperation, type Transaction, writing } from '../../src/store/operation.ts';

const of = new URL(import.meta.url).searchParams.get('of') ?? '';
const given: { operations: Record<string, StoreOperation<unknown, unknown>> } = await import(of);

/** Tables that are not part of the data. */
const KEPT = "name NOT LIKE 'sqlite_%' AND name <> 'migration'";

/** Deletes all rows, also those that triggers protect. */
async function deleteRows(transaction: Transaction): Promise<void> {
  await transaction.run('PRAGMA defer_foreign_keys = ON');
  for (const { name } of await transaction.all(`SELECT name FROM sqlite_schema WHERE type = 'table' AND ${KEPT}`)) {
    if ((await transaction.all(`SELECT 1 FROM ${name} LIMIT 1`)).length === 0) continue;
    const triggers = await transaction.all(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = :name",
      { name: name ?? null },
    );
    for (const trigger of triggers) await transaction.run(`DROP TRIGGER ${trigger.name}`);
    await transaction.run(`DELETE FROM ${name}`);
    for (const { sql } of triggers) await transaction.run(String(sql));
  }
}

export const operations = {
  ...given.operations,
  emptyState: writing<Record<string, never>, void>('state', deleteRows),
  emptyUsage: writing<Record<string, never>, void>('usage', deleteRows),
};
