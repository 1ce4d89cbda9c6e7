/** Groups of reports of use: sums of one group as one row, the highest values, and the others as one. */

import { COUNT_COLUMNS, MONEY_COLUMNS } from '../store/usage-columns.ts';
import { UNPRICED_COLUMN } from '../store/usage-sums.ts';
import { countsOf, type SumRow, type UseCounts } from './report.ts';
import { isTime, type RankFigure, type UseDimension } from './use-query.ts';

/**
 * A group. `other` stands for those that are not among the first, `other_subgroup` for those of the second level that are not
 * among the first of their group.
 */
export type UseRow = UseCounts &
  Partial<Record<UseDimension, string | null>> & {
    key_name?: string | null;
    other?: true;
    other_subgroup?: true;
  };

interface Rank {
  top: number;
  by: RankFigure;
}

export interface KeptValues {
  first: UseDimension;
  values: ReadonlySet<unknown>;
}

interface GroupOptions {
  /** All groups if absent. */
  kept?: KeptValues | undefined;
  /** Names of keys by id. */
  names: ReadonlyMap<string, string>;
}

/** Values of a dimension with the highest figure, then the most requests, highest first. */
export function highestValues(rows: readonly SumRow[], dimension: UseDimension, { top, by }: Rank): Set<unknown> {
  const totals = new Map<unknown, { figure: bigint; requests: number }>();
  for (const row of rows) {
    const value = row[dimension];
    const total = totals.get(value);
    if (total) {
      total.figure += figureOf(row, by);
      total.requests += Number(row.requests);
    } else totals.set(value, { figure: figureOf(row, by), requests: Number(row.requests) });
  }
  const ranked = [...totals].sort(([, one], [, other]) =>
    one.figure === other.figure ? other.requests - one.requests : one.figure < other.figure ? 1 : -1,
  );
  return new Set(ranked.slice(0, top).map(([value]) => value));
}

function figureOf(row: SumRow, by: RankFigure): bigint {
  if (by === 'cost') return BigInt(String(row.cost));
  return BigInt(by === 'tokens' ? Number(row.input_tokens) + Number(row.output_tokens) : Number(row[by]));
}

/** One row a group, in the order of first appearance; groups that are not kept are one, after all others. */
export function groupsOf(
  rows: readonly SumRow[],
  by: readonly UseDimension[],
  { kept, names }: GroupOptions,
): UseRow[] {
  const groups = new Map<string, SumRow>();
  const others = new Map<string, SumRow>();
  for (const row of rows) {
    const isOther = kept !== undefined && !kept.values.has(row[kept.first]);
    // Of the dimensions of the others only the time stays.
    add(isOther ? others : groups, isOther ? by.filter(isTime) : by, row);
  }
  return [
    ...[...groups.values()].map((row) => encodeRow(row, by, names)),
    ...[...others.values()].map((row) => ({ ...encodeRow(withoutValues(row, by), by, names), other: true as const })),
  ];
}

/** Two levels: each group of the first dimension with its highest values of the second one; highest first, others last. */
export function subgroupsOf(
  rows: readonly SumRow[],
  [first, second]: readonly [UseDimension, UseDimension],
  { kept, names, top = Number.POSITIVE_INFINITY, by }: GroupOptions & Partial<Rank> & Pick<Rank, 'by'>,
): UseRow[] {
  const isKept = (row: SumRow) => kept === undefined || kept.values.has(row[first]);
  const groups = Map.groupBy(rows.filter(isKept), (row) => row[first]);
  const order = kept ? [...kept.values].filter((value) => groups.has(value)) : [...groups.keys()];
  const found = order.flatMap((value) => secondLevel(groups.get(value) ?? []));
  const others = rows.filter((row) => !isKept(row)).map((row) => ({ ...row, [first]: null }));
  return [...found, ...secondLevel(others).map((row) => ({ ...row, other: true as const }))];

  function secondLevel(own: readonly SumRow[]): UseRow[] {
    const values = highestValues(own, second, { top, by });
    const sums = new Map<string, SumRow>();
    const rest = new Map<string, SumRow>();
    for (const row of own) {
      const isFirst = values.has(row[second]);
      add(isFirst ? sums : rest, isFirst ? [second] : [], row);
    }
    const byValue = new Map([...sums.values()].map((row): [unknown, SumRow] => [row[second], row]));
    const ranked = [...values].map((value) => byValue.get(value)).filter((row) => row !== undefined);
    const encode = (row: SumRow) => encodeRow(row, [first, second], names);
    return [
      ...ranked.map(encode),
      ...[...rest.values()].map((row) => ({ ...encode({ ...row, [second]: null }), other_subgroup: true as const })),
    ];
  }
}

/** Adds a row to the group of its values of the dimensions. */
function add(groups: Map<string, SumRow>, by: readonly UseDimension[], row: SumRow): void {
  let key = '';
  for (const name of by) {
    const value = row[name];
    key += value === null ? 'null\0' : `:${value}\0`;
  }
  const group = groups.get(key);
  if (!group) {
    groups.set(key, { ...row });
    return;
  }
  for (const name of COUNT_COLUMNS) group[name] = Number(group[name]) + Number(row[name]);
  group[UNPRICED_COLUMN] = Number(group[UNPRICED_COLUMN] ?? 0) + Number(row[UNPRICED_COLUMN] ?? 0);
  for (const name of MONEY_COLUMNS) group[name] = String(BigInt(String(group[name])) + BigInt(String(row[name])));
}

function withoutValues(row: SumRow, by: readonly UseDimension[]): SumRow {
  return { ...row, ...Object.fromEntries(by.filter((name) => !isTime(name)).map((name) => [name, null])) };
}

function encodeRow(row: SumRow, by: readonly UseDimension[], names: ReadonlyMap<string, string>): UseRow {
  const groups: Record<string, string | null> = {};
  for (const name of by) groups[name] = row[name] === null ? null : String(row[name]);
  if (by.includes('key')) groups.key_name = names.get(String(row.key)) ?? null;
  return { ...groups, ...countsOf(row) };
}
