/** View of `polygate top`: requests of the last minutes, and sums over them. */

import { decimalOf } from '../../core/money.ts';
import { decodeStoredTrace, type StoredAttempt } from '../../routing/stored-trace.ts';
import type { RequestFilter } from '../../store/operations/requests.ts';
import { type OpenRequest, openRequests } from '../../usage/open-requests.ts';
import { type RequestPage, type SearchOptions, searchRequests } from '../../usage/request-search.ts';
import { type Percentiles, summarize } from '../../usage/request-summary.ts';

export interface TopRequest {
  id: string;
  /** Unix milliseconds of the end, or of the start while it runs. */
  time: number;
  key: string;
  requested: string;
  model: string;
  protocols: string;
  state: string;
  /** Input and output. */
  tokens: string;
  /** In 1e-12 USD. */
  cost: bigint;
  firstByte: number | null;
  total: number | null;
  dropped: string[];
  /** Results of tools that say that the tool failed. */
  toolFailures: number;
  /** Undefined if its trace is not kept. */
  attempts: StoredAttempt[] | undefined;
}

export interface TopEndpoint {
  endpoint: string;
  requests: number;
  failed: number;
  /** Median milliseconds. */
  firstByte: number | null;
  total: number | null;
}

export interface TopView {
  running: number;
  perMinute: number;
  /** USD. */
  hourlyCost: string;
  failedShare: number;
  /** Responses that broke off, and requests whose gateway died. */
  partial: number;
  interrupted: number;
  firstByte: Percentiles;
  total: Percentiles;
  /** Those with the most requests first. */
  endpoints: TopEndpoint[];
  /** Running ones first, then the latest. */
  requests: TopRequest[];
}

type Row = RequestPage['rows'][number];
type Names = ReadonlyMap<string, string>;

const SPAN_MS = 5 * 60_000;
const SPANS_PER_HOUR = 12n;
const SPAN_MINUTES = SPAN_MS / 60_000;
const MAX_REQUESTS = 2000;
const MAX_RUNNING = 200;

export async function lookAtTop(
  options: SearchOptions,
  { filter, names }: { filter: RequestFilter; names: Names },
): Promise<TopView> {
  const now = options.clock.now();
  const search = { filter, from: now - SPAN_MS, to: now + 1, limit: MAX_REQUESTS };
  const [{ rows }, open] = await Promise.all([
    searchRequests(search, options),
    openRequests({ ...options, recorder: undefined }, { keyId: filter.keyId, limit: MAX_RUNNING }),
  ]);
  const running = open.filter((row) => filter.model === undefined || filter.model === modelOf(row as Row));
  const { requests, failures, partial, interrupted, cost, first_byte_ms: firstByte, total_ms: total } = summarize(rows);
  return {
    running: running.length,
    perMinute: requests / SPAN_MINUTES,
    hourlyCost: decimalOf(cost * SPANS_PER_HOUR),
    failedShare: requests === 0 ? 0 : failures / requests,
    partial,
    interrupted,
    firstByte,
    total,
    endpoints: endpointsOf(rows),
    requests: [
      ...running.map((row) => runningRequest(row, names, now)),
      ...rows.map((row) => endedRequest(row, names)),
    ],
  };
}

function endpointsOf(rows: readonly Row[]): TopEndpoint[] {
  const groups = Map.groupBy(rows, modelOf);
  return [...groups]
    .map(([endpoint, own]) => {
      const { requests, failures: failed, first_byte_ms: firstByte, total_ms: total } = summarize(own);
      return { endpoint, requests, failed, firstByte: firstByte.p50, total: total.p50 };
    })
    .sort((one, other) => other.requests - one.requests);
}

function endedRequest(row: Row, names: Names): TopRequest {
  const trace = decodeStoredTrace(row.trace as string | null);
  return {
    ...identity(row, names),
    time: Number(row.ended_at),
    state: row.error_code === null ? String(row.status) : `${row.status}: ${row.error_code}`,
    tokens: `${row.input_tokens}/${row.output_tokens}`,
    cost: BigInt(String(row.cost)),
    firstByte: row.first_byte_ms === null ? null : Number(row.first_byte_ms),
    total: Number(row.total_ms),
    dropped: trace?.dropped ?? [],
    toolFailures: Number(row.tool_failures ?? 0),
    attempts: trace?.attempts,
  };
}

function runningRequest(row: OpenRequest, names: Names, now: number): TopRequest {
  const time = Number(row.started_at);
  const unknown = { tokens: '-', cost: 0n, firstByte: null, dropped: [], toolFailures: 0, attempts: undefined };
  return { ...identity(row as Row, names), time, state: 'running', total: now - time, ...unknown };
}

function identity(row: Row, names: Names) {
  return {
    id: String(row.id),
    key: names.get(String(row.key_id)) ?? String(row.key_id),
    requested: String(row.model),
    model: modelOf(row),
    protocols: `${row.protocol_in} to ${row.protocol_out}`,
  };
}

function modelOf(row: Row): string {
  return `${row.endpoint_provider}/${row.endpoint_model}`;
}
