/**
 * Summary of the requests of a span: counts, failures, cost and percentiles of times. It is made from their records; where these
 * are too many, from the sums of whole hours, whose counts by time make percentiles estimates.
 */

import type { RequestFilter } from '../store/operations/requests.ts';
import type { UsageFilter } from '../store/sum-source.ts';
import { isFailure } from '../store/usage-row.ts';
import { knownCostOf, type SumRow, type UseContext } from './report.ts';
import { type RequestPage, type SearchOptions, searchRequests } from './request-search.ts';
import { type Percentiles, percentilesOfCounts, percentilesOfTimes } from './time-percentiles.ts';

interface RequestSums {
  requests: number;
  failures: number;
  /** Responses that broke off after their first byte. */
  partial: number;
  /** Requests whose gateway died. */
  interrupted: number;
  input_tokens: number;
  output_tokens: number;
  /** In 1e-12 USD; undefined if no cost is known. */
  cost: bigint | undefined;
  /** Requests whose cost is not known, and not in `cost`. */
  unknown_costs: number;
  /** Tokens whose counts are estimates, and their cost in 1e-12 USD. */
  estimated_tokens: number;
  estimated_cost: bigint;
}

interface RecordSummary extends RequestSums {
  first_byte_ms: Percentiles;
  total_ms: Percentiles;
}

export interface RequestSummary extends RecordSummary {
  /** Unix milliseconds; the span that was summed up, which is longer than the one asked for where whole hours are. */
  from: number;
  to: number;
  /** Whether all requests of the span are in the sums; else the newest ones are, and `from` is the end of the oldest of them. */
  complete: boolean;
  /** Requests that the times are of: all, those that are counted by their times, or the newest ones. */
  timed: number;
  /** Whether the times are estimates, from counts. */
  times_estimated: boolean;
}

interface SummarySearch {
  filter: RequestFilter;
  /** Unix milliseconds; `to` is exclusive. */
  from: number;
  to: number;
}

type Row = RequestPage['rows'][number];

const HOUR_MS = 3_600_000;
/** Newest records that are read. */
const MAX_RECORDS = 5000;
/** Protocol in the records of video tasks, which are not requests. */
const VIDEOS = 'videos';
/** Conditions that sums of hours can be asked by. */
const DIMENSIONS: readonly string[] = [
  'keyId',
  'model',
  'provider',
  'protocol',
  'status',
  'tag',
] satisfies (keyof UsageFilter)[];

export async function summarizeRequests(
  { filter, from: endedFrom, to: endedTo }: SummarySearch,
  options: SearchOptions,
  hasPrice: UseContext['hasPrice'],
): Promise<RequestSummary> {
  const ended = { from: endedFrom, to: endedTo };
  const { rows, next } = await searchRequests({ filter, ...ended, limit: MAX_RECORDS }, options);
  const { startedFrom, startedTo, ...dimensions } = filter;
  const from = Math.max(endedFrom, startedFrom ?? 0);
  const to = Math.max(from, Math.min(endedTo, startedTo ?? endedTo));
  const newest = { ...summarizeRecords(rows, hasPrice), timed: rows.length, times_estimated: false };
  if (next === undefined) return { from, to, complete: true, ...newest };
  if (
    Object.keys(dimensions).every((name) => DIMENSIONS.includes(name)) &&
    isOfHours(filter, ended, options.clock.now())
  ) {
    const hours = { from: Math.floor(from / HOUR_MS), to: Math.ceil(to / HOUR_MS) };
    const by = ['model', 'status', 'protocol'] as const;
    const sums: SumRow[] = await options.store.call('usageSums', {
      ...hours,
      filter: dimensions as UsageFilter,
      by: [...by],
    });
    const span = { from: hours.from * HOUR_MS, to: Math.min(hours.to * HOUR_MS, options.clock.now() + 1) };
    const all = sumsOfHours(sums, hasPrice);
    // After the sums, so that they are of no fewer requests.
    const counts = await options.store.call('usageTimes', { ...hours, filter: dimensions as UsageFilter });
    return { ...newest, ...span, complete: true, ...all, ...timesOfCounts(counts, newest.timed, all.requests) };
  }
  const oldest = Number(rows.at(-1)?.ended_at ?? from);
  return { from: oldest, to, complete: false, ...newest };
}

/** Whether the sums of hours are of these requests: by their end they are of a few more, by their begin of exactly these. */
function isOfHours(
  { startedFrom, startedTo }: Pick<RequestFilter, 'startedFrom' | 'startedTo'>,
  ended: { from: number; to: number },
  now: number,
): boolean {
  if (startedFrom === undefined && startedTo === undefined) return true;
  const isWhole = (at: number) => at % HOUR_MS === 0;
  const begin = { from: startedFrom ?? 0, to: startedTo ?? now + 1 };
  if (!isWhole(begin.from) || (!isWhole(begin.to) && begin.to <= now)) return false;
  return ended.from <= begin.from && ended.to > now;
}

/** Undefined if the counts cover fewer requests than the newest records do, as for sums of an earlier version. */
function timesOfCounts(
  counts: readonly number[],
  newest: number,
  requests: number,
): Pick<RequestSummary, 'first_byte_ms' | 'total_ms' | 'timed' | 'times_estimated'> | undefined {
  const { firstByte, total, requests: counted } = percentilesOfCounts(counts);
  if (counted < newest) return undefined;
  const timed = Math.min(counted, requests);
  return { first_byte_ms: firstByte, total_ms: total, timed, times_estimated: true };
}

/** Adds up rows that are sums by model, status and protocol. */
function sumsOfHours(rows: readonly SumRow[], hasPrice: UseContext['hasPrice']): RequestSums {
  const requests = rows.filter(({ protocol }) => protocol !== VIDEOS);
  const sum = (name: string) => requests.reduce((total, row) => total + Number(row[name]), 0);
  const hasUnknownCost = ({ model, cost, input_tokens: input, output_tokens: output }: SumRow) =>
    String(cost) === '0' && Number(input) + Number(output) > 0 && !hasPrice(String(model));
  const unknown = requests.filter(hasUnknownCost).reduce((total, row) => total + Number(row.requests), 0);
  const money = (name: string) => requests.reduce((total, row) => total + BigInt(String(row[name])), 0n);
  const estimated = money('estimated_cost');
  return {
    requests: sum('requests'),
    failures: sum('failures'),
    partial: sum('partial'),
    interrupted: requests
      .filter(({ status }) => status === 'interrupted')
      .reduce((total, row) => total + Number(row.requests), 0),
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    cost: sumIfKnown(money('cost'), unknown),
    unknown_costs: unknown,
    // A sum that a later version wrote and an earlier one corrected can be below zero.
    estimated_tokens: Math.max(0, sum('estimated_tokens')),
    estimated_cost: estimated < 0n ? 0n : estimated,
  };
}

export function summarizeRecords(rows: readonly Row[], hasPrice: UseContext['hasPrice']): RecordSummary {
  const sum = (name: string) => rows.reduce((total, row) => total + Number(row[name]), 0);
  const estimates = rows.map(estimateOf);
  return {
    requests: rows.length,
    failures: rows.filter(({ status }) => isFailure(status)).length,
    partial: rows.filter(({ status }) => status === 'partial').length,
    interrupted: rows.filter(({ status }) => status === 'interrupted').length,
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    ...sumOfCosts(rows.map((row) => knownCostOf(row, hasPrice))),
    estimated_tokens: estimates.reduce((total, { tokens }) => total + tokens, 0),
    estimated_cost: estimates.reduce((total, { cost }) => total + cost, 0n),
    first_byte_ms: percentilesOf(rows, 'first_byte_ms'),
    total_ms: percentilesOf(rows, 'total_ms'),
  };
}

/** Tokens of a record whose counts are an estimate, and their cost in 1e-12 USD; zero where they are none. */
export function estimateOf(row: Row): { tokens: number; cost: bigint } {
  if (Number(row.estimated) !== 1) return { tokens: 0, cost: 0n };
  return { tokens: Number(row.input_tokens) + Number(row.output_tokens), cost: BigInt(String(row.cost)) };
}

function sumOfCosts(costs: readonly (bigint | undefined)[]): Pick<RequestSums, 'cost' | 'unknown_costs'> {
  const known = costs.filter((cost) => cost !== undefined);
  const sum = known.reduce((total, cost) => total + cost, 0n);
  const unknown = costs.length - known.length;
  return { cost: sumIfKnown(sum, unknown), unknown_costs: unknown };
}

/** The sum is not known where no cost but zero is, and some are not. */
export function sumIfKnown(sum: bigint, unknownCosts: number): bigint | undefined {
  return unknownCosts > 0 && sum === 0n ? undefined : sum;
}

/** Percentiles of a column over the records that have a value. */
function percentilesOf(rows: readonly Row[], column: string): Percentiles {
  const values = rows.flatMap((row) => (row[column] === null ? [] : [Number(row[column])]));
  return percentilesOfTimes(values);
}
