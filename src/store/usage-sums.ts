/**
 * Sums of use by the hour and by budget period. They saturate at the largest integer of both engines instead of failing
 * (PostgreSQL) or becoming floating point (SQLite), and are read in two parts that cannot overflow while they are added up.
 */

import { largest, smallest } from '../core/money.ts';
import { PERIODS, periodStart } from '../records/key-settings.ts';
import type { Row, Transaction } from './operation.ts';
import type { UsageRow } from './usage-row.ts';

const MAX_INTEGER = 2n ** 63n - 1n;
const HOUR = 3600 * 1000;
/** Both parts of a 64-bit integer, summed up over a billion rows, stay within 64 bits. */
const PART = 10n ** 9n;

const HOUR_COUNTS = [
  ...['requests', 'failures', 'input_tokens', 'output_tokens'],
  ...['cached_tokens', 'cache_write_tokens', 'reasoning_tokens', 'cost'],
];

/** Adds what records sum up to, and takes away what `removed` records did. */
export async function addToSums(
  transaction: Transaction,
  added: readonly UsageRow[],
  removed: readonly UsageRow[] = [],
): Promise<void> {
  const changes = [...added.map((row) => ({ row, sign: 1 })), ...removed.map((row) => ({ row, sign: -1 }))];
  // In one order everywhere, so that gateways that do this at once wait for each other in a line.
  for (const row of sums(changes.map(hourOf))) await addToHour(transaction, row);
  for (const row of sums(changes.flatMap(spendingsOf))) {
    if (row.spent !== 0n) await addToBudget(transaction, row);
  }
}

/** Columns that sum up `column` exactly on both engines, for `sumOf`. */
export function sumColumns(column: string, name = column): string {
  return `CAST(SUM(${column} / ${PART}) AS text) AS ${name}_high, CAST(SUM(${column} % ${PART}) AS text) AS ${name}_low`;
}

/** Zero over no rows. */
export function sumOf(row: Row | undefined, name: string): bigint {
  const part = (end: string) => BigInt(String(row?.[`${name}_${end}`] ?? 0));
  return part('high') * PART + part('low');
}

function addToHour(transaction: Transaction, row: Row): unknown {
  const added = HOUR_COUNTS.map((column) => saturatingSum('usage_hour', column)).join(', ');
  const columns = Object.keys(row);
  const sql = `INSERT INTO usage_hour (${columns.join(', ')}) VALUES (${columns.map((name) => `:${name}`).join(', ')})
    ON CONFLICT (hour, key_id, model, provider) DO UPDATE SET ${added}`;
  return transaction.run(sql, row);
}

function addToBudget(transaction: Transaction, row: Row): unknown {
  const sql = `INSERT INTO budget (key_id, period, starts_at, spent) VALUES (:key_id, :period, :starts_at, :spent)
    ON CONFLICT (key_id, period, starts_at) DO UPDATE SET ${saturatingSum('budget', 'spent')}`;
  return transaction.run(sql, row);
}

/** No branch that is evaluated can overflow. */
function saturatingSum(table: string, column: string): string {
  const [old, more] = [`${table}.${column}`, `excluded.${column}`];
  const room = `${MAX_INTEGER} - CASE WHEN ${more} > 0 THEN ${more} ELSE 0 END`;
  return `${column} = CASE WHEN ${old} > ${room} THEN ${MAX_INTEGER} ELSE ${old} + ${more} END`;
}

interface Change {
  row: UsageRow;
  /** 1 or -1. */
  sign: number;
}

interface Summand {
  key: Row;
  counts: Record<string, number | bigint>;
}

function hourOf({ row, sign }: Change): Summand {
  return {
    key: {
      hour: Math.floor(row.started_at / HOUR),
      key_id: row.key_id,
      model: `${row.endpoint_provider}/${row.endpoint_model}`,
      provider: row.endpoint_provider,
    },
    counts: {
      requests: sign,
      failures: row.status === 'failed' ? sign : 0,
      input_tokens: sign * row.input_tokens,
      output_tokens: sign * row.output_tokens,
      cached_tokens: sign * row.cached_tokens,
      cache_write_tokens: sign * row.cache_write_tokens,
      reasoning_tokens: sign * row.reasoning_tokens,
      cost: BigInt(sign) * row.cost,
    },
  };
}

function spendingsOf({ row: { key_id, started_at, cost }, sign }: Change): Summand[] {
  return PERIODS.map((period) => ({
    key: { key_id, period, starts_at: periodStart(period, started_at) },
    counts: { spent: BigInt(sign) * cost },
  }));
}

/** One row for each key, by keys. */
function sums(summands: readonly Summand[]): Row[] {
  const totals = new Map<string, Summand>();
  for (const { key, counts } of summands) {
    const name = JSON.stringify(Object.values(key));
    const total = totals.get(name);
    if (!total) totals.set(name, { key, counts: { ...counts } });
    else for (const [count, value] of Object.entries(counts)) total.counts[count] = plus(total.counts[count], value);
  }
  const sorted = [...totals].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([, { key, counts }]) => ({ ...key, ...counts }));
}

function plus(one: number | bigint | undefined, other: number | bigint): number | bigint {
  if (typeof other === 'number') return Number(one ?? 0) + other;
  return largest(-MAX_INTEGER, smallest(MAX_INTEGER, BigInt(one ?? 0) + other));
}
