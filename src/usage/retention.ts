/** What is kept of records: those of the last days, as far as they fit. Sums stay for good. */

import type { Store } from '../store/store.ts';

export interface RetentionOptions {
  store: Pick<Store, 'call'>;
  /** Unix milliseconds. */
  now(): number;
}

export interface Kept {
  /** Milliseconds. */
  keep: number;
  /** Bytes. */
  maxSize: number;
}

const DAY = 24 * 3600 * 1000;
/** Bytes of a record with its indexes, as measured. */
const RECORD_SIZE = 245;
/** Records that go in one transaction. */
const CHUNK = 5000;

/** Removes what is too old or too much, in whole days and never today's. Resolves to how many records went. */
export async function pruneRecords({ store, now }: RetentionOptions, { keep, maxSize }: Kept): Promise<number> {
  const today = Math.floor(now() / DAY);
  const oldest = Math.floor((now() - keep) / DAY);
  const fitting = firstFitting(await store.call('usageByDay', {}), maxSize / RECORD_SIZE);
  const day = Math.min(today, Math.max(oldest, fitting));
  let pruned = 0;
  for (let gone = -1; gone !== 0; pruned += gone) gone = await store.call('pruneUsage', { day, most: CHUNK });
  return pruned;
}

/** The first day from which on all records fit; `days` are the last one first. */
function firstFitting(days: Record<string, unknown>[], most: number): number {
  let records = 0;
  for (const day of days) {
    records += Number(day.records);
    if (records > most) return Number(day.day) + 1;
  }
  return Number.NEGATIVE_INFINITY;
}
