/** Reports of use: what is asked, and exact sums of their lines. */

import { keepPreviousData, queryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { ApiError, api, bodyOf } from './api.ts';
import type { Dimension, Metric, UseFilters } from './pages/use/search.ts';
import { commandWith, pathWith, type SameCall } from './parts/copy-as.tsx';
import { type Span, stepsOf, UTC, useSpan, withStep } from './spans.ts';
import { STEPS, type Step, type TimeSearch } from './times.ts';

export interface Sums {
  requests: number;
  failures: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  /** Requests that what follows is counted of. */
  assessed: number;
  /** Responses that broke off. */
  partial: number;
  estimated_tokens: number;
  /** USD, exact. */
  estimated_cost: string;
  /** Tokens of models without a price. */
  unpriced_tokens: number;
  /** USD, exact; null if it is unknown. */
  cost: string | null;
}

/** Begin of the dimensions of tags. */
export const TAG = 'tag:';

/** Filter for one group of a dimension. */
export function filterOf(dimension: Dimension, value: string): UseFilters {
  return dimension.startsWith(TAG) ? { tag: `${dimension.slice(TAG.length)}=${value}` } : { [dimension]: value };
}

export function wordsOf(dimension: Dimension): string {
  return dimension.startsWith(TAG) ? `tag ${dimension.slice(TAG.length)}` : dimension;
}

export interface UsageLine extends Sums {
  minute?: string;
  hour?: string;
  day?: string;
  week?: string;
  month?: string;
  /** Name of the key that a line is of. */
  key_name?: string | null;
  /** Stands for all that are not among the first. */
  other?: boolean;
  other_subgroup?: boolean;
  /** Null without a value: of a tag, or in records of versions that did not note it. */
  [dimension: string]: string | number | boolean | null | undefined;
}

export interface UsageReport {
  from: string;
  to: string;
  data: UsageLine[];
  /** By two dimensions, without times; null where they were not asked for. */
  subgroups: UsageLine[] | null;
  total: Sums;
  /** Models whose cost is not known, and not in the sums. */
  models_without_price: string[];
  /** Of the time before, as long as this one; null where it was not asked for. */
  before: { from: string; to: string; data: UsageLine[]; course: UsageLine[]; total: Sums } | null;
}

export function momentOf({ minute, hour, day, week, month }: UsageLine): string {
  return new Date(minute ?? hour ?? day ?? week ?? month ?? 0).toISOString();
}

/** Names of the keys that lines of a report are of, by hash. */
export function keyNamesOf({ data, subgroups, before }: UsageReport): Map<unknown, string | null | undefined> {
  const lines = [...data, ...(subgroups ?? []), ...(before?.data ?? [])];
  return new Map(lines.map(({ key, key_name }) => [key, key_name]));
}

interface Asked {
  span: Span;
  by: readonly string[];
  filters?: UseFilters;
  /** Second level. */
  subgroup?: Dimension | undefined;
  /** Groups, and subgroups of each, that are asked for; the others are one. */
  top: number;
  /** Figure by which they are the first. */
  topBy?: Metric;
  /** Whether the time before is asked for, too. */
  compare?: boolean;
}

function parametersOf({ span: { from, to, zone }, by, subgroup, top, topBy, compare }: Asked) {
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    by: by.join(','),
    top,
    ...(topBy && { top_by: topBy }),
    ...(subgroup && { subgroup }),
    ...(zone !== UTC && { zone }),
    ...(compare && { compare }),
  };
}

/** The same report in a terminal. The command has a filter for a key alone, and neither a second level nor a limit. */
export function sameReport(asked: Asked): SameCall {
  const { span, by, filters = {}, subgroup } = asked;
  const { key, ...others } = filters;
  const isWhole = subgroup === undefined && Object.values(others).every((value) => value === undefined);
  return {
    path: pathWith('/admin/v1/usage', { ...parametersOf(asked), ...filters }),
    command: commandWith('polygate usage', {
      '--by': by.join(','),
      '--from': span.from.toISOString(),
      '--to': span.to.toISOString(),
      '--zone': span.zone === UTC ? undefined : span.zone,
      '--key': key,
    }),
    note: isWhole
      ? 'The command shows every group.'
      : 'The command shows every group, without a second level, and filters by a key only.',
  };
}

/** The same report of the own key in a terminal. */
export function sameOwnReport(asked: Asked): SameCall {
  return { path: pathWith('/v1/self/usage', parametersOf(asked)) };
}

/** The most that the gateway gives one by one. */
const MAX_TOP = 1000;

/** Without times, but for minutes: by these, sums are exactly of the span. */
function groupsAlone({ by, ...asked }: Asked): Asked {
  return { ...asked, by: by.filter((name) => name === 'minute' || !(STEPS as readonly string[]).includes(name)) };
}

/** The question of a report, asked of its videos alone. */
export function videosIn({ compare: _compare, filters, ...asked }: Asked): Asked {
  return { ...groupsAlone(asked), filters: { ...filters, protocol: 'videos' }, top: MAX_TOP };
}

/** Address of the groups of a report as a file. */
export function fileOfGroups(asked: Asked): string {
  return pathWith('/admin/v1/usage', { ...parametersOf(groupsAlone(asked)), ...asked.filters, format: 'csv' });
}

/** Use of all keys, for operators. */
export function usageOfAll(asked: Asked) {
  const query = { ...parametersOf(asked), ...asked.filters };
  return queryOptions({
    queryKey: ['usage', 'all', query],
    queryFn: ({ signal }) => bodyOf<UsageReport>(api.GET('/admin/v1/usage', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });
}

/** Use of the key whose session this is. */
export function usageOfOwn(asked: Asked) {
  const query = { ...parametersOf(asked), ...asked.filters };
  return queryOptions({
    queryKey: ['usage', 'own', query],
    queryFn: ({ signal }) => bodyOf<UsageReport>(api.GET('/v1/self/usage', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });
}

/** Longest wait of a page for news, where its time goes on. */
const REFETCH_MS = 30_000;

/** Report of a time. By the minute the gateway adds up the records themselves, and refuses very many: then by the hour. */
export function useReport(
  { per, ...time }: TimeSearch & { per?: Step | undefined },
  queryOf: (span: Span) => ReturnType<typeof usageOfAll> | ReturnType<typeof usageOfOwn>,
): { span: Span; asked: UseQueryResult<UsageReport> } {
  const [refused, setRefused] = useState<string>();
  const name = `${time.range} ${time.from} ${time.to}`;
  const fine = useSpan(time);
  const coarse = useSpan(time, true);
  const usual = refused === name ? coarse : fine;
  const isOffered = per && stepsOf(usual).includes(per) && !(refused === name && per === 'minute');
  const span = isOffered ? withStep(usual, per) : usual;
  const asked = useQuery({ ...(queryOf(span) as ReturnType<typeof usageOfAll>), refetchInterval: REFETCH_MS });
  const { error } = asked;
  if (span.step === 'minute' && error instanceof ApiError && error.param === 'from') setRefused(name);
  return { span, asked };
}

/** The question that the answer in view is of: the one before, while the answer to the next is on its way. */
export function useAnswered<Question>(question: Question, isNextOnItsWay: boolean): Question {
  const answered = useRef(question);
  if (!isNextOnItsWay) answered.current = question;
  return answered.current;
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

/** To the last digit; null where none is known but zero, and some are not. */
export function sumOfMoney(costs: readonly (string | null)[]): string | null {
  const sum = costs.reduce((total, cost) => total + unitsOf(cost ?? '0'), 0n);
  return sum === 0n && costs.includes(null) ? null : decimalOf(sum);
}

/** To the last digit. */
export function sumOf(lines: readonly Sums[]): Sums {
  const count = (name: Exclude<keyof Sums, 'cost' | 'estimated_cost'>) =>
    lines.reduce((sum, line) => sum + line[name], 0);
  return {
    requests: count('requests'),
    failures: count('failures'),
    input_tokens: count('input_tokens'),
    output_tokens: count('output_tokens'),
    cached_tokens: count('cached_tokens'),
    cache_write_tokens: count('cache_write_tokens'),
    reasoning_tokens: count('reasoning_tokens'),
    assessed: count('assessed'),
    partial: count('partial'),
    estimated_tokens: count('estimated_tokens'),
    estimated_cost: decimalOf(lines.reduce((sum, line) => sum + unitsOf(line.estimated_cost), 0n)),
    unpriced_tokens: count('unpriced_tokens'),
    cost: sumOfMoney(lines.map(({ cost }) => cost)),
  };
}
