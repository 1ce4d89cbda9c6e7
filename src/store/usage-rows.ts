/** Usage records, written together with the sums that include them. */

import type { Transaction } from './operation.ts';
import { insertRequests, keyBatches } from './request-rows.ts';
import type { UsageRow } from './usage-row.ts';
import { addToSums } from './usage-sums.ts';

/** Dimensions of usage sums, with their SQL expressions. */
export const GROUPINGS = { day: 'hour / 24', hour: 'hour', model: 'model', provider: 'provider', key: 'key_id' };
/** Dimensions that the sums by the hour have not, only their parts. */
export const PART_GROUPINGS = { protocol: 'protocol', status: 'status', tags: 'tags' };
export type HourGrouping = keyof typeof GROUPINGS;
export type Grouping = HourGrouping | keyof typeof PART_GROUPINGS;
/** Dimensions of sums of records. */
export type RecordGrouping = 'minute' | Exclude<Grouping, 'hour' | 'day'>;

/** Condition on records and sums: they have the tag `:tag`. */
export const HAS_TAG = "replace(' ' || tags || ' ', ' ' || CAST(:tag AS text) || ' ', '') <> ' ' || tags || ' '";

const DAY_MS = 24 * 3600 * 1000;

/** Inserts new records of requests and adds them to the sums. */
export async function addRequests(transaction: Transaction, records: readonly UsageRow[]): Promise<void> {
  if (records.length === 0) return;
  await insertRequests(transaction, records);
  await addToSums(transaction, records);
}

/** Inserts the record of a video task and adds it to the sums. */
export async function addTaskUsage(transaction: Transaction, record: UsageRow): Promise<void> {
  await transaction.insert('usage_record', [{ day: Math.floor(record.started_at / DAY_MS), ...record }]);
  await addToSums(transaction, [record]);
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

/** Replaces records of requests with the same ids and corrects the sums. */
export async function replaceRequests(
  transaction: Transaction,
  before: readonly UsageRow[],
  after: readonly UsageRow[],
): Promise<void> {
  for (const { values, pairs } of keyBatches(before)) {
    await transaction.run(`DELETE FROM usage_request WHERE (at, id) IN (VALUES ${pairs})`, values);
  }
  await insertRequests(transaction, after);
  if (before.length > 0) await addToSums(transaction, after, before);
}
