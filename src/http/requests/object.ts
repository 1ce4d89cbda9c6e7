/** Request object of lists: a usage record, or the intent of a request that runs. */

import { costOfLine, decodePriceLines } from '../../catalog/cost.ts';
import type { Json } from '../../core/json/json.ts';
import { decimalOf } from '../../core/money.ts';
import { boundCost } from '../../core/usage-bounds.ts';
import { tagsOf } from '../../records/tags.ts';
import { decodeStoredTrace, type StoredTrace } from '../../routing/stored-trace.ts';
import type { OpenRequest } from '../../usage/open-requests.ts';
import { knownCostOf } from '../../usage/report.ts';
import type { RequestPage } from '../../usage/request-search.ts';
import type { SessionSummary } from '../../usage/session-summary.ts';

type Row = RequestPage['rows'][number];

/** Names of keys by their ids. */
export type KeyNames = ReadonlyMap<string, string>;

/** Facts that records leave out. */
export interface RecordContext {
  names: KeyNames;
  /** Whether a model, `<provider>/<model id>`, has a price. */
  hasPrice(model: string): boolean;
}

export function encodeRequest(row: Row, { names, hasPrice }: RecordContext): Json {
  const trace = traceOf(row);
  return {
    ...identity(row, names),
    status: row.status,
    error_code: row.error_code,
    finish_reason: row.finish,
    attempts: Number(row.attempts),
    endpoint_number: trace ? endpointNumber(trace) : null,
    input_tokens: Number(row.input_tokens),
    output_tokens: Number(row.output_tokens),
    cached_tokens: Number(row.cached_tokens),
    cache_write_tokens: Number(row.cache_write_tokens),
    reasoning_tokens: Number(row.reasoning_tokens),
    tool_failures: numberOr(row.tool_failures),
    estimated: Number(row.estimated) === 1,
    cost: encodeCost(knownCostOf(row, hasPrice)),
    first_byte_ms: numberOr(row.first_byte_ms),
    total_ms: Number(row.total_ms),
    upstream_id: row.upstream_id,
    session: trace?.session ?? null,
    dropped: trace?.dropped ?? [],
    path: trace?.attempts.at(-1)?.path ?? null,
  };
}

/** Place of the last endpoint among those that were tried, from 1; with another credential it is another one. */
function endpointNumber({ attempts }: StoredTrace): number | null {
  return new Set(attempts.map(({ endpoint, credential }) => `${endpoint} ${credential}`)).size || null;
}

/** Converts a cost in 1e-12 USD to a decimal in USD; null for an unknown cost. */
export function encodeCost(cost: bigint | undefined): string | null {
  return cost === undefined ? null : decimalOf(cost);
}

export function encodeSession(summary: SessionSummary, names: KeyNames): Json {
  const { keyIds, cost, firstAt, lastAt, ...sums } = summary;
  return {
    ...sums,
    keys: keyIds.map((id) => ({ hash: id, name: names.get(id) ?? null })),
    cost: encodeCost(cost),
    estimated_cost: decimalOf(sums.estimated_cost),
    first_at: new Date(firstAt).toISOString(),
    last_at: new Date(lastAt).toISOString(),
  };
}

/** Session for a CSV file, with the names and the hashes of keys as lists. */
export function encodeSessionRow(summary: SessionSummary, names: KeyNames): Json {
  const { keyIds } = summary;
  return {
    ...encodeSession(summary, names),
    keys: keyIds.map((id) => names.get(id) ?? id),
    key_hashes: keyIds,
  };
}

/** Name of the conversation of a record. */
export function sessionOfRow(row: Row): string | null {
  return traceOf(row)?.session ?? null;
}

/** Headers of upstreams tell of accounts of the operator, and are for operators alone. */
export function encodeDetail(row: Row, context: RecordContext, isForOperator: boolean): Json {
  const stored = traceOf(row);
  if (!stored) return { ...encodeRequest(row, context), charge: null, trace: null };
  const { charge, tier, ...trace } = stored;
  if (!isForOperator) for (const attempt of trace.attempts) attempt.response_headers = {};
  return { ...encodeRequest(row, context), charge: encodeCharge({ charge, tier }, BigInt(String(row.cost))), trace };
}

/** Lines only where they are the cost, to the last digit, or are limited to it. */
function encodeCharge({ charge, tier }: Pick<StoredTrace, 'charge' | 'tier'>, cost: bigint): Json {
  if (charge === null) return null;
  const decoded = decodePriceLines(charge);
  const tiered = { service_tier: tier?.name ?? null, assumed: tier?.isAssumed === true };
  if (!decoded) return { basis: charge, ...tiered, limited: false, lines: [] };
  const lines = decoded.map((line) => ({ line, cost: costOfLine(line) }));
  const sum = lines.reduce((total, line) => total + line.cost, 0n);
  if (boundCost(sum) !== cost) return null;
  const encoded = lines.map(({ line: [kind, count, price], cost: part }) => {
    const million = decimalOf(costOfLine([kind, 1_000_000, price]));
    return { kind: nameOfKind(kind), count, price, price_per_million: million, cost: decimalOf(part) };
  });
  return { basis: 'prices', ...tiered, limited: sum !== cost, lines: encoded };
}

/** Converts the name of a price kind to the snake case of the API. */
function nameOfKind(kind: string): string {
  return kind.replace(/[A-Z]|1h$/g, (part) => `_${part.toLowerCase()}`);
}

/** Encodes a running request, whose routing is known when it ends. */
export function encodeOpenDetail(row: OpenRequest, names: KeyNames): Json {
  return { ...encodeOpenRequest(row, names), charge: null, trace: null };
}

/** Counts are zero until it ends. */
export function encodeOpenRequest(row: OpenRequest, names: KeyNames): Json {
  return {
    ...identity(row as Row, names),
    // An intent is stored as the record that it becomes if its gateway dies.
    ended_at: null,
    status: 'running',
    error_code: null,
    finish_reason: null,
    attempts: 1,
    endpoint_number: null,
    input_tokens: 0,
    output_tokens: 0,
    cached_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    tool_failures: null,
    estimated: false,
    cost: null,
    first_byte_ms: null,
    total_ms: null,
    upstream_id: null,
    session: null,
    dropped: [],
    path: null,
  };
}

function identity(row: Row, names: KeyNames): Json {
  const keyId = String(row.key_id);
  return {
    id: row.id,
    started_at: new Date(Number(row.started_at)).toISOString(),
    ended_at: row.ended_at == null ? null : new Date(Number(row.ended_at)).toISOString(),
    key_hash: keyId,
    key_name: names.get(keyId) ?? null,
    tags: tagsOf(String(row.tags ?? '')),
    requested_model: row.model,
    model: `${row.endpoint_provider}/${row.endpoint_model}`,
    provider: row.endpoint_provider,
    protocol: row.protocol_in,
    upstream_protocol: row.protocol_out,
    streamed: Number(row.stream) === 1,
  };
}

function traceOf({ trace }: Row) {
  return typeof trace === 'string' ? decodeStoredTrace(trace) : undefined;
}

function numberOr(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}
