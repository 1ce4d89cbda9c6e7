/**
 * Saturating sums of usage by hour and by budget period: they stop at the largest 64-bit integer instead of failing
 * (PostgreSQL) or becoming floating point (SQLite), and are read in two parts whose sums cannot overflow.
 */

import { maxBigInt, minBigInt } from '../core/money.ts';
import { PERIODS, periodStart } from '../records/key-settings.ts';
import { tagSubject } from '../records/tags.ts';
import type { CountsForm, Row, Transaction } from './operation.ts';
import { countTimes, noCounts, VIDEOS } from './time-counts.ts';
import { isFailure, type UsageRow } from './usage-row.ts';

const MAX_INTEGER = 2n ** 63n - 1n;
const HOUR_MS = 3600 * 1000;
/** Divisor that splits a 64-bit integer into two parts, whose sums over a billion rows fit into 64 bits. */
const SPLIT_BASE = 10n ** 9n;

export const HOUR_KEY_COLUMNS = ['hour', 'key_id', 'model', 'provider'];
export const PART_KEY_COLUMNS = ['hour', 'key_id', 'tags', 'model', 'provider', 'protocol', 'status'];
export const COUNT_COLUMNS = [
  'requests',
  'failures',
  'input_tokens',
  'output_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  // Requests that the columns below are counted of: not those that an earlier version recorded.
  'assessed',
  'partial',
  'estimated_tokens',
] as const;
/** In 1e-12 USD. */
export const MONEY_COLUMNS = ['cost', 'estimated_cost'] as const;
export const HOUR_SUM_COLUMNS = [...COUNT_COLUMNS, ...MONEY_COLUMNS];
/** Tables of daily sums: their keys beside the first hour, and the hourly sums that they are made from. */
export const DAY_TABLES = {
  usage_day: { keys: HOUR_KEY_COLUMNS.slice(1), hours: 'usage_hour', hasTimes: false },
  usage_part_day: { keys: PART_KEY_COLUMNS.slice(1), hours: 'usage_part', hasTimes: true },
};
/** Counts by time, see `time-counts.ts`. */
export const TIMES_COLUMN = 'times';
export type DayTable = keyof typeof DAY_TABLES;
const BUDGET_KEY_COLUMNS = ['key_id', 'period', 'starts_at'];
/** In 1e-12 USD what is spent, and of it by estimates and for videos; the tokens whose price was unknown, which are not in it. */
export const SPENT_COLUMNS = ['spent', 'estimated', 'videos', 'unpriced'] as const;
export const BUDGET_COLUMNS = [...BUDGET_KEY_COLUMNS, ...SPENT_COLUMNS];

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

/** Changes of the sums by records, of which it keeps nothing else. */
export class SumChanges {
  readonly #parts = new Map<string, PartSummand>();

  add(records: readonly UsageRow[]): void {
    for (const row of records) addToPart(this.#parts, row, 1);
  }

  remove(records: readonly UsageRow[]): void {
    for (const row of records) addToPart(this.#parts, row, -1);
  }

  /** Always in the same order, so that concurrent gateways cannot deadlock. */
  rows({ encode }: Pick<CountsForm, 'encode'>): { parts: Row[]; hours: Row[]; budgets: Row[] } {
    const summands = [...this.#parts.values()];
    return {
      parts: partTotals(
        summands.filter(({ key }) => key.tags !== null),
        encode,
      ),
      hours: totalsByKey(summands.map(hourSummand)),
      budgets: totalsByKey(summands.flatMap(budgetSummands)).filter((row) =>
        SPENT_COLUMNS.some((name) => row[name] !== 0n),
      ),
    };
  }
}

/** Select columns of budgets, as text; read with `spentIn`. */
export const SPENT_SELECT = SPENT_COLUMNS.map((name) => `CAST(${name} AS text) AS ${name}`).join(', ');

export type Spent = Record<(typeof SPENT_COLUMNS)[number], bigint>;

/** Of a row of `SPENT_SELECT`; zero without one, and where an earlier version took back what it did not add. */
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
  const room = `${MAX_INTEGER} - CASE WHEN ${more} > 0 THEN ${more} ELSE 0 END`;
  return `${column} = CASE WHEN ${old} > ${room} THEN ${MAX_INTEGER} ELSE ${old} + ${more} END`;
}

type HourCounts = Record<(typeof COUNT_COLUMNS)[number], number> & Record<(typeof MONEY_COLUMNS)[number], bigint>;

interface Summand {
  key: Row;
  counts: Record<string, number | bigint>;
}

interface PartSummand extends Summand {
  /** The columns of `PART_KEY_COLUMNS`. */
  key: {
    hour: number;
    key_id: string;
    tags: string | null;
    model: string;
    provider: string;
    protocol: string;
    status: string;
  };
  /** Counts by time. */
  times: number[];
  /** Tokens whose price was unknown. */
  unpriced: bigint;
}

/** Adds a row, or subtracts it if `sign` is -1, to the total of its part. */
function addToPart(parts: Map<string, PartSummand>, row: UsageRow, sign: number): void {
  const hour = Math.floor(row.started_at / HOUR_MS);
  const { key_id, endpoint_provider, endpoint_model, protocol_in, status, tags = '' } = row;
  const name = `${hour} ${key_id}\0${endpoint_provider}\0${endpoint_model}\0${protocol_in}\0${status}\0${tags}`;
  const part = parts.get(name);
  if (!part) {
    parts.set(name, partSummand(row, sign));
    return;
  }
  countTimes(part.times, row, sign);
  part.unpriced += unpricedTokensOf(row, sign);
  const counts = part.counts as HourCounts;
  counts.requests += sign;
  counts.failures += isFailure(row.status) ? sign : 0;
  counts.input_tokens += sign * row.input_tokens;
  counts.output_tokens += sign * row.output_tokens;
  counts.cached_tokens += sign * row.cached_tokens;
  counts.cache_write_tokens += sign * row.cache_write_tokens;
  counts.reasoning_tokens += sign * row.reasoning_tokens;
  counts.assessed += sign;
  counts.partial += row.status === 'partial' ? sign : 0;
  const cost = BigInt(sign) * row.cost;
  counts.cost = saturate(counts.cost + cost);
  if (row.estimated !== 1) return;
  counts.estimated_tokens += sign * (row.input_tokens + row.output_tokens);
  counts.estimated_cost = saturate(counts.estimated_cost + cost);
}

function partSummand(row: UsageRow, sign: number): PartSummand {
  const isEstimated = row.estimated === 1;
  const cost = BigInt(sign) * row.cost;
  const times = noCounts();
  countTimes(times, row, sign);
  return {
    times,
    unpriced: unpricedTokensOf(row, sign),
    key: {
      hour: Math.floor(row.started_at / HOUR_MS),
      key_id: row.key_id,
      tags: row.tags === undefined ? '' : row.tags,
      model: `${row.endpoint_provider}/${row.endpoint_model}`,
      provider: row.endpoint_provider,
      protocol: row.protocol_in,
      status: row.status,
    },
    counts: {
      requests: sign,
      failures: isFailure(row.status) ? sign : 0,
      input_tokens: sign * row.input_tokens,
      output_tokens: sign * row.output_tokens,
      cached_tokens: sign * row.cached_tokens,
      cache_write_tokens: sign * row.cache_write_tokens,
      reasoning_tokens: sign * row.reasoning_tokens,
      assessed: sign,
      partial: row.status === 'partial' ? sign : 0,
      estimated_tokens: isEstimated ? sign * (row.input_tokens + row.output_tokens) : 0,
      cost,
      estimated_cost: isEstimated ? cost : 0n,
    },
  };
}

function unpricedTokensOf({ unpriced, input_tokens, output_tokens }: UsageRow, sign: number): bigint {
  return unpriced === 1 ? BigInt(sign * (input_tokens + output_tokens)) : 0n;
}

function hourSummand({ key: { hour, key_id, model, provider }, counts }: PartSummand): Summand {
  return { key: { hour, key_id, model, provider }, counts };
}

/** Of the key and of each of its tags. Periods begin with an hour. */
function budgetSummands({ key: { hour, key_id, tags, protocol }, counts, unpriced }: PartSummand): Summand[] {
  const { cost = 0n, estimated_cost: estimated = 0n } = counts;
  const subjects = tags ? [key_id, ...tags.split(' ').map(tagSubject)] : [key_id];
  return subjects.flatMap((subject) =>
    PERIODS.map((period) => ({
      key: { key_id: subject, period, starts_at: periodStart(period, hour * HOUR_MS) },
      counts: { spent: cost, estimated, videos: protocol === VIDEOS ? cost : 0n, unpriced },
    })),
  );
}

/** Sums of parts, which have distinct keys, sorted by these. */
function partTotals(parts: readonly PartSummand[], encode: CountsForm['encode']): Row[] {
  const named = parts.map((part) => ({ part, name: JSON.stringify(Object.values(part.key)) }));
  return named
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ part: { key, counts, times } }) => ({ ...key, ...counts, [TIMES_COLUMN]: encode(times) }));
}

/** One row for each distinct key, sorted by key. */
function totalsByKey(summands: readonly Summand[]): Row[] {
  const totals = new Map<string, Summand>();
  for (const { key, counts } of summands) {
    const name = JSON.stringify(Object.values(key));
    const total = totals.get(name);
    if (!total) totals.set(name, { key, counts: { ...counts } });
    else
      for (const [count, value] of Object.entries(counts))
        total.counts[count] = saturatingAdd(total.counts[count], value);
  }
  const sorted = [...totals].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([, { key, counts }]) => ({ ...key, ...counts }));
}

function saturatingAdd(one: number | bigint | undefined, other: number | bigint): number | bigint {
  if (typeof other === 'number') return Number(one ?? 0) + other;
  return saturate(BigInt(one ?? 0) + other);
}

export function saturate(sum: bigint): bigint {
  return maxBigInt(-MAX_INTEGER, minBigInt(MAX_INTEGER, sum));
}
