/** Request encoder: converts the hub form to the body for an upstream. */

import type { ChatRequest, Effort } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { createSchemaBudget } from '../../core/json/schema-budget.ts';
import { unsupportedTurnDetails } from '../../core/losses.ts';
import type { ModelRules } from '../../core/model.ts';
import type { EncodedRequest, Target } from '../../core/operation.ts';
import { defined } from '../../core/plain-objects.ts';
import { settleWebSearch } from '../../core/web-search.ts';
import { type EncodedFormat, encodeEffort, encodeFormat, refusePrefill, requestedEffort } from '../openai-request.ts';
import { encodeTurns } from './message-encoder.ts';
import { encodeTools } from './tools.ts';

const MAX_STOPS = 4;
const MAX_USER_CHARACTERS = 128;

const SUPPORTED_DETAILS = {
  protocol: 'chat',
  names: true,
  media: { image: ['detail'], document: ['title'], text: ['title', 'context'] },
} as const;

export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const { rules } = target;
  const dropped = new Set(unsupportedTurnDetails(request.turns, SUPPORTED_DETAILS));
  refusePrefill(request, rules);
  const effort = encodeEffortBesideTools(request, rules, dropped);
  const schemas = createSchemaBudget();
  const format = encodeFormat(request, rules, { dropped, schemas });
  const messages = encodeTurns(request.turns, { target, dropped });
  if (format.instruction) instruct(messages, format.instruction, rules);
  const body = {
    model: target.model,
    messages,
    ...(request.stream && { stream: true, stream_options: { include_usage: true } }),
    [rules.tokenField ?? 'max_tokens']: request.maxTokens,
    ...encodeSampling(request, rules, { dropped, reasons: effort !== 'none' && rules.reasoning !== 'none' }),
    ...encodeTools(request, rules, { dropped, schemas }),
    response_format: responseFormat(format.format),
    reasoning_effort: effort,
    ...encodeOutput(request),
    web_search_options: encodeWebSearch(request, rules, dropped),
    ...encodeAccount(request, dropped),
  };
  return { body: defined(body), dropped: [...dropped] };
}

/** `reasoning_effort`; undefined if unset or unsupported. Some models call tools there only without reasoning. */
function encodeEffortBesideTools(request: ChatRequest, rules: ModelRules, dropped: Set<string>): Effort | undefined {
  if (!rules.toolsNeedNoReasoning || request.tools.length === 0) return encodeEffort(request, rules, dropped);
  const requested = requestedEffort(request.reasoning, rules);
  if (requested !== undefined && requested !== 'none') dropped.add('reasoning.effort');
  return 'none';
}

/** Sampling parameters that the model supports; others are dropped and named. */
function encodeSampling(
  request: ChatRequest,
  rules: ModelRules,
  { dropped, reasons }: { dropped: Set<string>; reasons: boolean },
): Json {
  const { stop = [], candidates = 1, logprobs } = request;
  const sampling = rules.sampling ?? 'always';
  const samples = sampling === 'always' || (sampling === 'without-reasoning' && !reasons);
  const keep = <Name extends keyof ChatRequest>(name: Name, accepted: boolean): ChatRequest[Name] | undefined => {
    if (request[name] === undefined || accepted) return request[name];
    dropped.add(name);
    return undefined;
  };
  keep('topK', false);
  const temperature = keep('temperature', samples);
  const shown = keep('logprobs', rules.logprobs ?? samples) === undefined ? undefined : logprobs;
  if (stop.length > MAX_STOPS && rules.stop !== false) {
    throw new GatewayError(
      'unsupported_parameter',
      `At most ${MAX_STOPS} stop sequences are supported for this model.`,
      {
        param: 'stop',
      },
    );
  }
  return {
    temperature,
    top_p: keep('topP', samples && (temperature === undefined || rules.bothSampling !== false)),
    frequency_penalty: keep('frequencyPenalty', rules.penalties !== false),
    presence_penalty: keep('presencePenalty', rules.penalties !== false),
    logit_bias: keep('logitBias', rules.logitBias !== false),
    seed: request.seed,
    stop: stop.length === 0 ? undefined : keep('stop', rules.stop !== false),
    n: candidates > 1 ? candidates : undefined,
    logprobs: shown === undefined ? undefined : true,
    top_logprobs: shown || undefined,
  };
}

/** The schema stands in an object of its own. */
function responseFormat(format: EncodedFormat | undefined): Json {
  if (format?.type !== 'json_schema') return format;
  const { type, ...schema } = format;
  return { type, json_schema: defined(schema) };
}

function instruct(messages: Json[], instruction: string, rules: ModelRules): void {
  const role = rules.systemRole ?? 'system';
  const [first] = messages;
  if (first?.role === role && typeof first.content === 'string') first.content += `\n\n${instruction}`;
  else messages.unshift({ role, content: instruction });
}

/** Output modalities. */
function encodeOutput({ modalities = ['text'], audio, stream, verbosity }: ChatRequest): Json {
  if (modalities.includes('video')) {
    throw new GatewayError('unsupported_modality', 'This model does not answer with video.', { param: 'modalities' });
  }
  const speaks = modalities.includes('audio');
  return {
    verbosity,
    modalities: modalities.every((modality) => modality === 'text') ? undefined : modalities,
    audio: speaks ? (audio ?? { voice: 'alloy', format: stream ? 'pcm16' : 'wav' }) : undefined,
  };
}

/** Most servers have no search: it is requested without knowing only where the request needs it. */
function encodeWebSearch(request: ChatRequest, rules: ModelRules, dropped: Set<string>): Json {
  const isSupported = rules.webSearch ?? !request.webSearch?.optional;
  const search = settleWebSearch(request, isSupported, (name) => dropped.add(name));
  if (search?.sources) dropped.add('webSearch.sources');
  return (
    search &&
    defined({
      search_context_size: search.contextSize,
      user_location: search.location && { type: 'approximate', approximate: search.location },
    })
  );
}

/** User, tier and metadata. A user id longer than the field keeps its end, which usually identifies the user. */
function encodeAccount(request: ChatRequest, dropped: Set<string>): Json {
  if (request.metadata !== undefined) dropped.add('metadata');
  return {
    prompt_cache_key: request.cacheKey,
    service_tier: request.tier,
    user: request.user?.slice(-MAX_USER_CHARACTERS),
  };
}
