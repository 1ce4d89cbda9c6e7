/** View of `polygate top`: requests of the last minutes, and sums over them. */

import { decimalOf } from '../../core/money.ts';
import { decodeStoredTrace, type StoredAttempt } from '../../routing/stored-trace.ts';
import type { RequestFilter } from '../../store/operations/requests.ts';
import { countOpenRequests, intentFilterOf, type OpenRequest, openRequests } from '../../usage/open-requests.ts';
import { knownCostOf } from '../../usage/report.ts';
import { type RequestPage, type SearchOptions, searchRequests } from '../../usage/request-search.ts';
import { summarizeRecords } from '../../usage/request-summary.ts';
import type { Percentiles } from '../../usage/time-percentiles.ts';

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
  /** USD, or null if it is not known. */
  cost: string | null;
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
  /** Milliseconds that are left of its cooldown, as the latest attempts tell; null if it is in none. */
  cooldown: number | null;
}

export interface TopView {
  /** Milliseconds that the figures are of: five minutes, or less where more requests ended than are read. */
  span: number;
  running: number;
  perMinute: number;
  /** USD, or null if that of no request is known. */
  hourlyCost: string | null;
  /** Requests whose cost is not known. */
  unknownCosts: number;
  failedShare: number;
  /** Responses that broke off, and requests whose gateway died. */
  partial: number;
  interrupted: number;
  firstByte: Percentiles;
  total: Percentiles;
  /** Endpoints in cooldown first, then by number of requests. */
  endpoints: TopEndpoint[];
  /** Running ones first, then the latest. */
  requests: TopRequest[];
}

type Row = RequestPage['rows'][number];

/** Facts that records leave out. */
export interface TopContext {
  /** Names of keys by id. */
  names: ReadonlyMap<string, string>;
  /** Whether a model, `<provider>/<model id>`, has a price. */
  hasPrice(model: string): boolean;
}

/** State of a request that has not ended. */
export const RUNNING = 'running';

const SPAN_MS = 5 * 60_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000n;
const MAX_REQUESTS = 2000;
/** Running requests that are listed. */
const MAX_RUNNING = 200;

export async function lookAtTop(
  options: SearchOptions,
  { filter, ...context }: { filter: RequestFilter } & TopContext,
): Promise<TopView> {
  const now = options.clock.now();
  const search = { filter, from: now - SPAN_MS, to: now + 1, limit: MAX_REQUESTS };
  const sources = { store: options.store, recorder: undefined };
  const { filter: ofOpen } = intentFilterOf(filter);
  const [{ rows, next }, open, running] = await Promise.all([
    searchRequests(search, options),
    openRequests(sources, { filter: ofOpen, limit: MAX_RUNNING }),
    countOpenRequests(sources, ofOpen),
  ]);
  const sums = summarizeRecords(rows, context.hasPrice);
  const oldest = next === undefined ? undefined : rows.at(-1);
  const span = oldest ? Math.max(1, now - Number(oldest.ended_at)) : SPAN_MS;
  const { requests, failures, partial, interrupted, first_byte_ms: firstByte, total_ms: total } = sums;
  const ended = rows.map((row) => endedRequest(row, context));
  return {
    span,
    running,
    perMinute: (requests * MINUTE_MS) / span,
    hourlyCost: sums.cost === undefined ? null : decimalOf((sums.cost * HOUR_MS) / BigInt(span)),
    unknownCosts: sums.unknown_costs,
    failedShare: requests === 0 ? 0 : failures / requests,
    partial,
    interrupted,
    firstByte,
    total,
    endpoints: endpointsOf(rows, cooldownsOf(ended, now), context),
    requests: [...open.map((row) => runningRequest(row, context, now)), ...ended],
  };
}

/**
 * Milliseconds that are left of cooldowns, by endpoint: of several credentials, or gateways, those of the longest. An attempt
 * that succeeded later ends the cooldown.
 */
export function cooldownsOf(
  ended: readonly Pick<TopRequest, 'time' | 'total' | 'attempts'>[],
  now: number,
): Map<string, number> {
  const ends = ended
    .flatMap(({ time, total, attempts = [] }) =>
      attempts.map((attempt) => ({ attempt, at: time - (total ?? 0) + attempt.started_ms + attempt.total_ms })),
    )
    .sort((one, other) => one.at - other.at);
  const until = new Map<string, { endpoint: string; at: number }>();
  for (const { attempt, at } of ends) {
    const { endpoint, credential, cooldown_ms: cooldown, error } = attempt;
    const id = `${endpoint} ${credential}`;
    if (cooldown !== null) until.set(id, { endpoint, at: at + cooldown });
    else if (error === null) until.delete(id);
  }
  const cooldowns = new Map<string, number>();
  for (const { endpoint, at } of until.values()) {
    if (at > now) cooldowns.set(endpoint, Math.max(at - now, cooldowns.get(endpoint) ?? 0));
  }
  return cooldowns;
}

/** Includes endpoints in cooldown that answered nothing. */
function endpointsOf(
  rows: readonly Row[],
  cooldowns: ReadonlyMap<string, number>,
  { hasPrice }: TopContext,
): TopEndpoint[] {
  const groups = Map.groupBy(rows, modelOf);
  const names = new Set([...groups.keys(), ...cooldowns.keys()]);
  return [...names]
    .map((endpoint) => {
      const own = groups.get(endpoint) ?? [];
      const { requests, failures: failed, first_byte_ms: firstByte, total_ms: total } = summarizeRecords(own, hasPrice);
      return {
        endpoint,
        requests,
        failed,
        firstByte: firstByte.p50,
        total: total.p50,
        cooldown: cooldowns.get(endpoint) ?? null,
      };
    })
    .sort(
      (one, other) => Number(other.cooldown !== null) - Number(one.cooldown !== null) || other.requests - one.requests,
    );
}

function endedRequest(row: Row, context: TopContext): TopRequest {
  const cost = knownCostOf(row, context.hasPrice);
  const trace = decodeStoredTrace(row.trace as string | null);
  return {
    ...identity(row, context),
    time: Number(row.ended_at),
    state: row.error_code === null ? String(row.status) : `${row.status}: ${row.error_code}`,
    tokens: `${row.input_tokens}/${row.output_tokens}`,
    cost: cost === undefined ? null : decimalOf(cost),
    firstByte: row.first_byte_ms === null ? null : Number(row.first_byte_ms),
    total: Number(row.total_ms),
    dropped: trace?.dropped ?? [],
    toolFailures: Number(row.tool_failures ?? 0),
    attempts: trace?.attempts,
  };
}

function runningRequest(row: OpenRequest, context: TopContext, now: number): TopRequest {
  const time = Number(row.started_at);
  const unknown = { tokens: '-', cost: null, firstByte: null, dropped: [], toolFailures: 0, attempts: undefined };
  return { ...identity(row as Row, context), time, state: RUNNING, total: now - time, ...unknown };
}

function identity(row: Row, { names }: TopContext) {
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
