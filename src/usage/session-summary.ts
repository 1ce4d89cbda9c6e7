/** Requests grouped by conversation: one line for each session of a coding agent, from records of a span, the newest first. */

import { isFailure } from '../store/usage-row.ts';
import { knownCostOf, type UseContext } from './report.ts';
import type { RequestPage } from './request-search.ts';
import { estimateOf, sumIfKnown } from './request-summary.ts';

type Row = RequestPage['rows'][number];

interface Counts {
  requests: number;
  failures: number;
  /** Responses that broke off after their first byte. */
  partial: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** Tool results that say that the tool failed; null if no request's protocol marks them. */
  tool_failures: number | null;
  /** Requests whose cost is not known, and not in `cost`. */
  unknown_costs: number;
  /** Tokens whose counts are estimates, and their cost in 1e-12 USD. */
  estimated_tokens: number;
  estimated_cost: bigint;
  /** Unix milliseconds. */
  firstAt: number;
  lastAt: number;
}

export interface SessionSummary extends Counts {
  session: string;
  /** Ids of the keys that took part. */
  keyIds: string[];
  models: string[];
  /** In 1e-12 USD; undefined if no cost is known. */
  cost: bigint | undefined;
}

interface SessionContext {
  /** Name of a record's conversation; those without one are left out. */
  sessionOf(row: Row): string | null;
  hasPrice: UseContext['hasPrice'];
}

/** Sums of conversations that grow with each page of records. */
export interface SessionSums {
  add(rows: readonly Row[]): void;
  /** Takes out conversations until at most so many names are kept, first those to which nothing was added for longest. */
  take(most: number): SessionSummary[];
}

interface OpenSums extends Counts {
  keyIds: Set<string>;
  models: Set<string>;
  /** In 1e-12 USD. */
  knownCost: bigint;
}

/** The one that ended last first. */
export function groupBySession(rows: readonly Row[], context: SessionContext): SessionSummary[] {
  const sums = createSessionSums(context);
  sums.add(rows);
  return sums.take(0);
}

export function createSessionSums({ sessionOf, hasPrice }: SessionContext): SessionSums {
  /** The one whose request was added last is last. */
  const open = new Map<string, OpenSums>();
  /** Names of conversations, and of the keys and models of each. */
  let names = 0;

  function addTo(sums: OpenSums, row: Row): void {
    const endedAt = Number(row.ended_at);
    const cost = knownCostOf(row, hasPrice);
    names -= namesOf(sums);
    sums.keyIds.add(String(row.key_id));
    sums.models.add(`${row.endpoint_provider}/${row.endpoint_model}`);
    names += namesOf(sums);
    sums.requests += 1;
    if (isFailure(row.status)) sums.failures += 1;
    if (row.status === 'partial') sums.partial += 1;
    sums.input_tokens += Number(row.input_tokens);
    sums.output_tokens += Number(row.output_tokens);
    sums.cached_tokens += Number(row.cached_tokens);
    sums.tool_failures = withToolFailures(sums.tool_failures, row);
    if (cost === undefined) sums.unknown_costs += 1;
    else sums.knownCost += cost;
    const estimate = estimateOf(row);
    sums.estimated_tokens += estimate.tokens;
    sums.estimated_cost += estimate.cost;
    sums.firstAt = Math.min(sums.firstAt, endedAt);
    sums.lastAt = Math.max(sums.lastAt, endedAt);
  }

  return {
    add(rows) {
      for (const row of rows) {
        const session = sessionOf(row);
        if (session === null) continue;
        const sums = open.get(session) ?? emptySums(Number(row.ended_at));
        open.delete(session);
        open.set(session, sums);
        addTo(sums, row);
      }
    },
    take(most) {
      const taken: SessionSummary[] = [];
      for (const [session, sums] of open) {
        if (names <= most) break;
        open.delete(session);
        names -= namesOf(sums);
        taken.push(summaryOf(session, sums));
      }
      return taken.toSorted((one, other) => other.lastAt - one.lastAt);
    },
  };
}

function namesOf({ keyIds, models }: OpenSums): number {
  return keyIds.size === 0 ? 0 : 1 + keyIds.size + models.size;
}

function summaryOf(session: string, { keyIds, models, knownCost, ...counts }: OpenSums): SessionSummary {
  const cost = sumIfKnown(knownCost, counts.unknown_costs);
  return { session, keyIds: [...keyIds], models: [...models], ...counts, cost };
}

/** Results in a request without an answer come again in the next one. */
function withToolFailures(sum: number | null, { tool_failures: count, status }: Row): number | null {
  if (count == null) return sum;
  return (sum ?? 0) + (status === 'failed' || status === 'interrupted' ? 0 : Number(count));
}

function emptySums(at: number): OpenSums {
  return {
    keyIds: new Set(),
    models: new Set(),
    requests: 0,
    failures: 0,
    partial: 0,
    input_tokens: 0,
    output_tokens: 0,
    cached_tokens: 0,
    tool_failures: null,
    knownCost: 0n,
    unknown_costs: 0,
    estimated_tokens: 0,
    estimated_cost: 0n,
    firstAt: at,
    lastAt: at,
  };
}
