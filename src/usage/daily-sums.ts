/**
 * Daily sums, made from hourly ones after the end of each day, and again when an hour of it was changed: the latest days
 * first, in short steps, each of them by one gateway.
 */

import { randomUUID } from 'node:crypto';
import { type Clock, sleep } from '../core/clock.ts';
import type { Row } from '../store/operation.ts';
import type { DayStep } from '../store/operations/usage-days.ts';
import type { Store } from '../store/store.ts';
import { DAY_TABLES, type DayTable } from '../store/usage-columns.ts';

export interface DailySumsOptions {
  /** The store's clock decides which days are over. */
  store: Pick<Store, 'call' | 'engine' | 'now'>;
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
}

export interface DailySums {
  /** Sums up days that are due, and deletes those of zones that nobody asks by, for a limited time. Returns the number of days that were summed up. */
  run(signal?: AbortSignal): Promise<number>;
}

const HOUR_MS = 3_600_000;
const UTC_FIRST_HOUR = 0;
/** First hours of days beside those of UTC that are summed up: of the zones that reports were last asked by, with and without summer time. */
const MAX_ZONES = 4;
/** Time after the last report by a zone for which its days are summed up and kept. */
const ZONE_RETENTION_MS = 30 * 24 * HOUR_MS;
/** Hours after a day in which most of its last records arrive; more than the two that the trigger of PostgreSQL leaves out. */
const SETTLE_HOURS = 4;
/** Time for a step, after which another gateway may take over. */
const STEP_LEASE_MS = 60_000;
/** Time after which a run begins no other day. */
const MAX_RUN_MS = 5000;
/** Sums that are read at once. */
const PAGE_ROWS = 4000;
/** Sums that are written, or deleted, in one transaction. */
const BATCH_ROWS = 250;
/** Interval between two looks for transactions from before a build, and their number. */
const WRITERS_INTERVAL_MS = 20;
const MAX_WRITERS_LOOKS = 250;

export function createDailySums({ store, clock }: DailySumsOptions): DailySums {
  const step = (day: { start: number; build: string }): DayStep => ({ ...day, until: store.now() + STEP_LEASE_MS });

  /** False if an hour of the day was changed meanwhile, or a transaction from before the claim goes on for too long. */
  async function build(start: number, signal: AbortSignal | undefined): Promise<boolean> {
    const day = { start, build: randomUUID() };
    if (!(await store.call('claimDay', { ...step(day), now: store.now() }))) return false;
    if (!(await writersEnded(signal))) return false;
    for (;;) {
      const deleted = await store.call('clearDay', { ...step(day), limit: BATCH_ROWS });
      if (deleted === undefined || signal?.aborted) return false;
      if (deleted === 0) break;
    }
    for (const table of Object.keys(DAY_TABLES) as DayTable[]) {
      for await (const rows of batches(table, start)) {
        if (signal?.aborted || !(await store.call('addDaySums', { ...step(day), table, rows }))) return false;
      }
    }
    return store.call('completeDay', day);
  }

  async function* batches(table: DayTable, start: number): AsyncGenerator<Row[]> {
    for (let after: Row | undefined; ; ) {
      const rows: Row[] = await store.call('sumsOfDay', { table, start, limit: PAGE_ROWS, ...(after && { after }) });
      for (let first = 0; first < rows.length; first += BATCH_ROWS) yield rows.slice(first, first + BATCH_ROWS);
      after = rows.at(-1);
      if (rows.length < PAGE_ROWS) return;
    }
  }

  /** Waits for transactions that may have changed an hour of the day before the claim and will not see it. */
  async function writersEnded(signal: AbortSignal | undefined): Promise<boolean> {
    if (store.engine !== 'postgres') return true;
    let open: string[] = await store.call('sumWriters', {});
    for (let look = 0; open.length > 0; look++) {
      if (look === MAX_WRITERS_LOOKS || signal?.aborted) return false;
      await sleep(clock, WRITERS_INTERVAL_MS, signal);
      const still = new Set(await store.call('sumWriters', {}));
      open = open.filter((id) => still.has(id));
    }
    return true;
  }

  /** Deletes the days of zones by which no report has asked since a time. */
  async function forgetZones(since: number, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const firstHour: number | undefined = await store.call('unaskedZone', { since });
      if (firstHour === undefined) return;
      for await (const start of daysOfZone(firstHour)) {
        while ((await store.call('forgetDayOfZone', { start, since, limit: BATCH_ROWS })) > 0) if (isOver()) return;
        if (isOver()) return;
      }
      await store.call('forgetZone', { firstHour, since });
    }
  }

  async function* daysOfZone(firstHour: number): AsyncGenerator<number> {
    for (let after = Number.MIN_SAFE_INTEGER; ; ) {
      const start: number | undefined = await store.call('nextDayOfZone', { firstHour, after });
      if (start === undefined) return;
      yield start;
      after = start;
    }
  }

  return {
    async run(signal) {
      const settled = Math.floor(store.now() / HOUR_MS) - SETTLE_HOURS;
      await store.call('forgetDaysAfter', { end: settled });
      const since = store.now() - ZONE_RETENTION_MS;
      const zones: number[] = await store.call('askedZones', { since, limit: MAX_ZONES });
      const deadline = clock.monotonic() + MAX_RUN_MS;
      const isOver = () => signal?.aborted === true || clock.monotonic() >= deadline;
      let days = 0;
      for (const firstHour of [UTC_FIRST_HOUR, ...zones]) {
        let end = settled;
        while (!isOver()) {
          const start: number | undefined = await store.call('dayToSum', { end, firstHour, now: store.now() });
          if (start === undefined) break;
          if (await build(start, signal)) days += 1;
          // A day that changes again and again does not hold up earlier ones.
          end = start;
        }
      }
      await forgetZones(since, isOver);
      return days;
    },
  };
}
