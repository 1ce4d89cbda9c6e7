/** Changes of the usage sums by records: the totals of their parts, hours and budgets. */

import { maxBigInt, minBigInt } from '../core/money.ts';
import { PERIODS, periodStart } from '../records/key-settings.ts';
import { tagSubject } from '../records/tags.ts';
import type { CountsForm, Row } from './operation.ts';
import { countTimes, noCounts, VIDEOS } from './time-counts.ts';
import { type COUNT_COLUMNS, type MONEY_COLUMNS, SPENT_COLUMNS, TIMES_COLUMN } from './usage-columns.ts';
import { isFailure, type UsageRow } from './usage-row.ts';

/** Largest 64-bit integer. */
export const MAX_SUM = 2n ** 63n - 1n;
const HOUR_MS = 3600 * 1000;

/** Adds up how records change the sums. It keeps the totals, not the records. */
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

/** Summands for the budgets of the key and of each of its tags. Periods begin with an hour. */
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

/** Limits a sum to the range of a signed 64-bit integer. */
export function saturate(sum: bigint): bigint {
  return maxBigInt(-MAX_SUM, minBigInt(MAX_SUM, sum));
}
