/** Reports of use: what is asked, and exact sums of their lines. */

import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from './api.ts';

export const RANGES = ['1h', '24h', '7d', '30d'] as const;
export type Range = (typeof RANGES)[number];

export interface Sums {
  requests: number;
  failures: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  /** USD, exact. */
  cost: string;
}

export const PLAIN_DIMENSIONS = ['key', 'model', 'provider', 'protocol', 'status'] as const;
/** Dimensions of tags are named `tag:<name>`. */
export type Dimension = (typeof PLAIN_DIMENSIONS)[number] | `tag:${string}`;

/** Only use with these values; a tag is `name=value`. */
export interface UseFilters {
  key?: string | undefined;
  model?: string | undefined;
  provider?: string | undefined;
  protocol?: string | undefined;
  status?: string | undefined;
  tag?: string | undefined;
}

const TAG = 'tag:';

export function dimensionOf(text: unknown): Dimension | undefined {
  if (typeof text !== 'string') return undefined;
  if (/^tag:[a-z][a-z0-9_-]*$/.test(text)) return text as Dimension;
  return PLAIN_DIMENSIONS.find((name) => name === text);
}

/** Filter for one group of a dimension. */
export function filterOf(dimension: Dimension, value: string): UseFilters {
  return dimension.startsWith(TAG) ? { tag: `${dimension.slice(TAG.length)}=${value}` } : { [dimension]: value };
}

export function wordsOf(dimension: Dimension): string {
  return dimension.startsWith(TAG) ? `tag ${dimension.slice(TAG.length)}` : dimension;
}

export interface UsageLine extends Sums {
  day?: string;
  hour?: string;
  /** Null without a value: of a tag, or in records of versions that did not note it. */
  [dimension: string]: string | number | null | undefined;
}

export interface UsageReport {
  from: string;
  to: string;
  data: UsageLine[];
  total: Sums;
}

export const HOUR_MS = 3_600_000;
const HOURS: Record<Range, number> = { '1h': 1, '24h': 24, '7d': 7 * 24, '30d': 30 * 24 };

export interface Span {
  from: Date;
  to: Date;
  step: 'hour' | 'day';
}

/** Whole hours or days, the last one of which is now. */
export function spanOf(range: Range, now: number): Span {
  const step = HOURS[range] <= 24 ? 'hour' : 'day';
  const stepMs = step === 'hour' ? HOUR_MS : 24 * HOUR_MS;
  const to = (Math.floor(now / stepMs) + 1) * stepMs;
  return { from: new Date(to - HOURS[range] * HOUR_MS - (range === '1h' ? HOUR_MS : 0)), to: new Date(to), step };
}

/** As long as a span, and right before it. */
export function spanBefore({ from, to, step }: Span): Span {
  return { from: new Date(2 * from.getTime() - to.getTime()), to: from, step };
}

export function momentsOf({ from, to, step }: Span): string[] {
  const stepMs = step === 'hour' ? HOUR_MS : 24 * HOUR_MS;
  const count = Math.round((to.getTime() - from.getTime()) / stepMs);
  return Array.from({ length: count }, (_, index) => new Date(from.getTime() + index * stepMs).toISOString());
}

export function momentOf({ hour, day }: UsageLine): string {
  return new Date(hour ?? day ?? 0).toISOString();
}

interface Asked {
  span: Span;
  by: readonly string[];
  filters?: UseFilters;
}

function parametersOf({ span, by }: Asked) {
  return { from: span.from.toISOString(), to: span.to.toISOString(), by: by.join(',') };
}

/** Use of all keys, for operators. */
export function usageOfAll(asked: Asked) {
  const query = { ...parametersOf(asked), ...asked.filters };
  return queryOptions({
    queryKey: ['usage', 'all', query],
    queryFn: () => bodyOf<UsageReport>(api.GET('/admin/v1/usage', { params: { query } })),
    placeholderData: keepPreviousData,
  });
}

/** Use of the key whose session this is. */
export function usageOfOwn(asked: Asked) {
  const query = parametersOf(asked);
  return queryOptions({
    queryKey: ['usage', 'own', query],
    // The description names one dimension; the gateway takes a list.
    queryFn: () => bodyOf<UsageReport>(api.GET('/v1/usage', { params: { query: query as { by: 'day' } } })),
    placeholderData: keepPreviousData,
  });
}

/** Digits behind the point that sums keep. */
const SCALE = 18;

function unitsOf(decimal: string): bigint {
  const [whole = '0', digits = ''] = decimal.split('.');
  return BigInt(whole + digits.padEnd(SCALE, '0').slice(0, SCALE));
}

function decimalOf(units: bigint): string {
  const text = units.toString().padStart(SCALE + 1, '0');
  const digits = text.slice(-SCALE).replace(/0+$/, '');
  return text.slice(0, -SCALE) + (digits === '' ? '' : `.${digits}`);
}

/** To the last digit. */
export function sumOf(lines: readonly Sums[]): Sums {
  const count = (name: Exclude<keyof Sums, 'cost'>) => lines.reduce((sum, line) => sum + line[name], 0);
  return {
    requests: count('requests'),
    failures: count('failures'),
    input_tokens: count('input_tokens'),
    output_tokens: count('output_tokens'),
    cached_tokens: count('cached_tokens'),
    cache_write_tokens: count('cache_write_tokens'),
    reasoning_tokens: count('reasoning_tokens'),
    cost: decimalOf(lines.reduce((sum, { cost }) => sum + unitsOf(cost), 0n)),
  };
}
