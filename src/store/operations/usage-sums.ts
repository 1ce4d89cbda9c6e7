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
import { COUNT_COLUMNS, type DayTable, HOUR_SUM_COLUMNS, MONEY_COLUMNS } from '../usage-columns.ts';
import { GROUPINGS, type Grouping, PART_GROUPINGS } from '../usage-rows.ts';
import { sumColumns, sumOf, UNPRICED_COLUMN, unpricedTokens } from '../usage-sums.ts';

export interface UsageSumsQuery {
  /** Absent means every key. */
  keyId?: string;
  filter?: UsageFilter;
  /** UTC offsets of the days, in order; UTC if absent. */
  offsets?: DayOffsets;
  /** Hours since 1970; `to` is exclusive. */
  from: number;
  to: number;
  by: Grouping[];
  /** Second grouping, read at the same moment; its rows have `second: 1`. */
  secondBy?: Grouping[];
  /** Models whose tokens are counted as `unpriced_tokens` where they cost nothing. */
  unpriced?: string[];
}

const EXPRESSIONS: Record<Grouping, string> = { ...GROUPINGS, ...PART_GROUPINGS };
const DAY_MINUTES = 1440;

/** Day of an hour by its beginning, in a zone. */
function dayIn(offsets: DayOffsets, hour: string): string {
  const cases = offsets.toReversed().map(({ fromHour, minutes }) => `WHEN ${hour} >= ${fromHour} THEN ${minutes}`);
  return `(${hour} * 60 + CASE ${cases.join(' ')} ELSE 0 END) / ${DAY_MINUTES}`;
}

/**
 * Sums over hours; money is exact and therefore text, counts are numbers. Protocol, status and tags of what an earlier version
 * wrote are null.
 */
export const usageSums = scanning<UsageSumsQuery, Row[]>('usage', async (transaction, query) => {
  const { by, secondBy, unpriced = [] } = query;
  const conditions = sumConditions({ ...query.filter, ...(query.keyId !== undefined && { keyId: query.keyId }) });
  const names = [...new Set([...by, ...(secondBy ?? [])])];
  const offsets = query.offsets?.some(({ minutes }) => minutes !== 0) ? query.offsets : undefined;
  const span = await existingSpan(transaction, query);
  const days = names.includes('hour') ? [] : wholeDays(span, names.includes('day') ? offsets : undefined);
  const source = sumSource(transaction, span, days);
  const tokens = unpricedTokens(transaction, 'model', unpriced);
  const values = { ...source.values, ...conditions.values, ...tokens.values };
  const select = (table: DayTable, set: readonly Grouping[], second: number) =>
    sumsSql(source, table, { set, names, second, offsets, conditions, unpriced: tokens.sql });
  const isSimple = !secondBy && !conditions.ofParts && !by.some(isOfParts);
  if (isSimple) {
    const ordered = by.length > 0 ? `ORDER BY ${by.map((_, index) => index + 1).join(', ')}` : '';
    const rows = await transaction.all(`${source.tables} ${select('usage_day', by, 0)} ${ordered}`, values);
    return rows.map((row) => sumsOf(row, by));
  }
  const sets = secondBy ? [by, secondBy] : [by];
  const tablesOf = (set: readonly Grouping[]): DayTable[] => {
    if (conditions.ofParts) return ['usage_part_day'];
    return set.some(isOfParts) ? ['usage_part_day', 'usage_day'] : ['usage_day'];
  };
  // One statement, so that all are of one moment.
  const selects = sets.flatMap((set, second) => tablesOf(set).map((table) => select(table, set, second)));
  const rows = await transaction.all(`${source.tables} ${selects.join(' UNION ALL ')}`, values);
  return sets.flatMap((set, second) => {
    const own = rows.filter((row) => Number(row.second) === second);
    const sums = tablesOf(set).length > 1 ? withRest(own, set) : own.map((row) => sumsOf(row, set));
    // A corrected record leaves a sum of nothing.
    const ordered = sums.filter(isSomething).toSorted((one, other) => compareGroups(one, other, set));
    return second === 1 ? ordered.map((row) => ({ ...row, second })) : ordered;
  });
});

function isSomething(sums: Row): boolean {
  return HOUR_SUM_COLUMNS.some((name) => Number(sums[name]) !== 0);
}

/** Compares rows by the dimensions in turn; null is last. */
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
  /** Dimensions of the sums. */
  set: readonly Grouping[];
  /** Dimensions of all selects of the statement. */
  names: readonly Grouping[];
  second: number;
  offsets: DayOffsets | undefined;
  conditions: SumConditions;
  /** Expression of `unpricedTokens`. */
  unpriced: string | undefined;
}

function sumsSql(
  source: SumSource,
  table: DayTable,
  { set, names, second, offsets, conditions, unpriced }: SumSelect,
): string {
  const isWhole = table === 'usage_day';
  const expression = (name: Grouping, hour: string) => {
    if (!set.includes(name)) return `CAST(NULL AS ${name === 'day' || name === 'hour' ? 'bigint' : 'text'})`;
    if (isWhole && isOfParts(name)) return 'CAST(NULL AS text)';
    if (name === 'day') return offsets ? dayIn(offsets, hour) : `${hour} / 24`;
    return EXPRESSIONS[name];
  };
  const extra = unpriced === undefined ? [] : [`${unpriced} AS ${UNPRICED_COLUMN}`];
  const columns = (hour: string) =>
    [...names.map((name) => `${expression(name, hour)} AS "${name}"`), ...HOUR_SUM_COLUMNS, ...extra].join(', ');
  const rows = source.select(table, columns, conditions.sql);
  const groups = names.map((name) => `"${name}"`);
  const counted = [...COUNT_COLUMNS, ...(unpriced === undefined ? [] : [UNPRICED_COLUMN])];
  const counts = counted.map((name) => `SUM(CAST(${name} AS double precision)) AS ${name}`);
  const money = MONEY_COLUMNS.map((name) => sumColumns(name));
  const selected = [...groups, ...counts, ...money, `${Number(isWhole)} AS whole`, `${second} AS second`];
  const places = names.map((_, index) => index + 1).join(', ');
  return `SELECT ${selected.join(', ')} FROM (${rows}) AS rows ${names.length > 0 ? `GROUP BY ${places}` : 'HAVING COUNT(*) > 0'}`;
}

function sumsOf(row: Row, by: readonly Grouping[]): Row {
  const sums: Row = {};
  for (const name of by) sums[name] = row[name] ?? null;
  for (const name of COUNT_COLUMNS) sums[name] = Number(row[name]);
  if (row[UNPRICED_COLUMN] !== undefined) sums[UNPRICED_COLUMN] = Number(row[UNPRICED_COLUMN]);
  for (const name of MONEY_COLUMNS) sums[name] = String(sumOf(row, name));
  return sums;
}

/** Parts, and the difference between them and the whole sums. */
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
  const rest: Row = { ...sums };
  for (const name of [...COUNT_COLUMNS, UNPRICED_COLUMN])
    if (sums[name] !== undefined) rest[name] = Number(sums[name]) - Number(part[name]);
  for (const name of MONEY_COLUMNS) rest[name] = String(BigInt(String(sums[name])) - BigInt(String(part[name])));
  return rest;
}
