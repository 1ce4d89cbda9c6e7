/** Reports of usage: sums over hours and days, by their dimensions. */

import { type Row, scanning } from '../operation.ts';
import {
  type DayOffsets,
  existingSpan,
  type SumConditions,
  type SumSource,
  sumConditions,
  sumSource,
  type UsageFilter,
  wholeDays,
} from '../sum-source.ts';
import { GROUPINGS, type Grouping, PART_GROUPINGS } from '../usage-rows.ts';
import { COUNT_COLUMNS, type DayTable, HOUR_SUM_COLUMNS, sumColumns, sumOf } from '../usage-sums.ts';

export interface UsageSumsQuery {
  /** Absent means every key. */
  keyId?: string;
  filter?: UsageFilter;
  /** Of the days, in order; those of UTC if absent. */
  offsets?: DayOffsets;
  /** Hours since 1970; `to` is exclusive. */
  from: number;
  to: number;
  by: Grouping[];
}

const EXPRESSIONS: Record<Grouping, string> = { ...GROUPINGS, ...PART_GROUPINGS };
const DAY_MINUTES = 1440;

/** Day of an hour by its beginning, in a zone. */
function dayIn(offsets: DayOffsets, hour: string): string {
  const cases = offsets.toReversed().map(({ fromHour, minutes }) => `WHEN ${hour} >= ${fromHour} THEN ${minutes}`);
  return `(${hour} * 60 + CASE ${cases.join(' ')} ELSE 0 END) / ${DAY_MINUTES}`;
}

/**
 * Sums over hours; `cost` is exact and therefore text, counts are numbers. Protocol, status and tags of what an earlier version
 * wrote are null.
 */
export const usageSums = scanning<UsageSumsQuery, Row[]>('usage', async (transaction, query) => {
  const { by } = query;
  const conditions = sumConditions({ ...query.filter, ...(query.keyId !== undefined && { keyId: query.keyId }) });
  const isPart = conditions.ofParts;
  const offsets = query.offsets?.some(({ minutes }) => minutes !== 0) ? query.offsets : undefined;
  const span = await existingSpan(transaction, query);
  const days = by.includes('hour') ? [] : wholeDays(span, by.includes('day') ? offsets : undefined);
  const source = sumSource(transaction, span, days);
  const values = { ...source.values, ...conditions.values };
  const select = (table: DayTable) => sumsSql(source, table, { by, offsets, conditions });
  if (!isPart && !by.some(isOfParts)) {
    const ordered = by.length > 0 ? `ORDER BY ${by.map((_, index) => index + 1).join(', ')}` : '';
    const rows = await transaction.all(`${source.tables} ${select('usage_day')} ${ordered}`, values);
    return rows.map((row) => sumsOf(row, by));
  }
  // One statement, so that both are of one moment.
  const sql = isPart ? select('usage_part_day') : `${select('usage_part_day')} UNION ALL ${select('usage_day')}`;
  const rows = await transaction.all(`${source.tables} ${sql}`, values);
  const sums = isPart ? rows.map((row) => sumsOf(row, by)) : withRest(rows, by);
  // A corrected record leaves a sum of nothing.
  return sums.filter(isSomething).toSorted((one, other) => compareGroups(one, other, by));
});

function isSomething(sums: Row): boolean {
  return HOUR_SUM_COLUMNS.some((name) => Number(sums[name]) !== 0);
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

interface SumSelect {
  by: readonly Grouping[];
  offsets: DayOffsets | undefined;
  conditions: SumConditions;
}

function sumsSql(source: SumSource, table: DayTable, { by, offsets, conditions }: SumSelect): string {
  const isWhole = table === 'usage_day';
  const expression = (name: Grouping, hour: string) => {
    if (isWhole && isOfParts(name)) return 'CAST(NULL AS text)';
    if (name === 'day') return offsets ? dayIn(offsets, hour) : `${hour} / 24`;
    return EXPRESSIONS[name];
  };
  const columns = (hour: string) =>
    [...by.map((name) => `${expression(name, hour)} AS "${name}"`), ...HOUR_SUM_COLUMNS].join(', ');
  const rows = source.select(table, columns, conditions.sql);
  const groups = by.map((name) => `"${name}"`);
  const counts = COUNT_COLUMNS.map((name) => `SUM(CAST(${name} AS double precision)) AS ${name}`);
  const selected = [...groups, ...counts, sumColumns('cost'), `${Number(isWhole)} AS whole`];
  const places = by.map((_, index) => index + 1).join(', ');
  return `SELECT ${selected.join(', ')} FROM (${rows}) AS rows ${by.length > 0 ? `GROUP BY ${places}` : 'HAVING COUNT(*) > 0'}`;
}

function sumsOf(row: Row, by: readonly Grouping[]): Row {
  const named = by.map((name) => [name, row[name] ?? null] as const);
  const counted = COUNT_COLUMNS.map((name) => [name, Number(row[name])] as const);
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
  const counts = COUNT_COLUMNS.map((name) => [name, Number(sums[name]) - Number(part[name])]);
  return {
    ...sums,
    ...Object.fromEntries(counts),
    cost: String(BigInt(String(sums.cost)) - BigInt(String(part.cost))),
  };
}
