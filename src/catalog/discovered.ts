/** Model discovery: parsing of upstream model lists in their various formats. */

import { isObject, type Json, textOf } from '../core/json/json.ts';
import type { CatalogModel, Modality, Pricing } from '../core/model.ts';
import { type KnownEntries, listedModel } from './bundled.ts';
import { pricePerToken } from './decimal.ts';
import type { CatalogEntry } from './entry.ts';
import { openRouterPrices, parseModalities } from './facts.ts';
import type { Abilities } from './parameters.ts';
import { isReachable } from './rules.ts';

/**
 * Parses an upstream's model list: `{data: [...]}`, `{models: [...]}` or an array. Omitted fields come from the bundled
 * model of the same id. Models that neither chat nor embed are skipped.
 */
export function discoveredModels(
  provider: string,
  body: Json,
  vendor = provider,
  known?: KnownEntries,
): CatalogModel[] {
  const models = Array.isArray(body) ? body : (body?.data ?? body?.models ?? []);
  if (!Array.isArray(models)) return [];
  return models
    .filter((model) => isObject(model) && typeof (model.id ?? model.name) === 'string' && isUsable(model))
    .map((model) => ({ entry: entryOf(provider, model), abilities: abilitiesOf(model) }))
    .filter(({ entry }) => isReachable(vendor, entry.id))
    .map((listed) => listedModel(provider, listed, vendor, known))
    .filter(({ inputModalities, outputModalities }) => {
      const hasOutput = outputModalities.includes('text') || outputModalities.includes('embeddings');
      return hasOutput && inputModalities.includes('text');
    });
}

function isUsable(model: Json): boolean {
  return model.active !== false && (isEmbedding(model) || canChat(model));
}

/** Whether a model in a list of Together, Mistral, Google or LM Studio creates embeddings. */
function isEmbedding(model: Json): boolean {
  const methods = model.supportedGenerationMethods;
  if (Array.isArray(methods)) return methods.includes('embedContent') && !methods.includes('generateContent');
  return ['embedding', 'embeddings'].includes(model.type ?? model.capabilities?.type);
}

function canChat(model: Json): boolean {
  if (Array.isArray(model.supportedGenerationMethods))
    return model.supportedGenerationMethods.includes('generateContent');
  if (typeof model.capabilities?.completion_chat === 'boolean') return model.capabilities.completion_chat;
  return !NON_CHAT_TYPES.has(model.type ?? model.capabilities?.type);
}

/** Model types of servers that don't chat. */
const NON_CHAT_TYPES = new Set([
  'embedding',
  'embeddings',
  'image',
  'audio',
  'rerank',
  'reranking',
  'moderation',
  'tts',
  'speech',
  'asr',
  'transcribe',
  'transcription',
  'realtime',
  'evaluation',
  'decision',
  'video',
]);

function entryOf(provider: string, model: Json): CatalogEntry {
  const server = soleProvider(model);
  const id: string = model.id ?? model.name;
  return {
    id: id.replace(/^models\//, ''),
    name: textOf(model.display_name ?? model.displayName ?? model.model_spec?.name ?? (model.id && model.name)),
    canonicalSlug: model.canonical_slug && `${provider}/${model.canonical_slug}`,
    created: createdOf(model),
    ownedBy: textOf(model.owned_by ?? model.organization),
    version: textOf(model.version),
    contextLength: count(
      model.max_model_len ??
        model.context_length ??
        model.context_window ??
        model.max_context_length ??
        model.max_input_tokens ??
        model.inputTokenLimit ??
        server?.context_length ??
        model.metadata?.context_length ??
        model.meta?.n_ctx_train,
    ),
    maxOutput: count(
      model.top_provider?.max_completion_tokens ??
        model.max_completion_tokens ??
        model.max_output_length ??
        model.max_tokens ??
        model.outputTokenLimit ??
        model.metadata?.max_tokens ??
        model.model_spec?.maxCompletionTokens,
    ),
    inputModalities: inputsOf(model),
    outputModalities: isEmbedding(model)
      ? ['embeddings']
      : parseModalities(model.architecture?.output_modalities ?? model.output_modalities),
    tokenizer: textOf(model.architecture?.tokenizer),
    instructType: textOf(model.architecture?.instruct_type),
    ...pricesOf(model),
    isModerated: model.top_provider?.is_moderated ?? undefined,
    supportedParameters: Array.isArray(model.supported_parameters) ? model.supported_parameters : undefined,
    expirationDate: textOf(model.expiration_date ?? model.shutdown_date ?? model.deprecation)?.slice(0, 10),
  };
}

/** Lists of routers name several servers per model; the facts of a server apply only if it is the only one. */
function soleProvider(model: Json): Json {
  return Array.isArray(model.providers) && model.providers.length === 1 ? model.providers[0] : undefined;
}

function inputsOf(model: Json): Modality[] | undefined {
  const given = parseModalities(model.architecture?.input_modalities ?? model.input_modalities);
  const { capabilities } = model;
  if (given || !isObject(capabilities)) return given;
  const vision = capabilities.vision ?? capabilities.image_input?.supported;
  if (typeof vision !== 'boolean') return undefined;
  const found: Modality[] = ['text'];
  if (vision) found.push('image');
  if (capabilities.pdf_input?.supported) found.push('file');
  if (capabilities.audio === true) found.push('audio');
  return found;
}

function abilitiesOf(model: Json): Abilities | undefined {
  const { capabilities } = model;
  if (typeof capabilities?.function_calling === 'boolean') {
    const tools = capabilities.function_calling;
    return { tools, schema: tools, reasoning: capabilities.reasoning === true };
  }
  if (isObject(capabilities?.thinking)) {
    const schema = capabilities.structured_outputs?.supported === true;
    return { tools: true, schema, reasoning: capabilities.thinking.supported === true };
  }
  if (Array.isArray(model.supportedGenerationMethods)) {
    return { tools: true, schema: true, reasoning: model.thinking === true };
  }
  return undefined;
}

/** Strings are USD per token, numbers USD per million tokens. */
function pricesOf(model: Json): Pick<CatalogEntry, 'pricing' | 'priceTiers'> {
  const pricing = model.pricing ?? soleProvider(model)?.pricing ?? model.model_spec?.pricing ?? model.metadata?.pricing;
  if (!isObject(pricing)) return {};
  if (typeof pricing.prompt === 'string') return openRouterPrices(pricing);
  const input = pricing.input?.usd ?? pricing.input ?? pricing.input_tokens;
  const output = pricing.output?.usd ?? pricing.output ?? pricing.output_tokens;
  if (typeof input === 'string')
    return openRouterPrices({ ...pricing, prompt: input, completion: output, overrides: overridesOf(pricing) });
  const prices: [key: string, perMillion: unknown][] = [
    ['prompt', input],
    ['completion', output],
    ['input_cache_read', pricing.cache_input?.usd ?? pricing.cached_input ?? pricing.cache_read_tokens],
  ];
  const known = prices.map(([key, perMillion]) => [key, pricePerToken(perMillion)]).filter(([, value]) => value);
  return known.length === 0 ? {} : { pricing: Object.fromEntries(known) as Pricing };
}

const TIER_LISTS = [
  ['prompt', 'input_tiers'],
  ['completion', 'output_tiers'],
  ['input_cache_read', 'input_cache_read_tiers'],
  ['input_cache_write', 'input_cache_write_tiers'],
] as const;

/** Prices of long prompts in the form of OpenRouter, from Vercel's lists of tiers, `{cost, min, max}`. */
function overridesOf(pricing: Json): Json[] {
  const found = new Map<number, Json>();
  for (const [key, list] of TIER_LISTS) {
    for (const tier of Array.isArray(pricing[list]) ? pricing[list] : []) {
      const start = count(tier?.min);
      if (start === undefined || pricePerToken(tier.cost) === undefined) continue;
      found.set(start, Object.assign(found.get(start) ?? { min_prompt_tokens: start }, { [key]: tier.cost }));
    }
  }
  return [...found.values()];
}

function createdOf(model: Json): number | undefined {
  const at = model.created ?? model.created_at;
  const seconds = typeof at === 'string' ? Math.floor(Date.parse(at) / 1000) : at;
  return Number.isSafeInteger(seconds) && seconds > 0 ? seconds : undefined;
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined;
}
