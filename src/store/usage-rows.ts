/** Rows about use inside the transactions of operations: records, sums by the hour, and what keys have spent. */

import { PERIODS, periodStart } from '../core/key-settings.ts';
import type { Row, Transaction } from './operation.ts';

/** What an answer used, as it is stored. Moments are Unix milliseconds, money is in 1e-12 USD. */
export interface UsageRow {
  id: string;
  started_at: number;
  key_id: string;
  model: string;
  endpoint_provider: string;
  endpoint_model: string;
  protocol_in: string;
  protocol_out: string;
  stream: number;
  status: UsageStatus;
  error_code: string | null;
  finish: string | null;
  estimated: number;
  attempts: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  audio_tokens: number;
  searches: number;
  cost: bigint;
  first_byte_ms: number | null;
  total_ms: number;
  upstream_id: string | null;
}

/**
 * `completed`; `partial`: broken off after its beginning; `failed`: without an answer; `cancelled`: the client left;
 * `interrupted`: the gateway died meanwhile.
 */
export type UsageStatus = 'completed' | 'partial' | 'failed' | 'cancelled' | 'interrupted';

/** What sums can be taken by, in SQL. */
export const GROUPINGS = { day: 'hour / 24', hour: 'hour', model: 'model', provider: 'provider', key: 'key_id' };
export type Grouping = keyof typeof GROUPINGS;

const DAY = 24 * 3600 * 1000;
const HOUR = 3600 * 1000;

/** Adds records that are not there yet, and what they sum up to. */
export async function addUsage(transaction: Transaction, records: readonly UsageRow[]): Promise<void> {
  if (records.length === 0) return;
  const rows = records.map((record) => ({ day: Math.floor(record.started_at / DAY), ...record }));
  await transaction.insert('usage_record', rows);
  // In one order everywhere, so that gateways that do this at once wait for each other in a line.
  for (const row of sums(records, hourOf)) await addToHour(transaction, row);
  for (const row of sums(records.filter(({ cost }) => cost > 0n).flatMap(spendings), spendingOf)) {
    await addToBudget(transaction, row);
  }
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
  const difference = { ...record, cost: cost - before };
  if (difference.cost === 0n) return;
  const { key, counts } = hourOf(difference);
  await addToHour(transaction, { ...key, ...counts, requests: 0, failures: 0 });
  for (const row of sums(spendings(difference), spendingOf)) await addToBudget(transaction, row);
}

const HOUR_COUNTS = [
  ...['requests', 'failures', 'input_tokens', 'output_tokens'],
  ...['cached_tokens', 'cache_write_tokens', 'reasoning_tokens', 'cost'],
];

function addToHour(transaction: Transaction, row: Row): unknown {
  const added = HOUR_COUNTS.map((column) => `${column} = usage_hour.${column} + excluded.${column}`).join(', ');
  const columns = Object.keys(row);
  const sql = `INSERT INTO usage_hour (${columns.join(', ')}) VALUES (${columns.map((name) => `:${name}`).join(', ')})
    ON CONFLICT (hour, key_id, model, provider) DO UPDATE SET ${added}`;
  return transaction.run(sql, row);
}

function addToBudget(transaction: Transaction, row: Row): unknown {
  const sql = `INSERT INTO budget (key_id, period, starts_at, spent) VALUES (:key_id, :period, :starts_at, :spent)
    ON CONFLICT (key_id, period, starts_at) DO UPDATE SET spent = budget.spent + excluded.spent`;
  return transaction.run(sql, row);
}

interface Summand {
  key: Row;
  counts: Record<string, number | bigint>;
}

function hourOf(record: UsageRow): Summand {
  return {
    key: {
      hour: Math.floor(record.started_at / HOUR),
      key_id: record.key_id,
      model: `${record.endpoint_provider}/${record.endpoint_model}`,
      provider: record.endpoint_provider,
    },
    counts: {
      requests: 1,
      failures: record.status === 'failed' ? 1 : 0,
      input_tokens: record.input_tokens,
      output_tokens: record.output_tokens,
      cached_tokens: record.cached_tokens,
      cache_write_tokens: record.cache_write_tokens,
      reasoning_tokens: record.reasoning_tokens,
      cost: record.cost,
    },
  };
}

interface Spending {
  key_id: string;
  period: string;
  starts_at: number;
  cost: bigint;
}

function spendings({ key_id, started_at, cost }: UsageRow): Spending[] {
  return PERIODS.map((period) => ({ key_id, period, starts_at: periodStart(period, started_at), cost }));
}

function spendingOf({ cost, ...key }: Spending): Summand {
  return { key: { ...key }, counts: { spent: cost } };
}

/** One row for each key, by keys. */
function sums<Item>(items: readonly Item[], summandOf: (item: Item) => Summand): Row[] {
  const totals = new Map<string, Summand>();
  for (const { key, counts } of items.map(summandOf)) {
    const name = JSON.stringify(Object.values(key));
    const total = totals.get(name);
    if (!total) totals.set(name, { key, counts: { ...counts } });
    else for (const [count, value] of Object.entries(counts)) total.counts[count] = plus(total.counts[count], value);
  }
  const sorted = [...totals].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([, { key, counts }]) => ({ ...key, ...counts }));
}

function plus(one: number | bigint | undefined, other: number | bigint): number | bigint {
  return typeof other === 'bigint' ? BigInt(one ?? 0) + other : Number(one ?? 0) + other;
}
