/**
 * Sums of a span of hours: of its whole days where these are summed up, else of hours. One statement reads both, so that a
 * change is in all of its result or in none.
 */

import type { Row, Transaction } from './operation.ts';
import { DAY_TABLES, type DayTable } from './usage-columns.ts';
import { HAS_TAG } from './usage-rows.ts';

export const DAY_HOURS = 24;
const HOUR_MINUTES = 60;
const DAY_MINUTES = DAY_HOURS * HOUR_MINUTES;

/** Conditions on sums; absent ones hold for all. */
export interface UsageFilter {
  keyId?: string;
  /** `<provider>/<model>` of the endpoint. */
  model?: string;
  provider?: string;
  /** Protocol of the client. */
  protocol?: string;
  status?: string;
  /** `name=value` */
  tag?: string;
}

/** Without the cast SQLite would make an index for one question. */
const CONDITIONS: Record<keyof UsageFilter, string> = {
  keyId: 'key_id = :keyId',
  model: 'CAST(model AS text) = :model',
  provider: 'CAST(provider AS text) = :provider',
  protocol: 'CAST(protocol AS text) = :protocol',
  status: 'CAST(status AS text) = :status',
  tag: HAS_TAG,
};
/** Conditions on columns that only parts have. */
const PART_FILTERS: readonly (keyof UsageFilter)[] = ['protocol', 'status', 'tag'];

export interface SumConditions {
  /** Each begins with AND. */
  sql: string;
  values: Row;
  /** Whether only sums of parts can be asked. */
  ofParts: boolean;
}

export function sumConditions(filter: UsageFilter): SumConditions {
  const set = Object.entries(filter).filter(([, value]) => value !== undefined) as [keyof UsageFilter, string][];
  return {
    sql: set.map(([name]) => `AND ${CONDITIONS[name]}`).join(' '),
    values: Object.fromEntries(set),
    ofParts: set.some(([name]) => PART_FILTERS.includes(name)),
  };
}

/** Consecutive days: from the first hour of the first one to the end of the last one, in hours since 1970. */
export interface DayRange {
  first: number;
  end: number;
}

/** Minutes by which days begin before those of UTC, each from an hour on. */
export type DayOffsets = readonly { fromHour: number; minutes: number }[];

export interface SumSource {
  /** Common table expressions that its selects name. */
  tables: string;
  values: Row;
  /** Select of rows of hours and of days; `columns` is given the column of their first hour, and how many they have. */
  select(table: DayTable, columns: (hour: string, hours: number) => string, conditions: string): string;
}

export interface HourSpan {
  /** Hours since 1970; `to` is exclusive. */
  from: number;
  to: number;
}

/** The part of a span that may have sums, with whole days at its ends, because a span may be thousands of years. */
export async function existingSpan(transaction: Transaction, { from, to }: HourSpan): Promise<HourSpan> {
  // Each of them alone is found by the index.
  const sql = 'SELECT (SELECT MIN(hour) FROM usage_hour) AS first, (SELECT MAX(hour) FROM usage_hour) AS last';
  const [ends] = await transaction.all(sql);
  if (ends?.first == null) return { from, to: from };
  const [first, last] = [Number(ends.first), Number(ends.last)];
  return { from: Math.max(from, first - DAY_HOURS), to: Math.min(to, last + 1 + DAY_HOURS) };
}

/** Whole days in a span, by offsets in their order. An hour belongs to the day in which it begins. */
export function wholeDays({ from, to }: HourSpan, offsets: DayOffsets = [{ fromHour: from, minutes: 0 }]): DayRange[] {
  return offsets.flatMap(({ fromHour, minutes }, index) => {
    const start = Math.max(from, fromHour);
    const stop = Math.min(to, offsets[index + 1]?.fromHour ?? to);
    const phase = firstHour(minutes);
    const first = Math.ceil((start - phase) / DAY_HOURS) * DAY_HOURS + phase;
    const end = Math.floor((stop - phase) / DAY_HOURS) * DAY_HOURS + phase;
    return first < end ? [{ first, end }] : [];
  });
}

/** First hour of days with an offset, as a remainder of 24. */
export function firstHour(minutes: number): number {
  const early = ((minutes % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES;
  return Math.ceil((DAY_MINUTES - early) / HOUR_MINUTES) % DAY_HOURS;
}

/** Source of the sums of a span; without `days`, it has sums of hours only. */
export function sumSource(
  { joinEach }: Pick<Transaction, 'joinEach'>,
  span: HourSpan,
  days: readonly DayRange[],
): SumSource {
  const { from, to } = span;
  if (days.length === 0) {
    return {
      tables: '',
      values: { from, to },
      select: (table, columns, conditions) =>
        `SELECT ${columns('hour', 1)} FROM ${DAY_TABLES[table].hours} WHERE hour >= :from AND hour < :to ${conditions}`,
    };
  }
  const edges = [...days.map(({ first }) => first), to].map((stop, index) => [days[index - 1]?.end ?? from, stop]);
  const values: Row = { firstDay: days[0]?.first ?? from, endOfDays: days.at(-1)?.end ?? to };
  const pairs = (name: string, all: readonly (readonly number[])[]) =>
    all.map(([first = 0, second = 0], index) => {
      values[`${name}${index}`] = first;
      values[`${name}${index}End`] = second;
      return `(CAST(:${name}${index} AS bigint), CAST(:${name}${index}End AS bigint))`;
    });
  const ranges = pairs(
    'days',
    days.map(({ first, end }) => [first, end]),
  );
  const tables = `WITH RECURSIVE span(first, stop) AS (VALUES ${ranges.join(', ')}),
    day(start, stop) AS (
      SELECT first, stop FROM span
      UNION ALL SELECT start + ${DAY_HOURS}, stop FROM day WHERE start + ${DAY_HOURS} < stop),
    summed(start) AS (
      SELECT state.start FROM usage_day_state AS state
      WHERE state.complete = 1 AND state.start >= :firstDay AND state.start < :endOfDays AND EXISTS (
        SELECT 1 FROM span WHERE state.start >= span.first AND state.start < span.stop
          AND (state.start - span.first) % ${DAY_HOURS} = 0)),
    piece(start, stop) AS (
      VALUES ${pairs('edge', edges).join(', ')}
      UNION ALL SELECT start, start + ${DAY_HOURS} FROM day WHERE start NOT IN (SELECT start FROM summed))`;
  return {
    tables,
    values,
    select(table, columns, conditions) {
      const { hours } = DAY_TABLES[table];
      const inPiece = `${hours}.hour >= piece.start AND ${hours}.hour < piece.stop ${conditions}`;
      const ofDay = `${table}.start = summed.start ${conditions}`;
      return `SELECT ${columns('hour', 1)} FROM ${joinEach('piece', hours, inPiece)}
       UNION ALL SELECT ${columns(`${table}.start`, DAY_HOURS)} FROM ${joinEach('summed', table, ofDay)}`;
    },
  };
}
