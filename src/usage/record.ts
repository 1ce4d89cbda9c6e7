/** The record of one request that reached an upstream: what it used, what it cost, how it went. */

import type { Usage } from '../core/chat.ts';
import { boundCost, boundCount } from '../core/usage-bounds.ts';
import type { UsageRow, UsageStatus } from '../store/usage-row.ts';

export type { UsageStatus };

/** What is known before the upstream answers. */
export interface Intent {
  /** Our id of the request. */
  id: string;
  /** Unix milliseconds. */
  startedAt: number;
  keyId: string;
  /** As the client named it. */
  model: string;
  endpoint: { provider: string; model: string };
  protocolIn: string;
  protocolOut: string;
  stream: boolean;
  /** What is recorded if the gateway dies before the end: the input as estimated, no output. Read where an intent is written. */
  readonly estimate: { input: number; cost: bigint };
}

/** How it ended. */
export interface Completion {
  endpoint: { provider: string; model: string };
  protocolOut: string;
  status: UsageStatus;
  errorCode?: string;
  finish?: string;
  usage?: Usage;
  /** In 1e-12 USD. */
  cost: bigint;
  attempts: number;
  /** Milliseconds from the request to the first byte for the client; absent when there was none. */
  firstByte?: number;
  /** Milliseconds from the request to the end. */
  total: number;
  upstreamId?: string;
}

const MAX_NAME_CHARACTERS = 300;

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
    ...counts(usage),
    cost: boundCost(completion.cost),
    first_byte_ms: completion.firstByte === undefined ? null : Math.round(completion.firstByte),
    total_ms: Math.round(completion.total),
    upstream_id: storableText(completion.upstreamId),
  };
}

function counts(usage: Usage | undefined) {
  return {
    input_tokens: count(usage?.input),
    output_tokens: count(usage?.output),
    cached_tokens: count(usage?.cached),
    cache_write_tokens: count(usage?.cacheWrite),
    reasoning_tokens: count(usage?.reasoning),
    audio_tokens: count(usage?.audioInput) + count(usage?.audioOutput),
    searches: count(usage?.searches),
  };
}

/** Clients and upstreams may name things by anything; PostgreSQL keeps no text with NUL in it. */
function storableText(text: string): string;
function storableText(text: string | undefined): string | null;
function storableText(text: string | undefined): string | null {
  return text === undefined ? null : text.slice(0, MAX_NAME_CHARACTERS).replaceAll('\0', '');
}

/** An upstream's count may be anything. */
function count(value: number | undefined): number {
  return boundCount(value) ?? 0;
}
