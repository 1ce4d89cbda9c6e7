/** Generation object of `GET /v1/generation`: a usage record in OpenRouter's shape, with additional fields. */

import type { Json } from '../core/json/json.ts';
import { decimalOf } from '../core/money.ts';
import { lookUp } from '../core/plain-objects.ts';

type Row = Record<string, unknown>;

/** Finish reasons of all protocols, mapped to those of chat completions. */
const FINISH_REASONS: Record<string, string> = {
  stop: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  calls: 'tool_calls',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  content_filter: 'content_filter',
  refusal: 'content_filter',
  safety: 'content_filter',
  recitation: 'content_filter',
  prohibited_content: 'content_filter',
  blocklist: 'content_filter',
  spii: 'content_filter',
};

interface GenerationFacts {
  /** OpenRouter's name of the protocol of the client. */
  apiType: string;
  /** In 1e-12 USD; undefined if it is not known. */
  cost: bigint | undefined;
  /** Service tier of the response; null for the standard tier, and if it was not kept. */
  serviceTier: string | null;
}

export function encodeGeneration(row: Row, { apiType, cost: known, serviceTier }: GenerationFacts): Json {
  const count = (name: string): number => Number(row[name]);
  const cost = known === undefined ? null : Number(decimalOf(known));
  return {
    id: row.id,
    upstream_id: row.upstream_id,
    request_id: row.id,
    api_type: apiType,
    model: `${row.endpoint_provider}/${row.endpoint_model}`,
    requested_model: row.model,
    provider_name: row.endpoint_provider,
    created_at: new Date(count('started_at')).toISOString(),
    streamed: row.stream === 1,
    cancelled: row.status === 'cancelled',
    ...finishFields(row),
    ...latencyFields(row),
    tokens_prompt: count('input_tokens'),
    tokens_completion: count('output_tokens'),
    native_tokens_prompt: count('input_tokens'),
    native_tokens_completion: count('output_tokens'),
    native_tokens_reasoning: count('reasoning_tokens'),
    native_tokens_cached: count('cached_tokens'),
    native_tokens_cache_write: count('cache_write_tokens'),
    native_tokens_audio: count('audio_tokens'),
    num_search_results: count('searches'),
    tokens_estimated: row.estimated === 1,
    attempts: count('attempts'),
    usage: cost,
    total_cost: cost,
    upstream_inference_cost: cost,
    is_byok: false,
    service_tier: serviceTier,
    ...UNRECORDED_FIELDS,
  };
}

/** Fields that are not recorded, but that OpenRouter clients require. */
const UNRECORDED_FIELDS = {
  origin: '',
  data_region: 'global',
  app_id: null,
  cache_discount: null,
  external_user: null,
  http_referer: null,
  moderation_latency: null,
  native_tokens_completion_images: null,
  num_fetches: null,
  num_input_audio_prompt: null,
  num_media_completion: null,
  num_media_prompt: null,
  preset_id: null,
  provider_responses: null,
  router: null,
  user_agent: null,
  web_search_engine: null,
  workspace_id: null,
};

/** Status and finish reason; null for an incomplete response. */
function finishFields({ finish, status, error_code }: Row): Json {
  const word = typeof finish === 'string' ? finish : undefined;
  return {
    status,
    error_code,
    finish_reason: word === undefined ? null : (lookUp(FINISH_REASONS, word.toLowerCase()) ?? 'stop'),
    native_finish_reason: word ?? null,
  };
}

/** Milliseconds. */
function latencyFields({ first_byte_ms, total_ms }: Row): Json {
  const first = first_byte_ms === null ? undefined : Number(first_byte_ms);
  return { latency: first ?? null, generation_time: first === undefined ? null : Number(total_ms) - first };
}
