/** Request decoder of generateContent. */

import type { ChatRequest, ResponseFormat } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { unreadFields } from '../../core/losses.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { decodeContents, decodeInstruction, isUnknownDetail } from './content-decoder.ts';
import { decodeReasoning, isUnknownLevel } from './reasoning.ts';
import { fromSchemaForm } from './schema.ts';
import { camelCased } from './spelling.ts';
import { decodeToolChoice, decodeTools } from './tool-decoder.ts';

/** Members that are read; others are reported as dropped. */
const FIELDS = new Set([
  'model',
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'serviceTier',
  'cachedContent',
  'continuationToken',
]);

const CONFIG_FIELDS = new Set([
  'temperature',
  'topP',
  'topK',
  'candidateCount',
  'maxOutputTokens',
  'stopSequences',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'responseLogprobs',
  'logprobs',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  'responseModalities',
  'mediaResolution',
  'thinkingConfig',
]);

const TIERS: Record<string, ChatRequest['tier']> = { flex: 'flex', standard: 'default', priority: 'priority' };

export function decodeRequest(body: Json): ChatRequest {
  const spelled = camelCased(body);
  const request = spelled.generateContentRequest ?? spelled;
  refuse(request);
  const config = request.generationConfig ?? {};
  const { turns, dropped } = decodeContents(request.contents, config.mediaResolution);
  const instruction = decodeInstruction(request.systemInstruction);
  const { tools, webSearch, dropped: droppedOfTools } = decodeTools(request.tools);
  const toolChoice = tools.length > 0 ? decodeToolChoice(request.toolConfig) : undefined;
  const tier = decodeTier(request.serviceTier);
  const reasoning = decodeReasoning(config.thinkingConfig);
  return {
    stream: false,
    turns: [...instruction.turns, ...turns],
    tools,
    ...(toolChoice && { toolChoice }),
    ...(webSearch && { webSearch }),
    ...decodeSampling(config),
    ...decodeOutput(config),
    ...(reasoning && { reasoning }),
    ...(tier && { tier }),
    dropped: [...unreadIn(request), ...droppedOfTools, ...instruction.dropped, ...dropped],
  };
}

const MODALITIES = ['text', 'image', 'audio', 'video'] as const;

/** Throws for members that refer to content stored at Google, and for forms of the answer that the hub does not have. */
function refuse(request: Json): void {
  for (const name of ['cachedContent', 'continuationToken']) {
    if (!request[name]) continue;
    const message = `${name} refers to what a Google account holds and is not available for this model.`;
    throw new GatewayError('unsupported_parameter', message, { param: name });
  }
  const { responseFormat, responseModalities } = request.generationConfig ?? {};
  if (!isAbsent(responseFormat)) {
    const param = 'generationConfig.responseFormat';
    const message = `${param} is not available for this model; use responseMimeType and responseJsonSchema.`;
    throw new GatewayError('unsupported_parameter', message, { param });
  }
  const known: readonly string[] = [...MODALITIES, 'modality_unspecified'];
  const other = (responseModalities ?? []).find((name: string) => !known.includes(name.toLowerCase()));
  if (other !== undefined) {
    const param = 'generationConfig.responseModalities';
    const message = `${param} must be of TEXT, IMAGE, AUDIO and VIDEO for this model, not ${other}.`;
    throw new GatewayError('unsupported_modality', message, { param });
  }
}

/** Undefined for unspecified values and values without a hub equivalent. */
function decodeTier(tier: Json): ChatRequest['tier'] {
  return lookUp(TIERS, tier?.toLowerCase().replace(/^service_tier_/, ''));
}

function isUnknownTier(tier: Json): boolean {
  return Boolean(tier) && decodeTier(tier) === undefined && !/unspecified$/i.test(tier);
}

const TOOL_CONFIG = new Set(['functionCallingConfig']);
/** Known members; `streamFunctionCallArguments` has no effect, because other protocols always stream arguments. */
const CALLING = new Set(['mode', 'allowedFunctionNames', 'streamFunctionCallArguments']);
const THINKING = new Set(['includeThoughts', 'thinkingBudget', 'thinkingLevel']);

function unreadIn(request: Json): string[] {
  const { generationConfig: config, toolConfig } = request;
  return [
    ...unreadFields(request, FIELDS),
    ...(isUnknownTier(request.serviceTier) ? ['serviceTier'] : []),
    ...unreadFields(config, CONFIG_FIELDS, 'generationConfig.'),
    ...(isUnknownDetail(config?.mediaResolution) ? ['generationConfig.mediaResolution'] : []),
    ...unreadFields(config?.thinkingConfig, THINKING, 'generationConfig.thinkingConfig.'),
    ...(isUnknownLevel(config?.thinkingConfig) ? ['generationConfig.thinkingConfig.thinkingLevel'] : []),
    ...unreadFields(toolConfig, TOOL_CONFIG, 'toolConfig.'),
    ...unreadFields(toolConfig?.functionCallingConfig, CALLING, 'toolConfig.functionCallingConfig.'),
  ];
}

/** Clients send empty lists and nulls for members that they don't use. */
function isAbsent(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
}

function decodeSampling(config: Json): Partial<ChatRequest> {
  const stop = (config.stopSequences ?? []).filter((text: string) => text !== '');
  const entries = {
    maxTokens: config.maxOutputTokens,
    temperature: config.temperature,
    topP: config.topP,
    topK: config.topK,
    frequencyPenalty: config.frequencyPenalty,
    presencePenalty: config.presencePenalty,
    seed: config.seed,
    stop: stop.length > 0 ? stop : undefined,
    candidates: config.candidateCount > 1 ? config.candidateCount : undefined,
    logprobs: config.responseLogprobs ? (config.logprobs ?? 0) : undefined,
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => !isAbsent(value)));
}

function decodeOutput(config: Json): Partial<ChatRequest> {
  const format = decodeFormat(config);
  const named: string[] = (config.responseModalities ?? []).map((name: string) => name.toLowerCase());
  const modalities = MODALITIES.filter((name) => named.includes(name));
  const other = modalities.some((name) => name !== 'text');
  return { ...(format && { format }), ...(other && { modalities }) };
}

function decodeFormat(config: Json): ResponseFormat | undefined {
  const schema = config.responseJsonSchema ?? (config.responseSchema ? fromSchemaForm(config.responseSchema) : null);
  const type = config.responseMimeType || (schema === null ? 'text/plain' : 'application/json');
  if (type === 'text/plain') return undefined;
  if (type !== 'application/json') {
    const param = 'generationConfig.responseMimeType';
    const message = `${param} must be text/plain or application/json for this model, not ${type}.`;
    throw new GatewayError('unsupported_parameter', message, { param });
  }
  return schema === null ? { type: 'json' } : { type: 'schema', schema };
}
