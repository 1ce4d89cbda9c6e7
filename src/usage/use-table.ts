/** Reports of use as one table: rows with their figures, and beside these the figures of the period before. */

import type { UseCounts } from './report.ts';
import type { UseRow } from './use-groups.ts';
import { isTime, type UseDimension } from './use-query.ts';
import type { UseReport } from './use-report.ts';

type Cells = Record<string, string | number | boolean | null | undefined>;

export interface UseTable {
  columns: string[];
  rows: Cells[];
}

const BEFORE = 'before_';

/**
 * Rows of a report, those of the second level where it has one: their sum is that of the groups. Rows of a report that compares
 * have `before_<figure>` at the end, apart from those of the second level; a row that was there before only has figures of zero.
 */
export function tableOf(report: UseReport, figures: readonly (keyof UseCounts)[]): UseTable {
  const { by, subgroup, data, subgroups } = report;
  const isSecond = subgroup !== null && subgroups !== null;
  const dimensions = isSecond ? [...by.filter((name) => !isTime(name)), subgroup] : by;
  const earlier = isSecond ? undefined : report.before?.rows;
  const rows = cellsOf(isSecond ? subgroups : data);
  const all = earlier ? withBefore(rows, cellsOf(earlier), { dimensions, figures }) : rows;
  const names = dimensions.flatMap((name: UseDimension) => (name === 'key' ? ['key', 'key_name'] : [name]));
  const others = ['other', 'other_subgroup'].filter((name) => all.some((row) => row[name]));
  const columns = [...names, ...others, ...figures, ...(earlier ? figures.map((name) => BEFORE + name) : [])];
  return { columns, rows: all };
}

const cellsOf = (rows: readonly UseRow[]): Cells[] => rows.map((row) => ({ ...row }));

interface Joined {
  dimensions: readonly UseDimension[];
  figures: readonly (keyof UseCounts)[];
}

function withBefore(rows: readonly Cells[], earlier: readonly Cells[], { dimensions, figures }: Joined): Cells[] {
  const nameOf = (row: Cells) => JSON.stringify([...dimensions.map((name) => row[name]), row.other === true]);
  const left = new Map(earlier.map((row) => [nameOf(row), row]));
  const none: Cells = Object.fromEntries(figures.map((name) => [name, 0]));
  const marked = (row: Cells) => Object.fromEntries(figures.map((name) => [BEFORE + name, row[name]]));
  const joined = rows.map((row) => {
    const name = nameOf(row);
    const before = left.get(name) ?? none;
    left.delete(name);
    return { ...row, ...marked(before) };
  });
  return [...joined, ...[...left.values()].map((row) => ({ ...row, ...none, ...marked(row) }))];
}
