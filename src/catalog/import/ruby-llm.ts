/** The model registry of ruby_llm: an array of models with prices per million tokens, gathered from models.dev and providers. */

import type { Json } from '../../core/json/json.ts';
import type { PriceTier, Pricing } from '../../core/model.ts';
import { pricePerToken } from '../decimal.ts';
import { parseModalities, sortedTiers } from '../facts.ts';
import { costTiers } from './models-dev.ts';
import { byLifetime, count, longPromptOf, pricing, type SourceFormat, type SourceModel, seconds } from './source.ts';

const PROVIDERS: Record<string, string> = { gemini: 'google' };

export const rubyLlm: SourceFormat = {
  name: 'ruby-llm',
  detect: (body) => Array.isArray(body) && body[0]?.modalities !== undefined && body[0]?.provider !== undefined,
  read: (body) => body.map(read),
};

function read(model: Json): SourceModel {
  const provider = PROVIDERS[model.provider] ?? model.provider;
  const { metadata, capabilities } = model;
  const { architecture, top_provider: top } = metadata;
  const priceTiers = tiersOf(provider, model);
  return {
    provider,
    entry: {
      id: model.id,
      name: model.name,
      created: seconds(model.created_at),
      contextLength: count(top?.context_length) ?? count(model.context_window),
      maxOutput: count(top?.max_completion_tokens) ?? count(model.max_output_tokens),
      inputModalities: parseModalities(architecture?.input_modalities ?? model.modalities.input),
      outputModalities: parseModalities(architecture?.output_modalities ?? model.modalities.output),
      tokenizer: architecture?.tokenizer,
      instructType: architecture?.instruct_type ?? undefined,
      version: metadata.version,
      isModerated: top?.is_moderated,
      supportedParameters: metadata.supported_parameters,
      pricing: byLifetime(
        provider,
        pricesOf(model.pricing.text_tokens?.standard, model.pricing.audio_tokens?.standard),
      ),
      ...(priceTiers.length > 0 && { priceTiers: sortedTiers(priceTiers) }),
    },
    abilities: {
      tools: capabilities.includes('function_calling'),
      schema: capabilities.includes('structured_output'),
      reasoning: capabilities.includes('reasoning'),
    },
    nameOnly: metadata.limit === undefined && top === undefined,
  };
}

function pricesOf(text: Json, audio?: Json): Pricing {
  return pricing({
    prompt: pricePerToken(text?.input_per_million),
    completion: pricePerToken(text?.output_per_million),
    input_cache_read: pricePerToken(text?.cache_read_input_per_million),
    input_cache_write: pricePerToken(text?.cache_write_input_per_million),
    internal_reasoning: pricePerToken(text?.reasoning_output_per_million),
    audio: pricePerToken(audio?.input_per_million),
    audio_output: pricePerToken(audio?.output_per_million),
  });
}

/** The registry has one tier; the embedded models.dev object, if present, has all. */
function tiersOf(provider: string, model: Json): PriceTier[] {
  const all = costTiers(provider, model.metadata.cost);
  if (all.length > 0) return all;
  const border = count(model.pricing.text_tokens?.long_context_threshold);
  if (border === undefined) return [];
  const minPromptTokens = longPromptOf(provider, border);
  return [{ minPromptTokens, pricing: byLifetime(provider, pricesOf(model.pricing.text_tokens.long_context)) }];
}
