/** Reports of usage: sums over hours, by their dimensions. */

import { type Row, scanning } from '../operation.ts';
import { GROUPINGS, type Grouping, HAS_TAG, PART_GROUPINGS } from '../usage-rows.ts';
import { sumColumns, sumOf } from '../usage-sums.ts';

/** Conditions on sums; absent ones hold for all. */
export interface UsageFilter {
  keyId?: string;
  /** `<provider>/<model>` of the endpoint. */
  model?: string;
  provider?: string;
  /** Of the client. */
  protocol?: string;
  status?: string;
  /** `name=value` */
  tag?: string;
}

export interface UsageSumsQuery {
  /** Absent means every key. */
  keyId?: string;
  filter?: UsageFilter;
  /** Minutes by which days begin before those of UTC, each from an hour on, in order; those of UTC if absent. */
  offsets?: readonly { fromHour: number; minutes: number }[];
  /** Hours since 1970; `to` is exclusive. */
  from: number;
  to: number;
  by: Grouping[];
}

const CONDITIONS: Record<keyof UsageFilter, string> = {
  keyId: 'key_id = :keyId',
  model: 'model = :model',
  provider: 'provider = :provider',
  protocol: 'protocol = :protocol',
  status: 'status = :status',
  tag: HAS_TAG,
};
const PART_FILTERS: readonly (keyof UsageFilter)[] = ['protocol', 'status', 'tag'];
const EXPRESSIONS: Record<Grouping, string> = { ...GROUPINGS, ...PART_GROUPINGS };
const DAY_MINUTES = 1440;

/** Day of an hour by its beginning, in a zone. */
function dayIn(offsets: Required<UsageSumsQuery>['offsets']): string {
  const cases = offsets.toReversed().map(({ fromHour, minutes }) => `WHEN hour >= ${fromHour} THEN ${minutes}`);
  return `(hour * 60 + CASE ${cases.join(' ')} ELSE 0 END) / ${DAY_MINUTES}`;
}

const COUNTS = [
  'requests',
  'failures',
  'input_tokens',
  'output_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
];
const SUMS = [...COUNTS, 'cost'];

/**
 * Sums over hours; `cost` is exact and therefore text, counts are numbers. Protocol, status and tags of what an earlier version
 * wrote are null.
 */
export const usageSums = scanning<UsageSumsQuery, Row[]>('usage', async (transaction, query) => {
  const { from, to, by } = query;
  const filter = { ...query.filter, ...(query.keyId !== undefined && { keyId: query.keyId }) };
  const values = { from, to, ...filter };
  const names = Object.keys(filter) as (keyof UsageFilter)[];
  const isPart = names.some((name) => PART_FILTERS.includes(name));
  const select = (table: string) => sumsSql(table, query, names);
  if (!isPart && !by.some(isOfParts)) {
    const ordered = by.length > 0 ? `ORDER BY ${by.map((_, index) => index + 1).join(', ')}` : '';
    const rows = await transaction.all(`${select('usage_hour')} ${ordered}`, values);
    return rows.map((row) => sumsOf(row, by));
  }
  // One statement, so that both are of one moment.
  const sql = isPart ? select('usage_part') : `${select('usage_part')} UNION ALL ${select('usage_hour')}`;
  const rows = await transaction.all(sql, values);
  const sums = isPart ? rows.map((row) => sumsOf(row, by)) : withRest(rows, by);
  // A corrected record leaves a sum of nothing.
  return sums.filter(isSomething).toSorted((one, other) => compareGroups(one, other, by));
});

function isSomething(sums: Row): boolean {
  return SUMS.some((name) => Number(sums[name]) !== 0);
}

/** By the dimensions in turn; null is last. */
function compareGroups(one: Row, other: Row, by: readonly Grouping[]): number {
  for (const name of by) {
    const [first, second] = [one[name] ?? null, other[name] ?? null];
    if (first === second) continue;
    if (first === null || second === null) return first === null ? 1 : -1;
    return first < second ? -1 : 1;
  }
  return 0;
}

function isOfParts(name: Grouping): boolean {
  return Object.hasOwn(PART_GROUPINGS, name);
}

function sumsSql(table: string, { by, offsets }: UsageSumsQuery, filter: readonly (keyof UsageFilter)[]): string {
  const isWhole = table === 'usage_hour';
  const expression = (name: Grouping) => {
    if (isWhole && isOfParts(name)) return 'CAST(NULL AS text)';
    return name === 'day' && offsets ? dayIn(offsets) : EXPRESSIONS[name];
  };
  const groups = by.map((name) => `${expression(name)} AS "${name}"`);
  const columns = [...groups, ...SUMS.map((name) => sumColumns(name)), `${Number(isWhole)} AS whole`];
  const conditions = filter.map((name) => `AND ${CONDITIONS[name]}`);
  const places = by.map((_, index) => index + 1).join(', ');
  return `SELECT ${columns.join(', ')} FROM ${table} WHERE hour >= :from AND hour < :to ${conditions.join(' ')}
    ${by.length > 0 ? `GROUP BY ${places}` : 'HAVING COUNT(*) > 0'}`;
}

function sumsOf(row: Row, by: readonly Grouping[]): Row {
  const named = by.map((name) => [name, row[name] ?? null] as const);
  const counted = COUNTS.map((name) => [name, Number(sumOf(row, name))] as const);
  return { ...Object.fromEntries([...named, ...counted]), cost: String(sumOf(row, 'cost')) };
}

/** Parts, and what the whole sums have beside them. */
function withRest(rows: readonly Row[], by: readonly Grouping[]): Row[] {
  const whole = by.filter((name) => !isOfParts(name));
  const nameOf = (row: Row) => JSON.stringify(whole.map((name) => row[name]));
  const parts = Map.groupBy(
    rows.filter((row) => Number(row.whole) === 0).map((row) => sumsOf(row, by)),
    nameOf,
  );
  const rests = rows.flatMap((row) => {
    if (Number(row.whole) === 0) return [];
    return [(parts.get(nameOf(row)) ?? []).reduce(minus, sumsOf(row, by))];
  });
  return [...[...parts.values()].flat(), ...rests];
}

function minus(sums: Row, part: Row): Row {
  const counts = COUNTS.map((name) => [name, Number(sums[name]) - Number(part[name])]);
  return {
    ...sums,
    ...Object.fromEntries(counts),
    cost: String(BigInt(String(sums.cost)) - BigInt(String(part.cost))),
  };
}
