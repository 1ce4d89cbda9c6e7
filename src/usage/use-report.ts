/** Use and cost for the dashboard: sums by time in a zone, key, model and provider, compared with the period before. */

import { tagsOf } from '../records/tags.ts';
import type { Store } from '../store/store.ts';
import type { UsageFilter } from '../store/sum-source.ts';
import type { Grouping, RecordGrouping } from '../store/usage-rows.ts';
import {
  modelsWithoutCost,
  type SumRow,
  totalOf,
  type UseContext,
  type UseCounts,
  withUnpricedTokens,
} from './report.ts';
import { groupsOf, highestValues, subgroupsOf, type UseRow } from './use-groups.ts';
import { isTime, MINUTE_MS, TAG, type UseDimension, type UseQuery, unitOf } from './use-query.ts';
import { atTimesOf, isMadeOfDays, timeName } from './use-times.ts';
import { noteZones, zoneOffsets } from './zone.ts';

export interface UseReport {
  object: 'usage';
  from: string;
  to: string;
  zone: string;
  by: UseDimension[];
  subgroup: UseDimension | null;
  data: UseRow[];
  /** Rows by the first dimension that is not a time, and then by `subgroup`; null unless that was requested. */
  subgroups: UseRow[] | null;
  total: UseCounts;
  /** Models that were used without a cost: they are free, or their price is not known. */
  models_without_cost: string[];
  /** Models among these without a known price: their cost is unknown, and not in the sums. */
  models_without_price: string[];
  /**
   * Previous period of the same length: groups without times, times without groups (`course`), and for a file its rows, at the
   * times of this period.
   */
  before: {
    from: string;
    to: string;
    data: UseRow[];
    course: UseRow[];
    rows?: UseRow[];
    total: UseCounts;
  } | null;
}

export async function reportUse(
  store: Pick<Store, 'call'>,
  query: UseQuery,
  { names, hasPrice }: UseContext,
): Promise<UseReport> {
  const { now, from, to, zone, by, subgroup, filter, top, topBy, compare } = query;
  const unit = unitOf(by);
  const span = { now, from: from / unit, to: to / unit, unit, filter, zone };
  const earlier = { ...span, from: span.from - (span.to - span.from), to: span.from };
  const [first, ...plain] = by.filter((name) => !isTime(name));
  const dimensions = first === undefined ? [] : [first, ...plain];
  const second = subgroup === undefined ? undefined : [...dimensions, subgroup];
  const read = async (one: Span, set: readonly UseDimension[], also?: readonly UseDimension[]) => {
    if (set.includes('model')) return withUnpriced(await sums(store, one, set, also), hasPrice);
    const models = modelsWithoutCost((await sums(store, one, ['model'])).rows, hasPrice);
    return { ...(await sums(store, { ...one, unpriced: models.models_without_price }, set, also)), models };
  };
  const time = by.find(isTime);
  const [{ rows, others, models }, before] = await Promise.all([
    read(span, by, second),
    compare && (compare === 'rows' ? read(earlier, by) : read(earlier, dimensions, time === undefined ? [] : [time])),
  ]);
  const kept =
    top === undefined || first === undefined
      ? undefined
      : { first, values: highestValues(rows, first, { top, by: topBy }) };
  const range = ({ from: start, to: end }: { from: number; to: number }) => ({
    from: new Date(start * unit).toISOString(),
    to: new Date(end * unit).toISOString(),
  });
  return {
    object: 'usage',
    ...range(span),
    zone,
    by,
    subgroup: subgroup ?? null,
    data: groupsOf(rows, by, { kept, names }),
    subgroups:
      first === undefined || subgroup === undefined
        ? null
        : subgroupsOf(others, [first, subgroup], { kept, names, top, by: topBy }),
    total: totalOf(rows),
    ...models,
    before: before
      ? {
          ...range(earlier),
          data: groupsOf(before.rows, dimensions, { kept, names }),
          course:
            time === undefined ? [] : groupsOf(compare === 'rows' ? before.rows : before.others, [time], { names }),
          ...(compare === 'rows' && {
            rows: groupsOf(time === undefined ? before.rows : atTimesOf(span, time, before.rows), by, { kept, names }),
          }),
          total: totalOf(before.rows),
        }
      : null,
  };
}

interface Span {
  now: number;
  /** Start and end in units since 1970; `to` is exclusive. */
  from: number;
  to: number;
  unit: number;
  filter: UsageFilter;
  zone: string;
  /** See `usageSums`. */
  unpriced?: string[];
}

interface ReadSums {
  rows: SumRow[];
  /** Rows by the second set of dimensions. */
  others: SumRow[];
}

function withUnpriced({ rows, others }: ReadSums, hasPrice: UseContext['hasPrice']) {
  const models = modelsWithoutCost(rows, hasPrice);
  const marked = (some: SumRow[]) => withUnpricedTokens(some, models.models_without_price);
  return { rows: marked(rows), others: marked(others), models };
}

/** Sums of one moment, by one or two lists of dimensions. */
async function sums(
  store: Pick<Store, 'call'>,
  { now, unit, zone, ...span }: Span,
  by: readonly UseDimension[],
  also?: readonly UseDimension[],
): Promise<ReadSums> {
  if (unit === MINUTE_MS) return sumsOfRecords(store, span, by, also);
  const time = [...by, ...(also ?? [])].find(isTime);
  const offsets = time && isMadeOfDays(time) ? zoneOffsets(zone, span.from, span.to) : undefined;
  if (offsets) await noteZones(store, offsets, now);
  const rows: SumRow[] = await store.call('usageSums', {
    ...span,
    by: groupingsOf(by) as Grouping[],
    ...(also && { secondBy: groupingsOf(also) as Grouping[] }),
    ...(offsets && { offsets }),
  });
  if (!also) return { rows: named(rows, by), others: [] };
  const isSecond = (row: SumRow) => row.second !== undefined;
  return {
    rows: named(
      rows.filter((row) => !isSecond(row)),
      by,
    ),
    others: named(rows.filter(isSecond), also),
  };
}

/** Sums by the minute; both lists are made of the same sums. */
async function sumsOfRecords(
  store: Pick<Store, 'call'>,
  span: Pick<Span, 'from' | 'to' | 'filter' | 'unpriced'>,
  by: readonly UseDimension[],
  also: readonly UseDimension[] = [],
): Promise<ReadSums> {
  const groupings = groupingsOf([...by, ...also]) as RecordGrouping[];
  const rows: SumRow[] = await store.call('usageMinutes', { ...span, by: groupings });
  return { rows: named(rows, by), others: named(rows, also) };
}

/** Rows with the names that the dimensions have in reports; several rows may be of one group. */
function named(rows: readonly SumRow[], by: readonly UseDimension[]): SumRow[] {
  const time = by.find(isTime);
  const tagged = by.filter((name) => name.startsWith(TAG)).map((name) => name.slice(TAG.length));
  if (time === undefined && tagged.length === 0) return [...rows];
  const times = new Map<unknown, string>();
  return rows.map((row) => {
    const own = { ...row };
    if (time !== undefined) {
      const value = row[groupingOf(time)];
      const name = times.get(value) ?? timeName(time, Number(value));
      times.set(value, name);
      own[time] = name;
    }
    if (tagged.length > 0) Object.assign(own, tagGroups(row.tags, tagged));
    return own;
  });
}

function groupingsOf(by: readonly UseDimension[]): (Grouping | RecordGrouping)[] {
  return [...new Set(by.map(groupingOf))];
}

function groupingOf(name: UseDimension): Grouping | RecordGrouping {
  if (isMadeOfDays(name)) return 'day';
  return name.startsWith(TAG) ? 'tags' : (name as Grouping | RecordGrouping);
}

/** Null without a value of the tag. */
function tagGroups(text: unknown, names: readonly string[]): SumRow {
  const tags = tagsOf(String(text ?? ''));
  return Object.fromEntries(names.map((name) => [`${TAG}${name}`, tags[name] ?? null]));
}
