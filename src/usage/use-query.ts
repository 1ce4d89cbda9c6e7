/** Query parameters of reports of use: dimensions, times, filters, and which groups are kept. */

import { isTagName, parseTag } from '../records/tags.ts';
import type { UsageFilter } from '../store/sum-source.ts';
import { invalid, parseMoment } from './report.ts';
import { readZone } from './zone.ts';

/** Dimensions beside those of tags, `tag:<name>`: at most one of time. */
export const USE_DIMENSIONS = [
  'minute',
  'hour',
  'day',
  'week',
  'month',
  'model',
  'provider',
  'key',
  'protocol',
  'status',
] as const;
export type UseDimension = (typeof USE_DIMENSIONS)[number] | `tag:${string}`;

export interface UseQuery {
  /** Unix milliseconds: when it was asked. */
  now: number;
  /** Unix milliseconds of whole hours, or minutes where `by` has them; `to` is exclusive. */
  from: number;
  to: number;
  zone: string;
  by: UseDimension[];
  filter: UsageFilter;
  /** Second level: sums by the one dimension that is none of time, and then by this one, without the times. */
  subgroup: UseDimension | undefined;
  /** Values of the first dimension that is none of time, and of the second level in each; the others are one. */
  top: number | undefined;
  /** Figure by which the first values are the highest. */
  topBy: RankFigure;
  /** Adds the previous period: its sums, or its rows for a file. */
  compare: 'sums' | 'rows' | undefined;
}

export const RANK_FIGURES = ['cost', 'requests', 'tokens', 'failures'] as const;
export type RankFigure = (typeof RANK_FIGURES)[number];

export const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DEFAULT_SPAN_MS = 30 * DAY_MS;
const MAX_HOURLY_SPAN_MS = 366 * DAY_MS;
/** Default span and limit of reports by the minute. */
const DEFAULT_MINUTES = 60;
const MAX_MINUTES = 1440;
const MAX_SPAN_MS = 20 * 366 * DAY_MS;
const MAX_TOP = 1000;
const TIMES: readonly UseDimension[] = ['minute', 'hour', 'day', 'week', 'month'];
const FILTERS = {
  key: 'keyId',
  model: 'model',
  provider: 'provider',
  protocol: 'protocol',
  status: 'status',
} as const;
/** Beginning of dimensions of tags. */
export const TAG = 'tag:';
const MAX_TEXT_CHARACTERS = 300;

/** Throws `invalid_request` naming the parameter. */
export function readUseQuery(query: URLSearchParams, now: number, allowed: readonly UseDimension[]): UseQuery {
  const given = (name: string) => query.get(name);
  const by = [...new Set((given('by') ?? 'day').split(',').filter((name) => name !== ''))].map((name) => {
    const found = allowed.find((one) => one === name) ?? tagDimension(name);
    if (found === undefined)
      throw invalid('by', `must be a list of ${allowed.join(', ')} and tag:<name>, not "${name.slice(0, 100)}"`);
    return found;
  });
  if (by.filter(isTime).length > 1) throw invalid('by', `must have one of ${TIMES.join(', ')} at most`);
  const { from, to } = readSpan(query, now, by);
  const compare = given('compare') ?? 'false';
  if (compare !== 'true' && compare !== 'false') throw invalid('compare', 'must be true or false');
  return {
    now,
    from,
    to,
    zone: readZone(given('zone')),
    by,
    filter: readFilter(query),
    subgroup: readSubgroup(given('subgroup'), by, allowed),
    top: readTop(given('top')),
    topBy: readTopBy(given('top_by')),
    compare: compare === 'false' ? undefined : given('format') === 'csv' ? 'rows' : 'sums',
  };
}

function readSpan(query: URLSearchParams, now: number, by: readonly UseDimension[]): { from: number; to: number } {
  const [since, until] = [query.get('from'), query.get('to')];
  const unit = unitOf(by);
  const to = Math.ceil((until === null ? now + 1 : parseMoment('to', until)) / unit) * unit;
  const byDefault =
    unit === MINUTE_MS ? to - DEFAULT_MINUTES * MINUTE_MS : Math.floor((to - DEFAULT_SPAN_MS) / DAY_MS) * DAY_MS;
  const from = Math.floor((since === null ? byDefault : parseMoment('from', since)) / unit) * unit;
  if (from >= to) throw invalid('from', 'must be before to');
  if (to - from > MAX_SPAN_MS) throw invalid('from', 'must be within twenty years');
  if (by.includes('hour') && to - from > MAX_HOURLY_SPAN_MS) throw invalid('from', 'must be within a year by the hour');
  if (unit === MINUTE_MS && to - from > MAX_MINUTES * MINUTE_MS)
    throw invalid('from', `must be ${MAX_MINUTES} minutes before to, by the minute, at most`);
  return { from, to };
}

function readSubgroup(
  name: string | null,
  by: readonly UseDimension[],
  allowed: readonly UseDimension[],
): UseDimension | undefined {
  if (name === null) return undefined;
  const found = allowed.find((one) => one === name) ?? tagDimension(name);
  if (found === undefined || isTime(found) || by.includes(found)) {
    const others = allowed.filter((one) => !isTime(one)).join(', ');
    throw invalid('subgroup', `must be one of ${others} and tag:<name>, which by has not`);
  }
  if (by.filter((one) => !isTime(one)).length !== 1)
    throw invalid('subgroup', 'needs one dimension in by beside that of time');
  return found;
}

function readTopBy(name: string | null): RankFigure {
  const found = RANK_FIGURES.find((one) => one === (name ?? 'cost'));
  if (found === undefined) throw invalid('top_by', `must be one of ${RANK_FIGURES.join(', ')}`);
  return found;
}

/** Milliseconds of the unit that is summed up: sums are kept by the hour, those by the minute are made of records. */
export function unitOf(by: readonly UseDimension[]): number {
  return by.includes('minute') ? MINUTE_MS : HOUR_MS;
}

function tagDimension(text: string): UseDimension | undefined {
  return text.startsWith(TAG) && isTagName(text.slice(TAG.length)) ? (text as UseDimension) : undefined;
}

function readFilter(query: URLSearchParams): UsageFilter {
  const entries = Object.entries(FILTERS).flatMap(([name, member]) => {
    const value = query.get(name);
    if (value === null) return [];
    if (value !== '' && value.length <= MAX_TEXT_CHARACTERS && !value.includes('\0')) return [[member, value]];
    throw invalid(name, `must have 1 to ${MAX_TEXT_CHARACTERS} characters, none of them NUL`);
  });
  const tag = query.get('tag');
  if (tag !== null && !parseTag(tag)) throw invalid('tag', 'must be a tag such as team=search');
  return { ...Object.fromEntries(entries), ...(tag !== null && { tag }) };
}

function readTop(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (/^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_TOP) return Number(text);
  throw invalid('top', `must be a whole number between 1 and ${MAX_TOP}`);
}

/** Whether the values of a dimension are times. */
export function isTime(name: UseDimension): boolean {
  return TIMES.includes(name);
}
