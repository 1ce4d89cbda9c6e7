/** Retention of usage records by age and size. Sums are kept indefinitely. */

import type { Store } from '../store/store.ts';

export interface RecordRetentionOptions {
  store: Pick<Store, 'call'>;
  /** Unix milliseconds. */
  now(): number;
}

export interface RecordRetention {
  /** Milliseconds. */
  keep: number;
  /** Bytes. */
  maxSize: number;
}

const DAY_MS = 24 * 3600 * 1000;
/** Size of a record with its trace, its name and its share of the sums, measured on SQLite with ids of the usual length. */
export const RECORD_BYTES = 550;
/** Records deleted in one transaction. */
const PRUNE_BATCH_SIZE = 5000;
/** Growth since the last trim, relative to the limit, that justifies another scan. */
const MIN_GROWTH_RATIO = 0.01;

/** Deletes records that are too old or exceed the size: whole days, and the oldest of today. Returns the number of deleted records. */
export async function pruneRecords(
  { store, now }: RecordRetentionOptions,
  { keep, maxSize }: RecordRetention,
): Promise<number> {
  const today = Math.floor(now() / DAY_MS);
  const oldest = Math.floor((now() - keep) / DAY_MS);
  const maxRecords = Math.floor(maxSize / RECORD_BYTES);
  await repeatUntilNone(() => store.call('pruneRequestNames', { now: now(), limit: PRUNE_BATCH_SIZE }));
  const fitting = firstFittingDay(await store.call('usageByDay', {}), maxRecords);
  const prune = (day: number, byAge: boolean) =>
    repeatUntilNone(() => store.call('pruneUsage', { day: Math.min(today, day), limit: PRUNE_BATCH_SIZE, byAge }));
  const excess = fitting === Number.NEGATIVE_INFINITY ? 0 : await prune(fitting, false);
  const pruned = excess + (await prune(oldest, true));
  return fitting > today ? pruned + (await trimRecords(store, maxRecords)) : pruned;
}

export interface RecordTrimmer {
  /** Enforces the size limit within a day, if enough was recorded since the last trim. */
  trim(maxSize: number): Promise<number>;
}

export function createRecordTrimmer({ store, now }: RecordRetentionOptions): RecordTrimmer {
  let lastTrim = { day: 0, records: 0 };
  return {
    async trim(maxSize) {
      const maxRecords = Math.floor(maxSize / RECORD_BYTES);
      const day = Math.floor(now() / DAY_MS);
      const records = await store.call('usageOfDay', { day });
      const before = lastTrim.day === day ? lastTrim.records : 0;
      if (records <= maxRecords || records - before < maxRecords * MIN_GROWTH_RATIO) return 0;
      lastTrim = { day, records };
      return trimRecords(store, maxRecords);
    },
  };
}

async function trimRecords(store: Pick<Store, 'call'>, maxRecords: number): Promise<number> {
  const before = await store.call('newestSince', { keep: maxRecords });
  return before === undefined ? 0 : repeatUntilNone(() => store.call('trimUsage', { before, limit: PRUNE_BATCH_SIZE }));
}

async function repeatUntilNone(remove: () => Promise<number>): Promise<number> {
  let removed = 0;
  for (;;) {
    const gone = await remove();
    if (gone === 0) return removed;
    removed += gone;
  }
}

/** First day from which all records fit; `days` is sorted newest first. */
function firstFittingDay(days: Record<string, unknown>[], maxRecords: number): number {
  let records = 0;
  for (const day of days) {
    records += Number(day.records);
    if (records > maxRecords) return Number(day.day) + 1;
  }
  return Number.NEGATIVE_INFINITY;
}
