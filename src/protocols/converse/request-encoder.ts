/** Request encoder of Converse. */

import type { ChatRequest, Effort, ReasoningRequest, Turn } from '../../core/chat.ts';
import { effortOf, nearestEffort } from '../../core/effort.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { createSchemaBudget } from '../../core/json/schema-budget.ts';
import { unsupportedTurnDetails } from '../../core/losses.ts';
import type { EncodedRequest, Target } from '../../core/operation.ts';
import { settleWebSearch } from '../../core/web-search.ts';
import { createDocumentNames, encodePart, type RequestEncoding } from './content-encoder.ts';
import { familyOf } from './families.ts';
import { encodeFormat, encodeTools } from './format.ts';
import { encodeTurns } from './turn-encoder.ts';

/** Parameters that this protocol does not have. */
const UNSUPPORTED = [
  'frequencyPenalty',
  'presencePenalty',
  'seed',
  'logprobs',
  'logitBias',
  'verbosity',
  'cacheKey',
  'metadata',
  'user',
  'audio',
] as const satisfies readonly (keyof ChatRequest)[];

const SUPPORTED_DETAILS = {
  protocol: 'converse',
  names: false,
  media: { document: ['title'], text: ['title'] },
} as const;

const TIERS: Partial<Record<string, string>> = { default: 'default', flex: 'flex', priority: 'priority' };
/** Cache points of one request; the last ones cover the longest beginnings. */
const MAX_CACHE_POINTS = 4;

/** Throws `unsupported_*` for output modalities other than text, several answers, and a search that the model does not have. */
export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  refuseOtherKinds(request);
  const { rules, model } = target;
  const family = familyOf(model);
  const dropped = new Set(unsupportedTurnDetails(request.turns, SUPPORTED_DETAILS));
  const encoding: RequestEncoding = { target, family, nameDocument: createDocumentNames(), dropped };
  const options = { rules, family, schemas: createSchemaBudget(), dropped };
  const [leading, conversation] = splitSystem(request.turns);
  const hasCalls = conversation.some(({ parts }) => parts.some(({ type }) => type === 'call'));
  const { tools, choice, instructions } = encodeTools(request, options, hasCalls);
  const search = encodeSearch(request, encoding);
  const own = encodeReasoning(request, encoding);
  const isAlone = tools.length === 0 && search.length === 0 && !hasCalls && !isReasoning(own);
  const format = encodeFormat(request.format, options, isAlone);
  const wire = [...tools, ...search, ...(format.tool ? [format.tool] : [])];
  const system = encodeSystem(leading, [...instructions, ...format.instructions], encoding);
  const messages = encodeTurns(conversation, encoding, wire.length === 0);
  const inferenceConfig = encodeSampling(request, own, encoding);
  const toolChoice = format.tool ? { tool: { name: format.tool.toolSpec.name } } : choice;
  const tier = TIERS[request.tier ?? ''];
  if (request.tier === 'ultrafast') dropped.add('tier');
  for (const name of UNSUPPORTED) if (request[name] !== undefined) dropped.add(name);
  const body = {
    messages,
    ...(system.length > 0 && { system }),
    ...(Object.keys(inferenceConfig).length > 0 && { inferenceConfig }),
    ...(wire.length > 0 && { toolConfig: { tools: wire, ...(toolChoice && { toolChoice }) } }),
    ...(Object.keys(own).length > 0 && { additionalModelRequestFields: own }),
    ...(format.output && { outputConfig: format.output }),
    ...(tier && { serviceTier: { type: tier } }),
  };
  limitCachePoints([system, ...messages.map(({ content }) => content)]);
  return { body, dropped: [...dropped] };
}

function refuseOtherKinds(request: ChatRequest): void {
  if ((request.candidates ?? 1) > 1) {
    const message = 'The model gives one answer at a time; ask for one.';
    throw new GatewayError('unsupported_parameter', message, { param: 'candidates' });
  }
  const other = request.modalities?.find((modality) => modality !== 'text');
  if (other === undefined) return;
  const message = `The model answers with text only, not with ${other}.`;
  throw new GatewayError('unsupported_modality', message, { param: 'modalities' });
}

/** The system turns before the conversation, and the conversation. */
function splitSystem(turns: Turn[]): [Turn[], Turn[]] {
  const start = turns.findIndex(({ role }) => role !== 'system');
  const count = start < 0 ? turns.length : start;
  return [turns.slice(0, count), turns.slice(count)];
}

function encodeSystem(turns: Turn[], instructions: string[], encoding: RequestEncoding): Json[] {
  const parts = turns.flatMap((turn) => turn.parts).filter((part) => part.type === 'text');
  return [...parts.flatMap((part) => encodePart(part, encoding)), ...instructions.map((text) => ({ text }))];
}

/** The search that the platform runs for the model; beside other tools only where the rules of the model say so. */
function encodeSearch(request: ChatRequest, { target, family, dropped }: RequestEncoding): Json[] {
  const { search: name } = family;
  const isSupported = name !== undefined && (target.rules.webSearch ?? !request.webSearch?.optional);
  const search = settleWebSearch(request, isSupported, (parameter) => dropped.add(parameter));
  if (!search) return [];
  if (search.contextSize !== undefined) dropped.add('webSearch.contextSize');
  if (search.location !== undefined) dropped.add('webSearch.location');
  return [{ systemTool: { name } }];
}

/** Efforts of Nova, and of models with `reasoning_effort`, where their rules say nothing else. */
const EFFORTS: readonly Effort[] = ['low', 'medium', 'high'];
/** Output that efforts are shares of, for a model whose own is unknown. */
const USUAL_OUTPUT = 16_384;

/** Members among the fields of the model's own that ask for reasoning. */
function encodeReasoning({ reasoning, maxTokens }: ChatRequest, { target, family, dropped }: RequestEncoding): Json {
  const { rules } = target;
  if (!reasoning) return {};
  const isOff = reasoning.effort === 'none' || reasoning.budget === 0;
  const isFixed = rules.reasoning === 'none' || rules.reasoning === 'always';
  const way = isFixed ? undefined : (family.reasoning ?? (rules.reasoning && 'effort'));
  if (!way) {
    if (!isOff || rules.reasoning === 'always') dropped.add('reasoning');
    return {};
  }
  if (isOff) return way === 'nova' ? { reasoningConfig: { type: 'disabled' } } : {};
  const wanted = wantedEffort(reasoning, rules.maxOutput ?? USUAL_OUTPUT);
  const effort = nearestEffort(wanted, rules.efforts ?? EFFORTS) ?? wanted;
  if (way === 'effort') return { reasoning_effort: effort };
  // The highest effort takes no output limit.
  const isLimited = effort === 'high' && maxTokens !== undefined;
  if (isLimited) dropped.add('reasoning.effort');
  return { reasoningConfig: { type: 'enabled', maxReasoningEffort: isLimited ? 'medium' : effort } };
}

function wantedEffort({ effort, budget = -1 }: ReasoningRequest, largestOutput: number): Effort {
  return effort ?? (budget > 0 ? effortOf(budget, largestOutput) : 'medium');
}

function isReasoning({ reasoningConfig, reasoning_effort: effort }: Json): boolean {
  return effort !== undefined || reasoningConfig?.type === 'enabled';
}

const SAMPLING = ['temperature', 'topP', 'topK'] as const;

/** `inferenceConfig`; `own` gets `top_k`, which is a field of the model's own. */
function encodeSampling(request: ChatRequest, own: Json, { target, family, dropped }: RequestEncoding): Json {
  const { rules } = target;
  const { maxTokens, temperature, topP, topK, stop = [] } = request;
  const config: Json = {};
  if (maxTokens !== undefined) config.maxTokens = Math.min(maxTokens, rules.maxOutput || maxTokens);
  const stops = rules.stop === false ? [] : stop.filter((text) => text.trim() !== '');
  if (stops.length > 0) config.stopSequences = stops;
  if (stops.length < stop.length) dropped.add('stop');
  const isRefused =
    rules.sampling === 'never' ||
    (rules.sampling === 'without-reasoning' && isReasoning(own)) ||
    own.reasoningConfig?.maxReasoningEffort === 'high';
  if (isRefused) {
    for (const name of SAMPLING) if (request[name] !== undefined) dropped.add(name);
    return config;
  }
  if (temperature !== undefined) config.temperature = Math.min(temperature, 1);
  if (topP !== undefined && temperature !== undefined && rules.bothSampling === false) dropped.add('topP');
  else if (topP !== undefined) config.topP = topP;
  if (topK === undefined) return config;
  if (family.topK) setAt(own, family.topK, topK);
  else dropped.add('topK');
  return config;
}

function setAt(holder: Json, [name = '', ...rest]: readonly string[], value: Json): void {
  if (rest.length === 0) holder[name] = value;
  else {
    holder[name] ??= {};
    setAt(holder[name], rest, value);
  }
}

/** Removes points directly behind another, and the first ones of too many. */
function limitCachePoints(lists: Json[][]): void {
  const places = lists.flatMap((list) =>
    list.filter((block, index) => isCachePoint(block) && !isCachePoint(list[index - 1])),
  );
  let excess = places.length - MAX_CACHE_POINTS;
  for (const list of lists) {
    let size = 0;
    let previous: Json;
    for (const block of list) {
      const isRemoved = isCachePoint(block) && (isCachePoint(previous) || excess-- > 0);
      previous = block;
      if (!isRemoved) list[size++] = block;
    }
    list.length = size;
  }
}

function isCachePoint(block: Json): boolean {
  return block?.cachePoint !== undefined;
}

/** Sets the limit of a body in place. The highest effort of Nova, which takes no limit, is lowered. */
export function limitOutput(body: Json, tokens: number): void {
  body.inferenceConfig = Object.assign(isObject(body.inferenceConfig) ? body.inferenceConfig : {}, {
    maxTokens: tokens,
  });
  const reasoning = body.additionalModelRequestFields?.reasoningConfig;
  if (reasoning?.maxReasoningEffort === 'high') reasoning.maxReasoningEffort = 'medium';
}
