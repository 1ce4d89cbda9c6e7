/** Usage records, written together with the sums that include them. */

import type { Row, Transaction } from './operation.ts';
import type { UsageRow } from './usage-row.ts';
import { addToSums } from './usage-sums.ts';

/** Dimensions of usage sums, with their SQL expressions. */
export const GROUPINGS = { day: 'hour / 24', hour: 'hour', model: 'model', provider: 'provider', key: 'key_id' };
export type Grouping = keyof typeof GROUPINGS;

const DAY_MS = 24 * 3600 * 1000;

/** Inserts new records and adds them to the sums. */
export async function addUsage(transaction: Transaction, records: readonly UsageRow[]): Promise<void> {
  if (records.length === 0) return;
  await transaction.insert('usage_record', records.map(withDay));
  await addToSums(transaction, records);
}

/** Changes the cost of an existing record and adds the difference to the sums. */
export async function correctUsage(
  transaction: Transaction,
  record: UsageRow & { revision: number },
  before: bigint,
): Promise<void> {
  const { id, cost, revision } = record;
  const sql = 'UPDATE usage_record SET cost = :cost, revision = :revision WHERE id = :id';
  await transaction.run(sql, { id, cost, revision });
  if (cost !== before) await addToSums(transaction, [record], [{ ...record, cost: before }]);
}

/** Replaces records with the same ids and corrects the sums. */
export async function replaceUsage(
  transaction: Transaction,
  before: readonly UsageRow[],
  after: readonly UsageRow[],
): Promise<void> {
  for (const { id } of before) await transaction.run('DELETE FROM usage_record WHERE id = :id', { id });
  if (after.length > 0) await transaction.insert('usage_record', after.map(withDay));
  if (before.length > 0) await addToSums(transaction, after, before);
}

function withDay(record: UsageRow): Row {
  return { day: Math.floor(record.started_at / DAY_MS), ...record };
}
