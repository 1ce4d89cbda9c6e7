/** Lines of a report as groups of a dimension, largest first, with the course of each. */

import type { Bucket } from '../../parts/chart/bars.tsx';
import { OTHER } from '../../parts/chart/colors.ts';
import { momentOf, type Sums, sumOf, type UsageLine } from '../../usage.ts';
import type { Dimension } from './search.ts';

export const METRICS = ['cost', 'requests', 'tokens', 'failures'] as const;
export type Metric = (typeof METRICS)[number];

export interface Group extends Sums {
  id: string;
  /** The metric at each moment. */
  course: number[];
}

/** Group of what has no value of the dimension. */
export const NONE = '';

/** More groups than colours are shown as one. */
const SHOWN = 7;

export function figureOf(sums: Sums, metric: Metric): number {
  if (metric === 'cost') return Number(sums.cost);
  return metric === 'tokens' ? sums.input_tokens + sums.output_tokens : sums[metric];
}

export function groupsOf(
  lines: readonly UsageLine[],
  { by, metric, moments }: { by: Dimension; metric: Metric; moments: readonly string[] },
): Group[] {
  const groups = Map.groupBy(lines, (line) => String(line[by] ?? NONE));
  return [...groups]
    .map(([id, own]) => {
      const values = new Map<string, number>();
      for (const line of own) {
        const at = momentOf(line);
        values.set(at, (values.get(at) ?? 0) + figureOf(line, metric));
      }
      return { id, ...sumOf(own), course: moments.map((at) => values.get(at) ?? 0) };
    })
    .toSorted((one, other) => figureOf(other, metric) - figureOf(one, metric) || other.requests - one.requests);
}

export function bucketsOf(groups: readonly Group[], moments: readonly string[]): { buckets: Bucket[]; ids: string[] } {
  const shown = groups.length > SHOWN + 1 ? groups.slice(0, SHOWN) : groups;
  const rest = groups.slice(shown.length);
  const buckets = moments.map((at, index) => {
    const values: Record<string, number> = {};
    for (const { id, course } of shown) values[id] = course[index] ?? 0;
    if (rest.length > 0) values[OTHER] = rest.reduce((sum, { course }) => sum + (course[index] ?? 0), 0);
    return { at, values };
  });
  return { buckets, ids: [...shown.map(({ id }) => id), ...(rest.length > 0 ? [OTHER] : [])] };
}
