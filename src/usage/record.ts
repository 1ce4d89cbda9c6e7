/** Usage record of a request that reached an upstream: tokens, cost and outcome. */

import type { Usage } from '../core/chat.ts';
import { boundCost, boundCount } from '../core/usage-bounds.ts';
import type { UsageRow, UsageStatus } from '../store/usage-row.ts';

export type { UsageStatus };

/** Write-ahead intent: the facts known before the upstream responds. */
export interface Intent {
  /** Request id. */
  id: string;
  /** Unix milliseconds. */
  startedAt: number;
  keyId: string;
  /** Text of the tags of the key; empty without any. */
  tags: string;
  /** Tool results of the latest turn that say that the tool failed; undefined if the protocol does not mark them. */
  toolFailures?: number | undefined;
  /** Model name in the client request. */
  model: string;
  endpoint: { provider: string; model: string };
  protocolIn: string;
  protocolOut: string;
  stream: boolean;
  /** Usage recorded if the gateway dies: the estimated input, no output. Computed only when an intent is written. */
  readonly estimate: { input: number; cost: bigint | undefined };
  /** Entry of the request in the recorder, from its begin to its end; the recorder alone sets it. */
  entry?: object | undefined;
}

/** Outcome of the request. */
export interface Completion {
  endpoint: { provider: string; model: string };
  protocolOut: string;
  status: UsageStatus;
  errorCode?: string;
  finish?: string;
  usage?: Usage;
  /** In 1e-12 USD; undefined if the price is unknown. */
  cost: bigint | undefined;
  attempts: number;
  /** Milliseconds from the request to the first byte sent to the client; absent if none was sent. */
  firstByte?: number;
  /** Milliseconds from the request to the end. */
  total: number;
  upstreamId?: string;
  /** Trace of the routing, encoded; absent if that is not kept. */
  trace?: string | undefined;
}

/** Default for the maximum number of pending records of a recorder. */
export const MAX_PENDING_RECORDS = 20_000;
/** Time for which a batched record waits for others. */
export const BATCH_DELAY_MS = 50;
/** Message in the log about records that are in no store and no journal, unless an answer of the store was lost. */
export const UNWRITTEN_AT_END = 'the gateway ends before these usage records could be written';

const MAX_NAME_CHARACTERS = 300;

/** Row with status `interrupted`, which counts if the gateway dies during the request. */
export function intentRow(intent: Intent): UsageRow {
  const { endpoint, protocolOut, estimate } = intent;
  const usage = { input: estimate.input, output: 0, estimated: true };
  return completedRow(intent, {
    endpoint,
    protocolOut,
    status: 'interrupted',
    usage,
    cost: estimate.cost,
    attempts: 1,
    total: 0,
  });
}

export function completedRow(intent: Intent, completion: Completion): UsageRow {
  const { usage, endpoint } = completion;
  return {
    id: intent.id,
    started_at: intent.startedAt,
    key_id: intent.keyId,
    model: storableText(intent.model),
    endpoint_provider: endpoint.provider,
    endpoint_model: endpoint.model,
    protocol_in: intent.protocolIn,
    protocol_out: completion.protocolOut,
    stream: Number(intent.stream),
    status: completion.status,
    error_code: completion.errorCode ?? null,
    finish: storableText(completion.finish),
    estimated: Number(usage?.estimated === true),
    attempts: completion.attempts,
    input_tokens: count(usage?.input),
    output_tokens: count(usage?.output),
    cached_tokens: count(usage?.cached),
    cache_write_tokens: count(usage?.cacheWrite),
    reasoning_tokens: count(usage?.reasoning),
    audio_tokens: count(usage?.audioInput) + count(usage?.audioOutput),
    searches: count(usage?.searches),
    cost: boundCost(completion.cost ?? 0n),
    first_byte_ms: completion.firstByte === undefined ? null : Math.round(completion.firstByte),
    total_ms: Math.round(completion.total),
    upstream_id: storableText(completion.upstreamId),
    ended_at: intent.startedAt + Math.round(completion.total),
    trace: completion.trace ?? null,
    tags: intent.tags,
    tool_failures: intent.toolFailures ?? null,
    unpriced: Number(completion.cost === undefined),
  };
}

/** Bounded text of clients and upstreams, without what PostgreSQL cannot store, or read in JSON: NUL and unpaired surrogates. */
function storableText(text: string): string;
function storableText(text: string | undefined): string | null;
function storableText(text: string | undefined): string | null {
  if (text === undefined) return null;
  const bounded = text.slice(0, MAX_NAME_CHARACTERS).toWellFormed();
  return bounded.includes('\0') ? bounded.replaceAll('\0', '') : bounded;
}

/** Token count of an upstream, which may be invalid. */
function count(value: number | undefined): number {
  return boundCount(value) ?? 0;
}
