/** Summary of recent requests: rates, failures, cost and percentiles of times, from the newest records of a span. */

import { isFailure } from '../store/usage-row.ts';
import { knownCostOf, type UseContext } from './report.ts';
import type { RequestPage } from './request-search.ts';

export interface Percentiles {
  p50: number | null;
  p95: number | null;
}

export interface RequestSummary {
  requests: number;
  failures: number;
  /** Responses that broke off after their first byte. */
  partial: number;
  /** Requests whose gateway died. */
  interrupted: number;
  input_tokens: number;
  output_tokens: number;
  /** In 1e-12 USD; undefined if that of none is known. */
  cost: bigint | undefined;
  /** Requests whose cost is not known, and not in `cost`. */
  unknown_costs: number;
  first_byte_ms: Percentiles;
  total_ms: Percentiles;
}

type Row = RequestPage['rows'][number];

export function summarize(rows: readonly Row[], hasPrice: UseContext['hasPrice']): RequestSummary {
  const sum = (name: string) => rows.reduce((total, row) => total + Number(row[name]), 0);
  const times = (name: string) => percentiles(rows.flatMap((row) => (row[name] === null ? [] : [Number(row[name])])));
  return {
    requests: rows.length,
    failures: rows.filter(({ status }) => isFailure(status)).length,
    partial: rows.filter(({ status }) => status === 'partial').length,
    interrupted: rows.filter(({ status }) => status === 'interrupted').length,
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    ...sumOfCosts(rows.map((row) => knownCostOf(row, hasPrice))),
    first_byte_ms: times('first_byte_ms'),
    total_ms: times('total_ms'),
  };
}

/** The sum is not known where no cost but zero is, and some are not. */
export function sumOfCosts(costs: readonly (bigint | undefined)[]): Pick<RequestSummary, 'cost' | 'unknown_costs'> {
  const known = costs.filter((cost) => cost !== undefined);
  const sum = known.reduce((total, cost) => total + cost, 0n);
  const unknown = costs.length - known.length;
  return { cost: unknown > 0 && sum === 0n ? undefined : sum, unknown_costs: unknown };
}

/** By nearest rank. */
function percentiles(values: number[]): Percentiles {
  const sorted = values.sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
  return { p50: at(0.5), p95: at(0.95) };
}
