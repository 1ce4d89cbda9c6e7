/**
 * Counts of requests by their times, in buckets whose bounds double: 16 by the time to the first byte, and 16 by the whole
 * time. A sum has them in one column, as sums of 32 numbers; the form of the column is that of the engine.
 */

import type { CountsForm } from './operation.ts';
import type { UsageRow } from './usage-row.ts';

export const TIME_BUCKETS = 16;
/** Bound between the first two buckets; each later one is twice the one before. */
export const FIRST_BOUND_MS = 25;
const COUNTS = 2 * TIME_BUCKETS;
/** A time that is in the last bucket in any case, so that its quotient has 32 bits. */
const MAX_MS = 1e9;
/** Protocol of the records of video tasks, which are no requests. */
export const VIDEOS = 'videos';

export type TimedRow = Pick<UsageRow, 'protocol_in' | 'first_byte_ms' | 'total_ms'>;

/** Zeros, one for each bucket of both times. */
export function noCounts(): number[] {
  return new Array(COUNTS).fill(0);
}

/** Adds a request, or subtracts it if `sign` is -1. */
export function countTimes(counts: number[], row: TimedRow, sign: number): void {
  if (row.protocol_in === VIDEOS) return;
  if (row.first_byte_ms !== null) increase(counts, timeBucket(Number(row.first_byte_ms)), sign);
  increase(counts, TIME_BUCKETS + timeBucket(Number(row.total_ms)), sign);
}

/** Number of the bucket of a time. */
export function timeBucket(ms: number): number {
  return Math.min(TIME_BUCKETS - 1, 32 - Math.clz32(Math.min(ms, MAX_MS) / FIRST_BOUND_MS));
}

function increase(counts: number[], index: number, by: number): void {
  counts[index] = (counts[index] ?? 0) + by;
}

/** On SQLite: bytes, for each count that is not zero its index and the number, which may be negative, in base 128. */
export const PACKED_COUNTS: CountsForm = {
  encode: packCounts,
  decode: (value) => addPacked(noCounts(), value as Uint8Array | null),
  sum: (one, other) => `sum_of_counts(${one}, ${other})`,
  total: (column) => `total_counts(${column})`,
};

/** Packs each count that is not zero: its index in a byte, then its zigzag value in base 128, low digits first. */
export function packCounts(counts: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  for (let index = 0; index < COUNTS; index++) {
    const count = counts[index] ?? 0;
    if (count === 0) continue;
    bytes.push(index);
    let rest = count > 0 ? 2 * count : -2 * count - 1;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(128 + (rest % 128));
    bytes.push(rest);
  }
  return Uint8Array.from(bytes);
}

/** Adds packed counts; null are those of a sum of an earlier version. */
export function addPacked(counts: number[], bytes: Uint8Array | null): number[] {
  for (let at = 0; bytes !== null && at < bytes.length; ) {
    const index = bytes[at++] ?? 0;
    let number = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++] ?? 0;
      number += (byte % 128) * scale;
      if (byte < 128) break;
    }
    increase(counts, index, number % 2 === 0 ? number / 2 : -(number + 1) / 2);
  }
  return counts;
}

/** On PostgreSQL: an array, in which zero is NULL and takes no room. */
export const ARRAY_COUNTS: CountsForm = {
  encode: (counts) => `{${counts.map((count) => (count === 0 ? 'NULL' : count)).join(',')}}`,
  decode: (value) => (value === null ? noCounts() : elementsOf(String(value))),
  sum: (one, other) => arrayOf((index) => `COALESCE(${one}[${index}], 0) + COALESCE(${other}[${index}], 0)`),
  total: (column) => `CAST(${arrayOf((index) => `SUM(${column}[${index}])`)} AS text)`,
};

function arrayOf(element: (index: number) => string): string {
  const elements = Array.from({ length: COUNTS }, (_, index) => `NULLIF(${element(index + 1)}, 0)`);
  return `ARRAY[${elements.join(', ')}]`;
}

function elementsOf(text: string): number[] {
  return text
    .slice(1, -1)
    .split(',')
    .map((element) => (element === 'NULL' ? 0 : Number(element)));
}
