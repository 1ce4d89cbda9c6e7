/** Lines of a report as groups of a dimension, largest first and the others last, with the course of each. */

import { OTHER } from '../../parts/chart/colors.ts';
import type { Bucket } from '../../parts/chart/props.ts';
import { momentsOf, type Span } from '../../spans.ts';
import { momentOf, type Sums, sumOf, type UsageLine, type UsageReport } from '../../usage.ts';
import type { Dimension, Metric } from './search.ts';

export interface Subgroup extends Sums {
  id: string;
}

export interface Group extends Sums {
  id: string;
  /** The metric at each moment. */
  course: number[];
  /** The metric in the period before; undefined without comparison. */
  before: number | undefined;
  /** Second level; empty without one. */
  subgroups: Subgroup[];
}

/** Group of what has no value of the dimension. */
export const NONE = '';

/** As many as there are colours; more are shown as one. */
const SHOWN = 8;

export function figureOf(sums: Sums, metric: Metric): number {
  if (metric === 'cost') return Number(sums.cost ?? 0);
  return metric === 'tokens' ? sums.input_tokens + sums.output_tokens : sums[metric];
}

interface Grouping {
  by: Dimension;
  second: Dimension | undefined;
  metric: Metric;
  moments: readonly string[];
}

export function groupsOf(report: UsageReport, { by, second, metric, moments }: Grouping): Group[] {
  const idOfLine = (line: UsageLine) => idOf(line, by);
  const subgroups = Map.groupBy(report.subgroups ?? [], idOfLine);
  const before = new Map(report.before?.data.map((line) => [idOfLine(line), figureOf(line, metric)]));
  return [...Map.groupBy(report.data, idOfLine)]
    .map(([id, own]) => ({
      id,
      ...sumOf(own),
      course: courseOf(own, metric, moments),
      before: report.before ? (before.get(id) ?? 0) : undefined,
      subgroups: (subgroups.get(id) ?? []).map((line) => ({
        ...sumOf([line]),
        id: line.other_subgroup ? OTHER : String(line[second ?? by] ?? NONE),
      })),
    }))
    .toSorted(
      (one, other) =>
        Number(one.id === OTHER) - Number(other.id === OTHER) ||
        figureOf(other, metric) - figureOf(one, metric) ||
        other.requests - one.requests,
    );
}

function courseOf(lines: readonly UsageLine[], metric: Metric, moments: readonly string[]): number[] {
  const values = new Map<string, number>();
  for (const line of lines) {
    const at = momentOf(line);
    values.set(at, (values.get(at) ?? 0) + figureOf(line, metric));
  }
  return moments.map((at) => values.get(at) ?? 0);
}

/** The course of the period before, moment by moment; undefined where it has not as many, or nothing. */
export function courseBefore({ before }: UsageReport, span: Span, metric: Metric): number[] | undefined {
  if (!before) return undefined;
  const moments = momentsOf({ ...span, from: new Date(before.from), to: new Date(before.to) });
  if (moments.length !== momentsOf(span).length) return undefined;
  const course = courseOf(before.course, metric, moments);
  return course.some((value) => value > 0) ? course : undefined;
}

export function runningSums(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value) => (sum += value));
}

export function bucketsOf(
  groups: readonly Group[],
  moments: readonly string[],
  isCumulative: boolean,
): { buckets: Bucket[]; ids: string[] } {
  const named = groups.filter(({ id }) => id !== OTHER);
  const shown = named.slice(0, SHOWN);
  const rest = groups.filter((group) => !shown.includes(group));
  const courses = new Map(shown.map(({ id, course }) => [id, course]));
  if (rest.length > 0)
    courses.set(
      OTHER,
      moments.map((_, index) => rest.reduce((sum, { course }) => sum + (course[index] ?? 0), 0)),
    );
  if (isCumulative) for (const [id, course] of courses) courses.set(id, runningSums(course));
  const buckets = moments.map((at, index) => ({
    at,
    values: Object.fromEntries([...courses].map(([id, course]) => [id, course[index] ?? 0])),
  }));
  return { buckets, ids: [...courses.keys()] };
}

function idOf(line: UsageLine, by: Dimension): string {
  return line.other ? OTHER : String(line[by] ?? NONE);
}
