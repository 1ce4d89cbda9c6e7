/** Use and cost for the dashboard: sums by time in a zone, key, model and provider, compared with the period before. */

import { isTagName, parseTag, tagsOf } from '../records/tags.ts';
import type { Store } from '../store/store.ts';
import type { UsageFilter } from '../store/sum-source.ts';
import type { Grouping, RecordGrouping } from '../store/usage-rows.ts';
import { COUNT_COLUMNS } from '../store/usage-sums.ts';
import {
  countsOf,
  invalid,
  modelsWithoutCost,
  parseMoment,
  totalOf,
  type UseContext,
  type UseCounts,
} from './report.ts';
import { noteZones, readZone, zoneOffsets } from './zone.ts';

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
  /** Values of the first dimension that is none of time; the others are one. */
  top: number | undefined;
  compare: boolean;
}

/** A group; `other` stands for those that are not among the first. */
export type UseRow = UseCounts &
  Partial<Record<UseDimension, string | null>> & { key_name?: string | null; other?: true };

export interface UseReport {
  object: 'usage';
  from: string;
  to: string;
  zone: string;
  by: UseDimension[];
  data: UseRow[];
  total: UseCounts;
  /** Models that were used without a cost: they are free, or their price is not known. */
  models_without_cost: string[];
  /** Those of them that have no price: what they cost is not known, and not in the sums. */
  models_without_price: string[];
  /** Of the period before, without its times. */
  before: { from: string; to: string; data: UseRow[]; total: UseCounts } | null;
}

type SumRow = Record<string, unknown>;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DEFAULT_SPAN_MS = 30 * DAY_MS;
const MAX_HOURLY_SPAN_MS = 366 * DAY_MS;
/** By the minute. */
const DEFAULT_MINUTES = 60;
const MAX_MINUTES = 1440;
const MAX_SPAN_MS = 20 * 366 * DAY_MS;
const MAX_TOP = 1000;
const TIMES: readonly UseDimension[] = ['minute', 'hour', 'day', 'week', 'month'];
/** Times that are made of days. */
const DAYS: readonly UseDimension[] = ['day', 'week', 'month'];
const FILTERS = {
  key: 'keyId',
  model: 'model',
  provider: 'provider',
  protocol: 'protocol',
  status: 'status',
} as const;
const TAG = 'tag:';
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
    top: readTop(given('top')),
    compare: compare === 'true',
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

/** Sums are kept by the hour; those by the minute are made of records. */
function unitOf(by: readonly UseDimension[]): number {
  return by.includes('minute') ? MINUTE_MS : HOUR_MS;
}

function tagDimension(text: string): UseDimension | undefined {
  return text.startsWith(TAG) && isTagName(text.slice(TAG.length)) ? (text as UseDimension) : undefined;
}

function tagNameOf(dimension: UseDimension): string | undefined {
  return dimension.startsWith(TAG) ? dimension.slice(TAG.length) : undefined;
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

export async function reportUse(
  store: Pick<Store, 'call'>,
  query: UseQuery,
  { names, hasPrice }: UseContext,
): Promise<UseReport> {
  const { now, from, to, zone, by, filter, top, compare } = query;
  const unit = unitOf(by);
  const span = { now, from: from / unit, to: to / unit, unit, filter };
  const earlier = { ...span, from: span.from - (span.to - span.from), to: span.from };
  const plain = by.filter((name) => !isTime(name));
  const [rows, byModel, earlierRows] = await Promise.all([
    sums(store, span, by, zone),
    by.includes('model') ? undefined : sums(store, span, ['model'], zone),
    compare ? sums(store, earlier, plain, zone) : undefined,
  ]);
  const kept = top === undefined ? undefined : topValues(rows, plain[0], top);
  const finish = (some: readonly SumRow[], dimensions: UseDimension[]) =>
    merged(some, dimensions, { first: plain[0], kept }).map((row) => encodeRow(row, dimensions, names));
  const data = finish(rows, by);
  const range = ({ from: first, to: end }: { from: number; to: number }) => ({
    from: new Date(first * unit).toISOString(),
    to: new Date(end * unit).toISOString(),
  });
  return {
    object: 'usage',
    ...range(span),
    zone,
    by,
    data,
    total: totalOf(rows),
    ...modelsWithoutCost(byModel ?? merged(rows, ['model'], ALL_GROUPS), hasPrice),
    before: earlierRows ? { ...range(earlier), data: finish(earlierRows, plain), total: totalOf(earlierRows) } : null,
  };
}

async function sums(
  store: Pick<Store, 'call'>,
  { now, unit, ...span }: { now: number; from: number; to: number; unit: number; filter: UsageFilter },
  by: readonly UseDimension[],
  zone: string,
): Promise<SumRow[]> {
  const time = by.find(isTime);
  const offsets = time && DAYS.includes(time) ? zoneOffsets(zone, span.from, span.to) : undefined;
  if (offsets) await noteZones(store, offsets, now);
  const groups = [...new Set(by.map(groupingOf))];
  const rows: SumRow[] =
    unit === MINUTE_MS
      ? await store.call('usageMinutes', { ...span, by: groups as RecordGrouping[] })
      : await store.call('usageSums', { ...span, by: groups as Grouping[], ...(offsets && { offsets }) });
  const tagged = by.flatMap((name) => tagNameOf(name) ?? []);
  return rows.map((row) => ({
    ...row,
    ...(time && { [time]: timeName(time, Number(row[groupingOf(time)])) }),
    ...(tagged.length > 0 && tagGroups(row.tags, tagged)),
  }));
}

function groupingOf(name: UseDimension): Grouping | RecordGrouping {
  if (DAYS.includes(name)) return 'day';
  return name.startsWith(TAG) ? 'tags' : (name as Grouping | RecordGrouping);
}

/** Null without a value of the tag. */
function tagGroups(text: unknown, names: readonly string[]): SumRow {
  const tags = tagsOf(String(text ?? ''));
  return Object.fromEntries(names.map((name) => [`${TAG}${name}`, tags[name] ?? null]));
}

function timeName(dimension: UseDimension, value: number): string {
  if (dimension === 'minute') return new Date(value * MINUTE_MS).toISOString();
  if (dimension === 'hour') return new Date(value * HOUR_MS).toISOString();
  const date = new Date(value * DAY_MS);
  if (dimension === 'month') return date.toISOString().slice(0, 7);
  // 1970 began on a Thursday; weeks begin on Monday.
  const monday = dimension === 'week' ? value - ((value + 3) % 7) : value;
  return new Date(monday * DAY_MS).toISOString().slice(0, 10);
}

/** The values with the highest cost, then the most requests. */
function topValues(
  rows: readonly SumRow[],
  dimension: UseDimension | undefined,
  top: number,
): Set<unknown> | undefined {
  if (dimension === undefined) return undefined;
  const totals = [...Map.groupBy(rows, (row) => row[dimension])].map(([value, own]) => ({
    value,
    cost: own.reduce((sum, { cost }) => sum + BigInt(String(cost)), 0n),
    requests: own.reduce((sum, { requests }) => sum + Number(requests), 0),
  }));
  totals.sort((one, other) =>
    one.cost === other.cost ? other.requests - one.requests : one.cost < other.cost ? 1 : -1,
  );
  return new Set(totals.slice(0, top).map(({ value }) => value));
}

interface KeptGroups {
  first: UseDimension | undefined;
  kept: Set<unknown> | undefined;
}

const ALL_GROUPS: KeptGroups = { first: undefined, kept: undefined };

/** One row a group, in the order of first appearance; groups that are not kept are one. */
function merged(rows: readonly SumRow[], by: readonly UseDimension[], { first, kept }: KeptGroups): SumRow[] {
  const groups = new Map<string, SumRow>();
  for (const row of rows) {
    const isOther = first !== undefined && kept !== undefined && !kept.has(row[first]);
    // The others are one group: of their dimensions only the time stays.
    const names = by.map((name) => (isOther && !isTime(name) ? null : row[name]));
    const key = JSON.stringify([isOther, ...names]);
    const group = groups.get(key);
    if (!group) {
      const named = Object.fromEntries(by.map((name, index) => [name, names[index]]));
      groups.set(key, { ...row, ...named, ...(isOther && { other: true }) });
      continue;
    }
    for (const name of COUNT_COLUMNS) group[name] = Number(group[name]) + Number(row[name]);
    group.cost = String(BigInt(String(group.cost)) + BigInt(String(row.cost)));
  }
  return [...groups.values()];
}

function encodeRow(row: SumRow, by: readonly UseDimension[], names: ReadonlyMap<string, string>): UseRow {
  const groups = Object.fromEntries(by.map((name) => [name, row[name] === null ? null : String(row[name])]));
  return {
    ...groups,
    ...(by.includes('key') && { key_name: names.get(String(row.key)) ?? null }),
    ...(row.other === true && { other: true }),
    ...countsOf(row),
  };
}

function isTime(name: UseDimension): boolean {
  return TIMES.includes(name);
}
