/** What is kept of records: those of the last days, as far as they fit. Sums stay for good. */

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

const DAY = 24 * 3600 * 1000;
/** Bytes of a record with its indexes, as measured on SQLite with ids of the usual length. */
const RECORD_SIZE = 335;
/** Records that go in one transaction. */
const CHUNK = 5000;
/** Share of the records that fit, recorded since the last look, that makes the next one worth its scan. */
const WORTHWHILE = 0.01;

/** Removes what is too old or too much, in whole days, and of today the oldest. Resolves to how many records went. */
export async function pruneRecords(
  { store, now }: RecordRetentionOptions,
  { keep, maxSize }: RecordRetention,
): Promise<number> {
  const today = Math.floor(now() / DAY);
  const oldest = Math.floor((now() - keep) / DAY);
  const most = Math.floor(maxSize / RECORD_SIZE);
  const fitting = firstFitting(await store.call('usageByDay', {}), most);
  const day = Math.min(today, Math.max(oldest, fitting));
  const pruned = await untilNone(() => store.call('pruneUsage', { day, most: CHUNK }));
  return fitting > today ? pruned + (await trimRecords(store, most)) : pruned;
}

export interface Trimmer {
  /** Keeps to the size amid a day, where enough was recorded since the last time to make it worth a look. */
  trim(maxSize: number): Promise<number>;
}

export function createTrimmer({ store, now }: RecordRetentionOptions): Trimmer {
  let seen = 0;
  return {
    async trim(maxSize) {
      const most = Math.floor(maxSize / RECORD_SIZE);
      const days = await store.call('usageByDay', {});
      const total = days.reduce((sum, { records }) => sum + Number(records), 0);
      const [latest] = days;
      const isToday = Number(latest?.day) === Math.floor(now() / DAY);
      if (!isToday || Number(latest?.records) <= most || total - seen < most * WORTHWHILE) return 0;
      seen = total;
      return trimRecords(store, most);
    },
  };
}

async function trimRecords(store: Pick<Store, 'call'>, most: number): Promise<number> {
  const before = await store.call('newestSince', { most });
  return before === undefined ? 0 : untilNone(() => store.call('trimUsage', { before, most: CHUNK }));
}

async function untilNone(remove: () => Promise<number>): Promise<number> {
  let removed = 0;
  for (;;) {
    const gone = await remove();
    if (gone === 0) return removed;
    removed += gone;
  }
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
