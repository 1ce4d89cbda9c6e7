/** Records of use inside the transactions of operations, together with the sums that they are part of. */

import type { Row, Transaction } from './operation.ts';
import type { UsageRow } from './usage-row.ts';
import { addToSums } from './usage-sums.ts';

/**
 * `completed`; `partial`: broken off after its beginning; `failed`: without an answer; `cancelled`: the client left;
 * `interrupted`: the gateway died meanwhile.
 */
/** What sums can be taken by, in SQL. */
export const GROUPINGS = { day: 'hour / 24', hour: 'hour', model: 'model', provider: 'provider', key: 'key_id' };
export type Grouping = keyof typeof GROUPINGS;

const DAY = 24 * 3600 * 1000;

/** Adds records that are not there yet, and what they sum up to. */
export async function addUsage(transaction: Transaction, records: readonly UsageRow[]): Promise<void> {
  if (records.length === 0) return;
  await transaction.insert('usage_record', records.map(dated));
  await addToSums(transaction, records);
}

/** Gives a record that is there another cost, and its sums the difference. */
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

/** Puts records in the place of those that stand under their ids, and their sums right. */
export async function replaceUsage(
  transaction: Transaction,
  before: readonly UsageRow[],
  after: readonly UsageRow[],
): Promise<void> {
  for (const { id } of before) await transaction.run('DELETE FROM usage_record WHERE id = :id', { id });
  if (after.length > 0) await transaction.insert('usage_record', after.map(dated));
  if (before.length > 0) await addToSums(transaction, after, before);
}

function dated(record: UsageRow): Row {
  return { day: Math.floor(record.started_at / DAY), ...record };
}
