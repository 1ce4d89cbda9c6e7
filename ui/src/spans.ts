/** Spans of time that reports are made of: their ends, their steps, and the clock of a zone. */

import { useMemo } from 'react';
import { gatewayNow, type Range, STEPS, type Step, type TimeSearch } from './times.ts';

export interface Span {
  from: Date;
  /** Exclusive. */
  to: Date;
  step: Step;
  zone: string;
}

export const UTC = 'UTC';
/** That of this browser. */
export const LOCAL_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Longest spans with these steps; longer ones have months. */
const LONGEST = [
  ['minute', 3 * HOUR_MS],
  ['hour', 3 * DAY_MS],
  ['day', 100 * DAY_MS],
] as const;
const DAYS: Partial<Record<Range, number>> = { '7d': 7, '30d': 30 };
/** More bars than any span that the gateway reports. */
const MAX_MOMENTS = 500;
/** Most bars of a step that is chosen. */
const MAX_CHOSEN = 200;
const WEEK_DAYS = 7;
/** The first day since 1970 that is a Monday. */
const FIRST_MONDAY = 4;

/** Whole minutes, hours or days, the last one of which is now; or what the address says. Without minutes if `isCoarse`. */
export function spanOf({ range = '24h', from, to, zone = UTC }: TimeSearch, now: number, isCoarse = false): Span {
  if (from !== undefined || to !== undefined) return ownSpan({ from, to, zone }, now, isCoarse);
  const span = (start: number, end: number, step: Step) => ({ from: new Date(start), to: new Date(end), step, zone });
  if (range === '15m' || range === '1h') {
    const step = isCoarse ? 'hour' : 'minute';
    const start = next('minute', now) - (range === '1h' ? 60 : 15) * MINUTE_MS;
    return span(floor(step, start), next(step, now), step);
  }
  if (range === '24h') return span(next('hour', now) - DAY_MS, next('hour', now), 'hour');
  const wall = wallOf(zone, now);
  const first = range === 'month' ? floor('month', wall) : floor('day', wall) - ((DAYS[range] ?? 1) - 1) * DAY_MS;
  return span(beginOf('day', first, zone), beginOf('day', next('day', wall), zone), 'day');
}

function ownSpan({ from, to, zone = UTC }: TimeSearch, now: number, isCoarse: boolean): Span {
  const until = to === undefined ? now : Date.parse(to);
  const since = from === undefined ? until - 30 * DAY_MS : Date.parse(from);
  const steps = isCoarse ? LONGEST.slice(1) : LONGEST;
  const step = steps.find(([, longest]) => until - since <= longest)?.[0] ?? 'month';
  // The gateway keeps sums by the hour, and makes those by the minute of records.
  const unit = step === 'minute' ? 'minute' : 'hour';
  const end = floor(unit, until) === until ? until : next(unit, until);
  return { from: new Date(floor(unit, since)), to: new Date(end), step, zone };
}

/** The same time by another step. */
export function withStep(span: Span, step: Step): Span {
  // The gateway keeps sums by the hour, and makes those by the minute of records.
  const unit = step === 'minute' ? 'minute' : 'hour';
  const [from, to] = [floor(unit, span.from.getTime()), span.to.getTime()];
  const end = floor(unit, to) === to ? to : next(unit, to);
  return { ...span, from: new Date(from), to: new Date(end), step };
}

/** Steps that make of a span more than one bar, and not too many. */
export function stepsOf(span: Span): Step[] {
  return STEPS.filter((step) => {
    const bars = momentsOf(withStep(span, step)).length;
    const isWithin = sizeOf(step === 'month' ? 'week' : step) <= span.to.getTime() - span.from.getTime();
    return step === span.step || (isWithin && bars > 1 && bars <= MAX_CHOSEN);
  });
}

/** Minutes are the finest step, so that a span stays the same for one. */
export function useSpan({ range, from, to, zone }: TimeSearch, isCoarse = false): Span {
  const minute = Math.floor(gatewayNow() / MINUTE_MS);
  return useMemo(
    () => spanOf({ range, from, to, zone }, minute * MINUTE_MS, isCoarse),
    [range, from, to, zone, minute, isCoarse],
  );
}

/** Of each step in the span, as the gateway names it: moments of minutes and hours, the dates of days and months. */
export function momentsOf({ from, to, step, zone }: Span): string[] {
  const moments: string[] = [];
  let at = floor(step, isOfZone(step) ? wallOf(zone, from.getTime()) : from.getTime());
  while (beginOf(step, at, zone) < to.getTime() && moments.length < MAX_MOMENTS) {
    moments.push(new Date(at).toISOString());
    at = next(step, at);
  }
  return moments;
}

/** From the beginning of one moment to the end of another, within the span; ISO times. */
export function spanBetween({ from, to, step, zone }: Span, first: string, last: string): { from: string; to: string } {
  const begin = Math.max(beginOf(step, Date.parse(first), zone), from.getTime());
  const end = Math.min(beginOf(step, next(step, Date.parse(last)), zone), to.getTime());
  return { from: new Date(begin).toISOString(), to: new Date(end).toISOString() };
}

/** Of a moment of the span. */
export function formatMoment(at: string, { from, to, step, zone }: Span): string {
  const date = new Date(at);
  if (step === 'day' || step === 'week')
    return date.toLocaleDateString(undefined, { timeZone: UTC, month: 'short', day: 'numeric' });
  if (step === 'month') return date.toLocaleDateString(undefined, { timeZone: UTC, month: 'short', year: 'numeric' });
  const time = { timeZone: zone, hourCycle: 'h23', hour: '2-digit', minute: '2-digit' } as const;
  if (to.getTime() - from.getTime() <= DAY_MS) return date.toLocaleTimeString(undefined, time);
  return date.toLocaleString(undefined, { ...time, month: 'short', day: 'numeric' });
}

/** Time that the clock of a zone shows at a moment, as if it were UTC; milliseconds. */
export function wallOf(zone: string, at: number): number {
  if (zone === UTC) return at;
  const parts = new Map(
    clockOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
  const seconds = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return seconds + (at % 1000);
}

/** Moment at which the clock of a zone shows that; where it jumps over it, one behind the jump. */
export function momentOfWall(zone: string, wall: number): number {
  const guess = wall - (wallOf(zone, wall) - wall);
  const moment = guess - (wallOf(zone, guess) - wall);
  return wallOf(zone, moment) < wall ? guess : moment;
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(zone: string): Intl.DateTimeFormat {
  const numeric = 'numeric' as const;
  const parts = { year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric };
  const clock = clocks.get(zone) ?? new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', ...parts });
  clocks.set(zone, clock);
  return clock;
}

/** Steps whose beginnings are another moment in each zone. */
function isOfZone(step: Step): boolean {
  return step === 'day' || step === 'week' || step === 'month';
}

function floor(step: Step, at: number): number {
  if (step === 'month') return Date.UTC(new Date(at).getUTCFullYear(), new Date(at).getUTCMonth());
  const first = step === 'week' ? FIRST_MONDAY * DAY_MS : 0;
  return Math.floor((at - first) / sizeOf(step)) * sizeOf(step) + first;
}

function next(step: Step, at: number): number {
  if (step === 'month') return Date.UTC(new Date(at).getUTCFullYear(), new Date(at).getUTCMonth() + 1);
  return floor(step, at) + sizeOf(step);
}

function sizeOf(step: Exclude<Step, 'month'>): number {
  if (step === 'week') return WEEK_DAYS * DAY_MS;
  return step === 'minute' ? MINUTE_MS : step === 'hour' ? HOUR_MS : DAY_MS;
}

/** When a moment of a step begins. An hour in which a day of the zone begins belongs to the day before. */
function beginOf(step: Step, at: number, zone: string): number {
  return isOfZone(step) ? Math.ceil(momentOfWall(zone, at) / HOUR_MS) * HOUR_MS : at;
}
