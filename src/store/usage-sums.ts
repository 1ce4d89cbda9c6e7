/**
 * Saturating sums of usage by hour and by budget period: they stop at the largest 64-bit integer instead of failing
 * (PostgreSQL) or becoming floating point (SQLite), and are read in two parts whose sums cannot overflow.
 */

import { maxBigInt } from '../core/money.ts';
import type { CountsForm, Row, Transaction } from './operation.ts';
import { MAX_SUM, SumChanges } from './sum-changes.ts';
import {
  BUDGET_KEY_COLUMNS,
  HOUR_KEY_COLUMNS,
  HOUR_SUM_COLUMNS,
  PART_KEY_COLUMNS,
  SPENT_COLUMNS,
  TIMES_COLUMN,
} from './usage-columns.ts';
import type { UsageRow } from './usage-row.ts';

/** Divisor that splits a 64-bit integer into two parts, whose sums over a billion rows fit into 64 bits. */
const SPLIT_BASE = 10n ** 9n;

const SUM_TABLES = {
  usage_part: { keys: PART_KEY_COLUMNS, sums: HOUR_SUM_COLUMNS },
  usage_hour: { keys: HOUR_KEY_COLUMNS, sums: HOUR_SUM_COLUMNS },
  budget: { keys: BUDGET_KEY_COLUMNS, sums: SPENT_COLUMNS },
};

/** Adds `added` records to the sums and subtracts `removed` ones. */
export async function addToSums(
  transaction: Transaction,
  added: readonly UsageRow[],
  removed: readonly UsageRow[] = [],
): Promise<void> {
  const changes = new SumChanges();
  changes.add(added);
  changes.remove(removed);
  await changeSums(transaction, changes);
}

export async function changeSums(transaction: Transaction, changes: SumChanges): Promise<void> {
  const { parts, hours, budgets } = changes.rows(transaction.counts);
  for (const row of parts) await addTotal(transaction, 'usage_part', row);
  for (const row of hours) await addTotal(transaction, 'usage_hour', row);
  for (const row of budgets) await addTotal(transaction, 'budget', row);
}

/** Select columns of budgets, as text; read with `spentIn`. */
export const SPENT_SELECT = SPENT_COLUMNS.map((name) => `CAST(${name} AS text) AS ${name}`).join(', ');

export type Spent = Record<(typeof SPENT_COLUMNS)[number], bigint>;

/** Reads a row of `SPENT_SELECT`; zero without one, and where an earlier version subtracted more than it had added. */
export function spentIn(row: Row | undefined): Spent {
  const of = (name: (typeof SPENT_COLUMNS)[number]) => BigInt(String(row?.[name] ?? 0));
  const shareOf = (name: (typeof SPENT_COLUMNS)[number]) => maxBigInt(0n, of(name));
  return {
    spent: of('spent'),
    estimated: shareOf('estimated'),
    videos: shareOf('videos'),
    unpriced: shareOf('unpriced'),
  };
}

/** Select columns that sum up `column` exactly on both engines; read with `sumOf`. */
export function sumColumns(column: string, name = column): string {
  return `CAST(SUM(${column} / ${SPLIT_BASE}) AS text) AS ${name}_high, CAST(SUM(${column} % ${SPLIT_BASE}) AS text) AS ${name}_low`;
}

/** Tokens of these models where they cost nothing. */
export const UNPRICED_COLUMN = 'unpriced_tokens';

/** Expression of the tokens of a row that has one of these models and no cost; undefined without models. */
export function unpricedTokens(
  { textsIn }: Pick<Transaction, 'textsIn'>,
  column: string,
  models: readonly string[],
): { sql: string | undefined; values: Row } {
  if (models.length === 0) return { sql: undefined, values: {} };
  const condition = `cost = 0 AND ${column} IN (${textsIn('unpriced')})`;
  return {
    sql: `CASE WHEN ${condition} THEN input_tokens + output_tokens ELSE 0 END`,
    values: { unpriced: JSON.stringify(models) },
  };
}

/** Sum from the columns of `sumColumns`; zero without rows. */
export function sumOf(row: Row | undefined, name: string): bigint {
  const part = (end: string) => BigInt(String(row?.[`${name}_${end}`] ?? 0));
  return part('high') * SPLIT_BASE + part('low');
}

function addTotal(transaction: Transaction, table: keyof typeof SUM_TABLES, row: Row): unknown {
  const columns = Object.keys(row);
  const values = columns.map((name) => `:${name}`).join(', ');
  const upsert = saturatingUpsert(table, transaction.counts);
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values}) ${upsert}`;
  return transaction.run(sql, row);
}

/** Conflict clause that adds the inserted row to the existing one. */
export function saturatingUpsert(table: keyof typeof SUM_TABLES, counts: Pick<CountsForm, 'sum'>): string {
  const { keys, sums } = SUM_TABLES[table];
  const changes = sums.map((column) => saturatingSum(table, column));
  if (table === 'usage_part') {
    changes.push(`${TIMES_COLUMN} = ${counts.sum(`${table}.${TIMES_COLUMN}`, `excluded.${TIMES_COLUMN}`)}`);
  }
  return `ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${changes.join(', ')}`;
}

/** Assignment that saturates: no evaluated branch can overflow. */
function saturatingSum(table: string, column: string): string {
  const [old, more] = [`${table}.${column}`, `excluded.${column}`];
  const room = `${MAX_SUM} - CASE WHEN ${more} > 0 THEN ${more} ELSE 0 END`;
  return `${column} = CASE WHEN ${old} > ${room} THEN ${MAX_SUM} ELSE ${old} + ${more} END`;
}
