/** Request encoder of generateContent. */

import type { ChatRequest, MediaPart, Part, ToolChoice, Turn } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { TEXT_VALUES } from '../../core/json/scan.ts';
import { describedSchema, toDialect, withItems } from '../../core/json/schema.ts';
import { createSchemaBudget, formatSchemaField, type SchemaBudget } from '../../core/json/schema-budget.ts';
import { unsupportedTurnDetails, withInner } from '../../core/losses.ts';
import type { ModelRules } from '../../core/model.ts';
import type { EncodedRequest, Target } from '../../core/operation.ts';
import { isForced } from '../../core/tools.ts';
import { settleWebSearch } from '../../core/web-search.ts';
import { encodeContents } from './content-encoder.ts';
import { encodeReasoning } from './reasoning.ts';
import { DIALECT } from './schema.ts';
import { encodeToolChoice, encodeTools } from './tool-encoder.ts';

const MAX_STOPS = 5;
/** Penalties are below 2 here; elsewhere they may be 2. */
const MAX_PENALTY = 1.99;

const RESOLUTION_DETAILS = ['detail'] as const;
const SUPPORTED_DETAILS = {
  protocol: 'generate',
  names: false,
  media: {
    image: RESOLUTION_DETAILS,
    document: RESOLUTION_DETAILS,
    audio: RESOLUTION_DETAILS,
    video: RESOLUTION_DETAILS,
    text: ['title', 'context', 'detail'],
  },
} as const;

const TIERS: Partial<Record<string, string>> = { default: 'standard', flex: 'flex', priority: 'priority' };

const RESOLUTIONS: Partial<Record<string, string>> = {
  low: 'MEDIA_RESOLUTION_LOW',
  high: 'MEDIA_RESOLUTION_HIGH',
  original: 'MEDIA_RESOLUTION_HIGH',
};

export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const { rules } = target;
  const dropped = new Set(unsupportedTurnDetails(request.turns, SUPPORTED_DETAILS));
  const leading = request.turns.findIndex(({ role }) => role !== 'system');
  const split = leading < 0 ? request.turns.length : leading;
  const schemas = createSchemaBudget();
  const webSearch = encodableSearch(request, rules, dropped);
  const tools = encodeTools({ tools: request.tools, webSearch }, { dropped, schemas });
  const instruction = [...instructionsOf(request.turns.slice(0, split)), ...formatInstruction(request, rules)];
  const generationConfig = {
    ...encodeSampling(request, rules, dropped),
    ...encodeFormat(request, rules, { dropped, schemas }),
    ...encodeOutput(request, rules, dropped),
  };
  const tier = TIERS[request.tier ?? ''];
  const choice = allowedChoice(request, rules, dropped);
  nameUnsupported({ ...request, webSearch }, dropped);
  const body = {
    contents: encodeContents(request.turns.slice(split), { ...target, dropped, results: { values: TEXT_VALUES } }),
    ...(instruction.length > 0 && { systemInstruction: { parts: instruction } }),
    ...(tools.length > 0 && { tools }),
    ...(choice && { toolConfig: encodeToolChoice(choice) }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
    ...(tier && { serviceTier: tier }),
    ...(request.continuation && { continuationToken: request.continuation }),
  };
  return { body, dropped: [...dropped] };
}

function instructionsOf(turns: Turn[]): Json[] {
  return turns.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [{ text: part.text }] : [])),
  );
}

/** Describes the format in the instruction, for models without native formats. */
function formatInstruction(request: ChatRequest, rules: ModelRules): Json[] {
  const { format } = request;
  if (!format || isNative(request, rules)) return [];
  if (format.type === 'json') return [{ text: 'Answer with one JSON object and nothing else.' }];
  const schema = JSON.stringify(describedSchema(format));
  return [{ text: `Answer with JSON that is valid against this JSON Schema, and with nothing else:\n${schema}` }];
}

function isNative({ tools }: ChatRequest, rules: ModelRules): boolean {
  return rules.schema !== false && (rules.schemaWithTools !== false || tools.length === 0);
}

function encodeFormat(
  request: ChatRequest,
  rules: ModelRules,
  { dropped, schemas }: { dropped: Set<string>; schemas: SchemaBudget },
): Json {
  const { format } = request;
  if (!format || !isNative(request, rules)) return {};
  const responseMimeType = 'application/json';
  if (format.type === 'json') return { responseMimeType };
  const asked = withItems(describedSchema(format));
  const { schema, lost } = toDialect(asked, DIALECT, { field: formatSchemaField, budget: schemas });
  if (lost.length > 0) dropped.add('format.schema');
  return { responseMimeType, responseJsonSchema: schema };
}

function encodeSampling(request: ChatRequest, rules: ModelRules, dropped: Set<string>): Json {
  const refused = new Set<keyof ChatRequest>();
  if (rules.sampling === 'never') for (const name of ['temperature', 'topP', 'topK'] as const) refused.add(name);
  if (rules.penalties === false) for (const name of ['frequencyPenalty', 'presencePenalty'] as const) refused.add(name);
  if (rules.stop === false) refused.add('stop');
  if (rules.logprobs === false) refused.add('logprobs');
  for (const name of refused) if (request[name] !== undefined) dropped.add(name);
  const { maxTokens, seed, stop, logprobs, candidates } = request;
  const asked = (name: 'temperature' | 'topP' | 'topK') =>
    request[name] !== undefined && !refused.has(name) && { [name]: request[name] };
  const penalty = (name: 'frequencyPenalty' | 'presencePenalty') =>
    request[name] !== undefined && !refused.has(name) && { [name]: Math.min(request[name], MAX_PENALTY) };
  return {
    ...asked('temperature'),
    ...asked('topP'),
    ...asked('topK'),
    ...penalty('frequencyPenalty'),
    ...penalty('presencePenalty'),
    ...(maxTokens !== undefined && { maxOutputTokens: Math.min(maxTokens, rules.maxOutput ?? maxTokens) }),
    ...(seed !== undefined && { seed: seed % 2 ** 31 }),
    ...(stop && !refused.has('stop') && stopSequences(stop)),
    ...(candidates !== undefined && candidates > 1 && { candidateCount: candidates }),
    ...(logprobs !== undefined &&
      !refused.has('logprobs') && { responseLogprobs: true, ...(logprobs > 0 && { logprobs }) }),
  };
}

function stopSequences(stop: string[]): Json {
  const sequences = stop.filter((text) => text !== '');
  if (sequences.length > MAX_STOPS) {
    const message = `This model accepts at most ${MAX_STOPS} stop sequences, not ${sequences.length}.`;
    throw new GatewayError('unsupported_parameter', message, { param: 'stop' });
  }
  return sequences.length > 0 ? { stopSequences: sequences } : {};
}

function encodeOutput(request: ChatRequest, rules: ModelRules, dropped: Set<string>): Json {
  const { reasoning, modalities, turns } = request;
  const thinkingConfig = encodeReasoning(request, rules);
  const asked = reasoning && ((reasoning.effort ?? 'none') !== 'none' || (reasoning.budget ?? 0) > 0);
  if (asked && !thinkingConfig) dropped.add('reasoning');
  const responseModalities = modalities?.map((name) => name.toUpperCase());
  const mediaResolution = resolutionOf(turns, dropped);
  return {
    ...(thinkingConfig && Object.keys(thinkingConfig).length > 0 && { thinkingConfig }),
    ...(responseModalities?.some((name) => name !== 'TEXT') && { responseModalities }),
    ...(mediaResolution && { mediaResolution }),
  };
}

/** One resolution holds for the whole request: that of the images, if they agree. */
function resolutionOf(turns: Turn[], dropped: Set<string>): string | undefined {
  const media = turns.flatMap(({ parts }) => parts.flatMap(mediaIn));
  const resolutions = new Set(
    media.map(({ detail }) => RESOLUTIONS[detail ?? '']).filter((name) => name !== undefined),
  );
  if (resolutions.size > 1) dropped.add('turns.parts.detail');
  return resolutions.size === 1 ? [...resolutions][0] : undefined;
}

function mediaIn(part: Part): MediaPart[] {
  if (part.type === 'media') return [part];
  return part.type === 'result' ? part.parts.flatMap(mediaIn) : [];
}

/** The choice among functions, which is refused without any. */
function allowedChoice(
  { tools, toolChoice }: ChatRequest,
  rules: ModelRules,
  dropped: Set<string>,
): ToolChoice | undefined {
  if (tools.length > 0 && (rules.forcedChoice !== false || !isForced(toolChoice))) return toolChoice;
  if (isForced(toolChoice)) dropped.add('toolChoice');
  return tools.length > 0 ? { type: 'auto' } : undefined;
}

/** Many models have no search beside functions: it is requested without knowing only where the request needs it. */
function encodableSearch(request: ChatRequest, rules: ModelRules, dropped: Set<string>): ChatRequest['webSearch'] {
  const isSupported = rules.webSearch ?? !request.webSearch?.optional;
  return settleWebSearch(request, isSupported, (name) => dropped.add(name));
}

/** Tuning parameters that this protocol does not support. */
function nameUnsupported(request: ChatRequest, dropped: Set<string>): void {
  for (const name of ['logitBias', 'metadata', 'user', 'cacheKey', 'verbosity', 'audio'] as const) {
    if (request[name] !== undefined) dropped.add(name);
  }
  if (request.parallelCalls === false && request.tools.length > 0) dropped.add('parallelCalls');
  if (request.tier === 'ultrafast') dropped.add('tier');
  const { contextSize, location } = request.webSearch ?? {};
  if (contextSize !== undefined) dropped.add('webSearch.contextSize');
  if (location !== undefined) dropped.add('webSearch.location');
  const parts = request.turns.flatMap((turn) => turn.parts.flatMap(withInner));
  if ([...parts, ...request.tools].some((item) => 'cache' in item && item.cache)) dropped.add('cache');
}
