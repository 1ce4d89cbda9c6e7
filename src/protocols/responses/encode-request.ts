/** Request encoder: converts the hub form to the body for an upstream. Nothing of it is stored there. */

import type { ChatRequest } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { createSchemaBudget, type SchemaBudget } from '../../core/json/schema-budget.ts';
import { unsupportedTurnDetails } from '../../core/losses.ts';
import type { ModelRules } from '../../core/model.ts';
import type { EncodedRequest, Target } from '../../core/operation.ts';
import { defined } from '../../core/plain-objects.ts';
import { type EncodedFormat, encodeEffort, encodeFormat, refusePrefill } from '../openai-request.ts';
import { encodeInput } from './encode-request-input.ts';
import { encodeTools } from './encode-request-tools.ts';
import { MIN_OUTPUT_TOKENS } from './output.ts';

const MAX_USER_CHARACTERS = 64;

const SUPPORTED_DETAILS = {
  protocol: 'responses',
  names: false,
  media: { image: ['detail'], document: ['title'], text: ['title', 'context'] },
} as const;

interface Encoding {
  rules: ModelRules;
  dropped: Set<string>;
  schemas: SchemaBudget;
}

export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const { rules } = target;
  refuseOtherAnswers(request);
  refusePrefill(request, rules);
  const encoding = {
    rules,
    dropped: new Set(unsupportedTurnDetails(request.turns, SUPPORTED_DETAILS)),
    schemas: createSchemaBudget(),
  };
  const { dropped } = encoding;
  const { format, instruction } = encodeFormat(request, rules, encoding);
  // JSON mode is refused unless the input itself speaks of JSON.
  const inPlace = format?.type === 'json_object';
  const { instructions, input } = encodeInput(request.turns, { target, dropped, inPlace });
  const effort = encodeEffort(request, rules, dropped);
  const body = {
    model: target.model,
    instructions: [instructions, instruction].filter(Boolean).join('\n\n') || undefined,
    input,
    stream: request.stream || undefined,
    store: false,
    include: encodeInclude(request, rules),
    max_output_tokens: request.maxTokens && Math.max(MIN_OUTPUT_TOKENS, request.maxTokens),
    ...encodeSampling(request, { ...encoding, reasons: effort !== 'none' && rules.reasoning !== 'none' }),
    ...encodeTools(request, encoding),
    text: withMembers({ format: textFormat(format), verbosity: request.verbosity }),
    reasoning: encodeReasoning(request, effort, rules),
    ...encodeAccount(request),
  };
  return { body: defined(body), dropped: [...dropped] };
}

/** Refuses more than one answer, and answers other than text. */
function refuseOtherAnswers({ candidates = 1, modalities = ['text'] }: ChatRequest): void {
  if (candidates > 1) {
    throw new GatewayError('unsupported_parameter', 'This model gives one answer to a request.', {
      param: 'candidates',
    });
  }
  const other = modalities.find((modality) => modality !== 'text');
  if (other === undefined) return;
  throw new GatewayError('unsupported_modality', `This model does not answer with ${other}.`, { param: 'modalities' });
}

/** The member is needed for reasoning to come back with its state, which nothing else keeps. Models that cannot reason refuse it. */
function encodeInclude({ logprobs }: ChatRequest, rules: ModelRules): string[] | undefined {
  const include = [
    ...(rules.reasoning === 'none' ? [] : ['reasoning.encrypted_content']),
    ...(logprobs !== undefined && rules.logprobs !== false ? ['message.output_text.logprobs'] : []),
  ];
  return include.length > 0 ? include : undefined;
}

/** Sampling parameters that the protocol and the model support; others are dropped and named. */
function encodeSampling(request: ChatRequest, { rules, dropped, reasons }: Encoding & { reasons: boolean }): Json {
  const sampling = rules.sampling ?? 'always';
  const samples = sampling === 'always' || (sampling === 'without-reasoning' && !reasons);
  const keep = <Name extends keyof ChatRequest>(name: Name, accepted: boolean): ChatRequest[Name] | undefined => {
    if (request[name] === undefined || accepted) return request[name];
    dropped.add(name);
    return undefined;
  };
  for (const name of ['topK', 'seed', 'logitBias'] as const) keep(name, false);
  if (request.stop?.length) dropped.add('stop');
  // It says how an answer sounds, and answers that are not text are refused.
  if (request.audio) dropped.add('audio');
  const temperature = keep('temperature', samples);
  return {
    temperature,
    top_p: keep('topP', samples && (temperature === undefined || rules.bothSampling !== false)),
    frequency_penalty: keep('frequencyPenalty', rules.penalties !== false),
    presence_penalty: keep('presencePenalty', rules.penalties !== false),
    top_logprobs: keep('logprobs', rules.logprobs !== false) || undefined,
  };
}

/** `strict` is true here unless it is set, and false on other protocols. */
function textFormat(format: EncodedFormat | undefined): Json {
  return format?.type === 'json_schema' ? defined({ ...format, strict: format.strict ?? false }) : format;
}

/** Without a summary, no text of the reasoning comes back. */
function encodeReasoning({ reasoning }: ChatRequest, effort: string | undefined, rules: ModelRules): Json {
  const isShown = reasoning?.visible !== false && effort !== 'none';
  const hasSummary = isShown && rules.reasoning !== 'none' && rules.summaries !== false;
  return withMembers({ effort, summary: hasSummary ? 'auto' : undefined });
}

/** A user id longer than the field keeps its end, which usually identifies the user. */
function encodeAccount({ cacheKey, tier, user, metadata }: ChatRequest): Json {
  return {
    prompt_cache_key: cacheKey,
    service_tier: tier,
    safety_identifier: user?.slice(-MAX_USER_CHARACTERS),
    metadata: isObject(metadata) ? metadata : undefined,
  };
}

function withMembers(value: Json): Json {
  const members = defined(value);
  return Object.keys(members).length > 0 ? members : undefined;
}
