/** LiteLLM's `model_prices_and_context_window.json`: models by id, flat fields, prices in USD per token. */

import { isObject, type Json } from '../../core/json/json.ts';
import type { Modality, PriceTier, Pricing } from '../../core/model.ts';
import { exactPrice } from '../decimal.ts';
import { parseModalities, sortedTiers } from '../facts.ts';
import { byLifetime, count, longPromptOf, pricing, type SourceFormat, type SourceModel } from './source.ts';

const PROVIDERS: Record<string, string> = { gemini: 'google', cohere_chat: 'cohere' };

export const liteLlm: SourceFormat = {
  name: 'litellm',
  detect: (body) => isObject(body) && Object.values(body).some((model) => typeof model?.litellm_provider === 'string'),
  read: (body) =>
    Object.entries(body)
      .filter(([id, model]: [string, Json]) => id !== 'sample_spec' && chats(model))
      .map(([id, model]) => read(id, model)),
};

function chats(model: Json): boolean {
  if (model?.mode !== 'chat') return false;
  return !Array.isArray(model.supported_endpoints) || model.supported_endpoints.includes('/v1/chat/completions');
}

function read(key: string, model: Json): SourceModel {
  const named: string = model.litellm_provider;
  const provider = PROVIDERS[named] ?? named;
  const priceTiers = tiersOf(provider, model);
  return {
    provider,
    entry: {
      id: key.startsWith(`${named}/`) ? key.slice(named.length + 1) : key,
      contextLength: count(model.max_input_tokens) ?? count(model.max_tokens),
      maxOutput: count(model.max_output_tokens),
      inputModalities: inputsOf(model),
      outputModalities: parseModalities(model.supported_output_modalities),
      expirationDate: model.deprecation_date,
      pricing: byLifetime(provider, pricesOf(model, '')),
      ...(priceTiers.length > 0 && { priceTiers: sortedTiers(priceTiers) }),
    },
    abilities: {
      tools: model.supports_function_calling === true,
      schema: model.supports_response_schema === true,
      reasoning: model.supports_reasoning === true,
    },
  };
}

/** Undefined if the entry lists none, so that values of other sources stay. */
function inputsOf(model: Json): Modality[] | undefined {
  const said = [
    'supports_vision',
    'supports_image_input',
    'supports_pdf_input',
    'supports_audio_input',
    'supports_video_input',
  ];
  if (!said.some((flag) => flag in model)) return parseModalities(model.supported_modalities);
  return parseModalities([
    'text',
    ...(model.supports_vision || model.supports_image_input ? ['image'] : []),
    ...(model.supports_pdf_input ? ['file'] : []),
    ...(model.supports_audio_input ? ['audio'] : []),
    ...(model.supports_video_input ? ['video'] : []),
  ]);
}

function tiersOf(provider: string, model: Json): PriceTier[] {
  const suffixes = new Set(Object.keys(model).map((key) => /_above_\d+k_tokens$/.exec(key)?.[0]));
  return [...suffixes]
    .filter((suffix) => suffix !== undefined)
    .map((suffix) => ({
      minPromptTokens: longPromptOf(provider, Number(/\d+/.exec(suffix)?.[0]) * 1000),
      pricing: byLifetime(provider, pricesOf(model, suffix)),
    }));
}

function pricesOf(model: Json, suffix: string): Pricing {
  return pricing({
    prompt: exactPrice(model[`input_cost_per_token${suffix}`]),
    completion: exactPrice(model[`output_cost_per_token${suffix}`]),
    input_cache_read: exactPrice(model[`cache_read_input_token_cost${suffix}`]),
    input_cache_write: exactPrice(model[`cache_creation_input_token_cost${suffix}`]),
    input_cache_write_1h: exactPrice(model[`cache_creation_input_token_cost_above_1hr${suffix}`]),
    internal_reasoning: exactPrice(model[`output_cost_per_reasoning_token${suffix}`]),
    audio: exactPrice(model[`input_cost_per_audio_token${suffix}`]),
    audio_output: exactPrice(model[`output_cost_per_audio_token${suffix}`]),
    input_audio_cache: exactPrice(model[`cache_read_input_audio_token_cost${suffix}`]),
    image_output: exactPrice(model[`output_cost_per_image_token${suffix}`]),
    ...(suffix === '' && searchPriceOf(model)),
  });
}

/** Google's unit is the request that searches, unless the list says otherwise; that of all others is the search. */
function searchPriceOf(model: Json): Record<string, string | undefined> {
  const price = exactPrice(model.search_context_cost_per_query?.search_context_size_medium);
  const isBilledOnce = model.litellm_provider === 'gemini' && model.web_search_billing_unit !== 'per_query';
  return { [isBilledOnce ? 'web_search_request' : 'web_search']: price };
}
