/** Records of the journal as JSON arrays: a begin holds the charge of an interrupted request, an end the whole usage record. */

import type { EncodedUsage, UsageRow } from '../../store/usage-row.ts';
import { type Completion, completedRow, type Intent } from '../record.ts';

/** Text that JSON writes as it is. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

function quoted(text: string | null): string {
  if (text === null) return 'null';
  return PLAIN_TEXT.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** JSON of texts that many records share. */
const knownNames = new Map<string, string>();
const MAX_KNOWN_NAMES = 1000;

/** Name of a key, a model, a provider, a protocol or a status. */
function named(name: string): string {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  if (knownNames.size >= MAX_KNOWN_NAMES) knownNames.clear();
  const json = quoted(name);
  knownNames.set(name, json);
  return json;
}

/** JSON has no other numbers; the store refuses the record then. */
function numeral(value: number | null): string {
  return value !== null && Number.isFinite(value) ? String(value) : 'null';
}

/** Tags, failed tools and whether the price is unknown: the last elements, where there are any. */
function lastElements(
  tags: string | null | undefined,
  toolFailures: number | null | undefined,
  isUnpriced: boolean,
): string {
  if (isUnpriced) return `,${quoted(tags ?? '')},${toolFailures ?? null},1`;
  if (toolFailures != null) return `,${quoted(tags ?? '')},${toolFailures}`;
  return tags ? `,${quoted(tags)}` : '';
}

/** Id, start, key, model, endpoint, protocols, stream, estimated input, its cost, tags, failed tools, whether its price is unknown. */
export function encodeBegin(intent: Intent): string {
  const { id, startedAt, keyId, tags, toolFailures, model, endpoint, protocolIn, protocolOut, stream, estimate } =
    intent;
  return `[${quoted(id)},${numeral(startedAt)},${named(keyId)},${named(model)},${named(endpoint.provider)},${named(endpoint.model)},${named(protocolIn)},${named(protocolOut)},${Number(stream)},${numeral(estimate.input)},${estimate.cost ?? 0n}${lastElements(tags, toolFailures, estimate.cost === undefined)}]`;
}

/** Intent of a begin, for the record of an interrupted request. */
export function decodeBegin(payload: string): Intent {
  const [id, startedAt, keyId, model, provider, endpointModel, protocolIn, protocolOut, stream, ...rest] =
    JSON.parse(payload);
  const [input, cost, tags, toolFailures, unpriced] = rest;
  return {
    id,
    startedAt,
    keyId,
    tags: tags ?? '',
    toolFailures: toolFailures ?? undefined,
    model,
    endpoint: { provider, model: endpointModel },
    protocolIn,
    protocolOut,
    stream: stream === 1,
    estimate: { input: input ?? 0, cost: unpriced === 1 ? undefined : BigInt(cost) },
  };
}

/** The columns of a usage row in their order. */
export function encodeEnd(intent: Intent, completion: Completion): string {
  return encodeRow(completedRow(intent, completion));
}

/** `EncodedUsage` as JSON. */
export function encodeRow(row: UsageRow): string {
  return `[${quoted(row.id)},${numeral(row.started_at)},${named(row.key_id)},${named(row.model)},${named(row.endpoint_provider)},${named(row.endpoint_model)},${named(row.protocol_in)},${named(row.protocol_out)},${row.stream},${named(row.status)},${quoted(row.error_code)},${quoted(row.finish)},${row.estimated},${numeral(row.attempts)},${row.input_tokens},${row.output_tokens},${row.cached_tokens},${row.cache_write_tokens},${row.reasoning_tokens},${row.audio_tokens},${row.searches},${row.cost},${numeral(row.first_byte_ms)},${numeral(row.total_ms)},${quoted(row.upstream_id)},${numeral(row.ended_at ?? null)},${quoted(row.trace ?? null)}${lastElements(row.tags, row.tool_failures, row.unpriced === 1)}]`;
}

/** The end of a request that no process will end: the figures of its begin, and no output. */
export function encodeInterrupted(begin: string, now: number): string {
  const intent = decodeBegin(begin);
  const { endpoint, protocolOut, estimate, startedAt } = intent;
  return encodeEnd(intent, {
    endpoint,
    protocolOut,
    status: 'interrupted',
    usage: { input: estimate.input, output: 0, estimated: true },
    cost: estimate.cost,
    attempts: 1,
    total: Math.max(0, now - startedAt),
  });
}

export function decodeEnd(payload: string): EncodedUsage {
  return JSON.parse(payload);
}

/** Payload for the intent of a request that was not sent. */
export function encodeWithdrawn(id: string): string {
  return `[${quoted(id)}]`;
}
