/** Requests grouped by conversation: one line for each session of a coding agent, from the newest records of a span. */

import { isFailure } from '../store/usage-row.ts';
import { knownCostOf, type UseContext } from './report.ts';
import type { RequestPage } from './request-search.ts';
import { sumOfCosts } from './request-summary.ts';

type Row = RequestPage['rows'][number];

export interface SessionSummary {
  session: string;
  /** Ids of the keys that took part. */
  keyIds: string[];
  models: string[];
  requests: number;
  failures: number;
  /** Responses that broke off after their first byte. */
  partial: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** Tool results that say that the tool failed; null if no request's protocol marks them. */
  tool_failures: number | null;
  /** In 1e-12 USD; undefined if that of none is known. */
  cost: bigint | undefined;
  /** Requests whose cost is not known, and not in `cost`. */
  unknown_costs: number;
  /** Unix milliseconds. */
  firstAt: number;
  lastAt: number;
}

interface SessionContext {
  /** Name of a record's conversation; those without one are left out. */
  sessionOf(row: Row): string | null;
  hasPrice: UseContext['hasPrice'];
}

/** The one that ended last first. */
export function groupBySession(rows: readonly Row[], { sessionOf, hasPrice }: SessionContext): SessionSummary[] {
  const groups = Map.groupBy(rows, sessionOf);
  groups.delete(null);
  return [...groups]
    .map(([session, own]) => summaryOf(String(session), own, hasPrice))
    .toSorted((one, other) => other.lastAt - one.lastAt);
}

function summaryOf(session: string, rows: readonly Row[], hasPrice: UseContext['hasPrice']): SessionSummary {
  const known = emptySession(session, Number(rows[0]?.ended_at));
  for (const row of rows) {
    const endedAt = Number(row.ended_at);
    addOnce(known.keyIds, String(row.key_id));
    addOnce(known.models, `${row.endpoint_provider}/${row.endpoint_model}`);
    known.requests += 1;
    if (isFailure(row.status)) known.failures += 1;
    if (row.status === 'partial') known.partial += 1;
    known.input_tokens += Number(row.input_tokens);
    known.output_tokens += Number(row.output_tokens);
    known.cached_tokens += Number(row.cached_tokens);
    known.tool_failures = withToolFailures(known.tool_failures, row);
    known.firstAt = Math.min(known.firstAt, endedAt);
    known.lastAt = Math.max(known.lastAt, endedAt);
  }
  return { ...known, ...sumOfCosts(rows.map((row) => knownCostOf(row, hasPrice))) };
}

/** Results in a request without an answer come again in the next one. */
function withToolFailures(sum: number | null, { tool_failures: count, status }: Row): number | null {
  if (count == null) return sum;
  return (sum ?? 0) + (status === 'failed' || status === 'interrupted' ? 0 : Number(count));
}

const NO_SUMS = {
  requests: 0,
  failures: 0,
  partial: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  tool_failures: null,
  cost: undefined,
  unknown_costs: 0,
};

function emptySession(session: string, at: number): SessionSummary {
  return { ...NO_SUMS, session, keyIds: [], models: [], firstAt: at, lastAt: at };
}

function addOnce(list: string[], value: string): void {
  if (!list.includes(value)) list.push(value);
}
