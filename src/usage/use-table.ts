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

const DAY_MS = 24 * 3_600_000;
const BEFORE = 'before_';

/**
 * Rows of a report, those of the second level where it has one: their sum is that of the groups. A report that compares has
 * `before_<figure>` at the end where its rows are by a time alone or by none: those of the period before with the same groups, or
 * of the moment as long before; a row that was there before only has figures of zero. Rows of a time and a group, of months, and
 * of the second level have no such columns.
 */
export function tableOf(report: UseReport, figures: readonly (keyof UseCounts)[]): UseTable {
  const { by, subgroup, data, subgroups } = report;
  const isSecond = subgroup !== null && subgroups !== null;
  const dimensions = isSecond ? [...by.filter((name) => !isTime(name)), subgroup] : by;
  const earlier = isSecond ? undefined : rowsBefore(report);
  const rows = cellsOf(isSecond ? subgroups : data);
  const all = earlier ? withBefore(rows, cellsOf(earlier), { dimensions, figures }) : rows;
  const names = dimensions.flatMap((name: UseDimension) => (name === 'key' ? ['key', 'key_name'] : [name]));
  const others = ['other', 'other_subgroup'].filter((name) => all.some((row) => row[name]));
  const columns = [...names, ...others, ...figures, ...(earlier ? figures.map((name) => BEFORE + name) : [])];
  return { columns, rows: all };
}

const cellsOf = (rows: readonly UseRow[]): Cells[] => rows.map((row) => ({ ...row }));

/** By the dimensions of the report, at the moments that these rows stand beside; undefined without such ones. */
function rowsBefore({ by, before, from, to }: UseReport): UseRow[] | undefined {
  if (!before) return undefined;
  const time = by.find(isTime);
  if (time === undefined) return before.data;
  if (by.length > 1 || time === 'month') return undefined;
  const length = Date.parse(to) - Date.parse(from);
  const days = Math.round(length / DAY_MS);
  if (time === 'week' && days % 7 !== 0) return undefined;
  return before.course.map((row) => ({ ...row, [time]: later(String(row[time]), length, days) }));
}

/** Dates are those of a zone, whose days need not be of the same length. */
function later(moment: string, ms: number, days: number): string {
  const at = new Date(moment);
  if (moment.includes('T')) return new Date(at.getTime() + ms).toISOString();
  at.setUTCDate(at.getUTCDate() + days);
  return at.toISOString().slice(0, moment.length);
}

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
