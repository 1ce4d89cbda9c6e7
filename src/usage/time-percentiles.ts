/**
 * Percentiles of times, exact of the records of requests and estimated from counts by time. An estimate is in the same bucket as
 * the exact value, by nearest rank, and so between half of it and twice it: within a bucket times are taken to be spread evenly on
 * a logarithmic scale.
 */

import { FIRST_BOUND_MS, TIME_BUCKETS } from '../store/time-counts.ts';

/** Percentiles in milliseconds; null without any time. */
export interface Percentiles {
  p50: number | null;
  p95: number | null;
}

/** Percentiles of times in milliseconds, by nearest rank. */
export function percentilesOfTimes(times: readonly number[]): Percentiles {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
  return { p50: at(0.5), p95: at(0.95) };
}

export interface CountedTimes {
  firstByte: Percentiles;
  total: Percentiles;
  /** Requests that were counted. */
  requests: number;
}

/** Percentiles in milliseconds from bucket counts: first byte, then total, as in `store/time-counts.ts`. */
export function percentilesOfCounts(counts: readonly number[]): CountedTimes {
  const [first, whole] = [counts.slice(0, TIME_BUCKETS), counts.slice(TIME_BUCKETS)];
  return { firstByte: percentilesOf(first), total: percentilesOf(whole), requests: sumOf(whole) };
}

function percentilesOf(counts: readonly number[]): Percentiles {
  const all = sumOf(counts);
  const at = (share: number) => (all === 0 ? null : Math.round(timeOfRank(counts, Math.ceil(share * all))));
  return { p50: at(0.5), p95: at(0.95) };
}

/** The times of the last bucket, which has no end, are those of its beginning. */
function timeOfRank(counts: readonly number[], rank: number): number {
  let before = 0;
  const index = counts.findIndex((count) => {
    before += count;
    return before >= rank;
  });
  const count = counts[index] ?? 0;
  const share = (rank - (before - count) - 0.5) / count;
  if (index === 0) return FIRST_BOUND_MS * share;
  const start = FIRST_BOUND_MS * 2 ** (index - 1);
  return index === TIME_BUCKETS - 1 ? start : start * 2 ** share;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
