/** Grouping and filters of the page of use, as its address has them. */

import { STEPS, type Step } from '../../times.ts';

export const PLAIN_DIMENSIONS = ['key', 'model', 'provider', 'protocol', 'status'] as const;
/** Dimensions of tags are named `tag:<name>`. */
export type Dimension = (typeof PLAIN_DIMENSIONS)[number] | `tag:${string}`;

export const METRICS = ['cost', 'requests', 'tokens', 'failures'] as const;
export type Metric = (typeof METRICS)[number];
/** Groups that are shown one by one. */
export const TOPS = ['5', '8', '20'] as const;
export type Top = (typeof TOPS)[number];

/** Forms in which the page shows what it groups. */
export interface UseView {
  by?: Dimension | undefined;
  /** Second level. */
  second?: Dimension | undefined;
  metric?: Metric | undefined;
  top?: Top | undefined;
  per?: Step | undefined;
  cumulative?: true | undefined;
  /** Absent means yes. */
  compare?: false | undefined;
}

/** Only use with these values; a tag is `name=value`. */
export interface UseFilters {
  key?: string | undefined;
  model?: string | undefined;
  provider?: string | undefined;
  protocol?: string | undefined;
  status?: string | undefined;
  tag?: string | undefined;
}

export function viewOf(search: Record<string, unknown>): UseView {
  return {
    by: dimensionOf(search.by),
    second: dimensionOf(search.second),
    metric: METRICS.find((one) => one === search.metric),
    top: TOPS.find((one) => one === String(search.top)),
    per: STEPS.find((one) => one === search.per),
    cumulative: String(search.cumulative) === 'true' || undefined,
    compare: String(search.compare) === 'false' ? false : undefined,
  };
}

function dimensionOf(text: unknown): Dimension | undefined {
  if (typeof text !== 'string') return undefined;
  if (/^tag:[a-z][a-z0-9_-]*$/.test(text)) return text as Dimension;
  return PLAIN_DIMENSIONS.find((name) => name === text);
}

/** Undefined where the two contradict each other: no request is of both. */
export function both<Filters extends object>(filters: Filters, more: Filters): Filters | undefined {
  const isContrary = Object.entries(more).some(([name, value]) => {
    const given = filters[name as keyof Filters];
    return given !== undefined && given !== value;
  });
  return isContrary ? undefined : { ...filters, ...more };
}
