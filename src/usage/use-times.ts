/** Times of reports of use: their names, and which time of a period one of the period before stands beside. */

import type { SumRow } from './report.ts';
import { MINUTE_MS, type UseDimension } from './use-query.ts';
import { zoneOffsets } from './zone.ts';

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Times that are made of days. */
const DAYS: readonly UseDimension[] = ['day', 'week', 'month'];

/** Whether the values of a dimension are days, or weeks or months of days. */
export function isMadeOfDays(name: UseDimension): boolean {
  return DAYS.includes(name);
}

/** `value` is the number of a minute or an hour, or of the day of a longer time, since 1970. */
export function timeName(dimension: UseDimension, value: number): string {
  if (dimension === 'minute') return new Date(value * MINUTE_MS).toISOString();
  if (dimension === 'hour') return new Date(value * HOUR_MS).toISOString();
  const date = new Date(value * DAY_MS);
  if (dimension === 'month') return date.toISOString().slice(0, 7);
  const monday = 7 * weekOf(value) - 3;
  return new Date((dimension === 'week' ? monday : value) * DAY_MS).toISOString().slice(0, 10);
}

interface Period {
  /** In units since 1970; `to` is exclusive. */
  from: number;
  to: number;
  /** Milliseconds. */
  unit: number;
  zone: string;
}

/**
 * Rows of the period before this one, as long, at the times of this one. The last day, week or month of both stand beside each
 * other. There may be more of them before, such as where a month follows a shorter one: these are at the first time.
 */
export function atTimesOf({ from, to, unit, zone }: Period, time: UseDimension, rows: readonly SumRow[]): SumRow[] {
  if (!isMadeOfDays(time)) {
    const later = (name: unknown) => new Date(Date.parse(String(name)) + (to - from) * unit).toISOString();
    return rows.map((row) => ({ ...row, [time]: later(row[time]) }));
  }
  const dayAt = (hour: number) => {
    const [offset] = zoneOffsets(zone, hour, hour);
    return Math.floor((hour * HOUR_MS + (offset?.minutes ?? 0) * MINUTE_MS) / DAY_MS);
  };
  const first = numberOf(time, dayAt(from));
  const shift = numberOf(time, dayAt(to - 1)) - numberOf(time, dayAt(from - 1));
  return rows.map((row) => {
    const number = numberOf(time, Date.parse(String(row[time])) / DAY_MS) + shift;
    return { ...row, [time]: timeName(time, dayOf(time, Math.max(first, number))) };
  });
}

/** Days, weeks or months since one of them. */
function numberOf(time: UseDimension, day: number): number {
  if (time === 'day') return day;
  if (time === 'week') return weekOf(day);
  const date = new Date(day * DAY_MS);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** A day of one of them. */
function dayOf(time: UseDimension, number: number): number {
  if (time === 'day') return number;
  return time === 'week' ? 7 * number - 3 : Date.UTC(Math.floor(number / 12), number % 12) / DAY_MS;
}

/** 1970 began on a Thursday; weeks begin on Monday. */
function weekOf(day: number): number {
  return Math.floor((day + 3) / 7);
}
