/** Request decoder: converts a client's body to the hub form. */

import type { ChatRequest, Effort, ReasoningRequest, ResponseFormat } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { unreadFields } from '../../core/losses.ts';
import { decodeTier } from '../service-tier.ts';
import { decodeMessages } from './message-decoder.ts';
import { decodeToolChoice, decodeTools } from './tools.ts';
import { unreadInside } from './unread.ts';

/** Members of the body for the gateway; never sent upstream. */
export const GATEWAY_FIELDS = ['provider', 'models', 'route', 'model_routing_config', 'session_id', 'trace', 'debug'];

/** Members that `decodeRequest` reads; `usage` has no effect, because usage is always included. */
export const READ_FIELDS = [
  'model', 'messages', 'stream', 'stream_options', 'usage', 'tools', 'tool_choice', 'parallel_tool_calls', 'functions',
  'function_call', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'frequency_penalty',
  'presence_penalty', 'seed', 'stop', 'n', 'logprobs', 'top_logprobs', 'logit_bias', 'response_format', 'reasoning_effort',
  'reasoning', 'include_reasoning', 'reasoning_format', 'thinking', 'enable_thinking', 'verbosity', 'prompt_cache_key',
  'service_tier', 'user', 'safety_identifier', 'metadata', 'web_search_options', 'modalities', 'audio', 'cache_control',
]; // biome-ignore format: a list

/** Members of some dialects that constrain the form of the answer; refused because they cannot be dropped. */
const FORM_FIELDS = [
  'grammar', 'json_schema', 'guided_json', 'guided_regex', 'guided_choice', 'guided_grammar', 'structured_outputs',
]; // biome-ignore format: a list

const KNOWN_FIELDS = new Set([...GATEWAY_FIELDS, ...READ_FIELDS]);

export function decodeRequest(body: Json): ChatRequest {
  const given: Json = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  for (const field of FORM_FIELDS) {
    if (given[field] === undefined) continue;
    throw new GatewayError('unsupported_parameter', `${field} is not supported for this model; use response_format.`, {
      param: field,
    });
  }
  const dropped = [...unreadFields(given, KNOWN_FIELDS), ...unreadInside(given)];
  if (given.user !== undefined && given.safety_identifier !== undefined) dropped.push('user');
  const tier = decodeTier(given.service_tier);
  if (given.service_tier !== undefined && tier === undefined) dropped.push('service_tier');
  const request: ChatRequest = {
    stream: given.stream === true,
    turns: decodeMessages(given.messages),
    tools: decodeTools(given),
    toolChoice: decodeToolChoice(given),
    parallelCalls: given.parallel_tool_calls,
    maxTokens: given.max_completion_tokens ?? given.max_tokens,
    temperature: given.temperature,
    topP: given.top_p,
    topK: given.top_k,
    frequencyPenalty: given.frequency_penalty,
    presencePenalty: given.presence_penalty,
    seed: given.seed,
    stop: typeof given.stop === 'string' ? [given.stop] : given.stop,
    candidates: given.n,
    logprobs: given.logprobs ? (given.top_logprobs ?? 0) : undefined,
    logitBias: given.logit_bias,
    format: decodeFormat(given.response_format),
    reasoning: decodeReasoning(given),
    verbosity: given.verbosity,
    cacheKey: given.prompt_cache_key,
    tier,
    user: given.safety_identifier ?? given.user,
    metadata: given.metadata,
    webSearch: decodeWebSearch(given.web_search_options),
    modalities: given.modalities,
    audio: given.audio,
    dropped,
  };
  if (given.cache_control) markLast(request, given.cache_control.ttl);
  return Object.fromEntries(
    Object.entries(request).filter(([, value]) => value !== undefined),
  ) as unknown as ChatRequest;
}

function decodeFormat(format: Json): ResponseFormat | undefined {
  switch (format?.type) {
    case 'json_object':
      return format.schema ? { type: 'schema', schema: format.schema } : { type: 'json' };
    case 'json_schema': {
      const { name, description, schema = {}, strict } = format.json_schema;
      return {
        type: 'schema',
        schema,
        ...(name && { name }),
        ...(description && { description }),
        ...(typeof strict === 'boolean' && { strict }),
      };
    }
    default:
      return undefined;
  }
}

/** Reasoning budget of a model that decides itself. */
const MODEL_DECIDES = -1;

/** Four dialects: the official effort, and three objects or switches of other servers. */
function decodeReasoning(body: Json): ReasoningRequest | undefined {
  const { reasoning = {}, thinking = {} } = body;
  const isOff = reasoning.enabled === false || thinking.type === 'disabled' || body.enable_thinking === false;
  const isHidden = reasoning.exclude === true || body.include_reasoning === false || body.reasoning_format === 'hidden';
  const isOn = reasoning.enabled === true || thinking.type === 'enabled' || body.enable_thinking === true;
  const named = reasoning.effort ?? body.reasoning_effort ?? undefined;
  const likes = thinking.type === 'adaptive' && named === undefined ? MODEL_DECIDES : undefined;
  const budget = reasoning.max_tokens ?? thinking.budget_tokens ?? likes;
  let effort: Effort | undefined = named === 'default' ? 'medium' : named;
  if (isOff) effort = 'none';
  else if (isOn && effort === undefined && budget === undefined) effort = 'medium';
  if (effort === undefined && budget === undefined && !isHidden) return undefined;
  return {
    ...(effort && { effort }),
    ...(budget !== undefined && !isOff && { budget }),
    ...(isHidden && { visible: false }),
  };
}

function decodeWebSearch(options: Json): ChatRequest['webSearch'] {
  if (!options) return undefined;
  const { search_context_size, user_location } = options;
  const location = user_location?.approximate;
  return {
    ...(search_context_size && { contextSize: search_context_size }),
    ...(location && { location }),
  };
}

/** A breakpoint on the whole request stands after its last part. */
function markLast(request: ChatRequest, ttl: Json): void {
  const last = request.turns.at(-1)?.parts.at(-1);
  const mark = { ttl: ttl === '1h' || ttl === '5m' ? ttl : undefined } as const;
  if (last && (last.type === 'text' || last.type === 'media' || last.type === 'result')) last.cache ??= mark;
}
