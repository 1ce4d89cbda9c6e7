/** The `api.json` of models.dev: providers by id, each with its models by id, costs in USD per million tokens. */

import { isObject, type Json } from '../../core/json/json.ts';
import type { PriceTier, Pricing } from '../../core/model.ts';
import { pricePerToken } from '../decimal.ts';
import { parseModalities, sortedTiers } from '../facts.ts';
import { byLifetime, count, longPromptOf, pricing, type SourceFormat, type SourceModel, seconds } from './source.ts';

export const modelsDev: SourceFormat = {
  name: 'models-dev',
  detect: (body) => isObject(body) && Object.values(body).some((provider) => isObject(provider?.models)),
  read: (body) =>
    Object.entries(body).flatMap(([provider, { models }]: [string, Json]) =>
      Object.entries(models ?? {}).map(([id, model]) => read(provider, id, model)),
    ),
};

function read(provider: string, id: string, model: Json): SourceModel {
  const priceTiers = costTiers(provider, model.cost);
  return {
    provider,
    entry: {
      id,
      name: model.name,
      created: seconds(model.release_date),
      contextLength: count(model.limit?.context),
      maxOutput: count(model.limit?.output),
      inputModalities: parseModalities(model.modalities?.input),
      outputModalities: parseModalities(model.modalities?.output),
      ...(model.cost && { pricing: byLifetime(provider, pricesOf(model.cost)) }),
      ...(priceTiers.length > 0 && { priceTiers: sortedTiers(priceTiers) }),
    },
    abilities: {
      tools: model.tool_call === true,
      schema: model.structured_output === true,
      reasoning: model.reasoning === true,
    },
  };
}

/** Newer entries list their tiers, older ones have the one above 200,000 tokens. */
export function costTiers(provider: string, cost: Json): PriceTier[] {
  const listed = (cost?.tiers ?? []).filter((tier: Json) => tier.tier?.type === 'context' && count(tier.tier.size));
  const tiers = listed.map((tier: Json) => ({ from: Number(tier.tier.size), cost: tier }));
  if (tiers.length === 0 && cost?.context_over_200k) tiers.push({ from: 200_000, cost: cost.context_over_200k });
  return tiers.map(({ from, cost }: { from: number; cost: Json }) => ({
    minPromptTokens: longPromptOf(provider, from),
    pricing: byLifetime(provider, pricesOf(cost)),
  }));
}

function pricesOf(cost: Json): Pricing {
  return pricing({
    prompt: pricePerToken(cost.input),
    completion: pricePerToken(cost.output),
    input_cache_read: pricePerToken(cost.cache_read),
    input_cache_write: pricePerToken(cost.cache_write),
    internal_reasoning: pricePerToken(cost.reasoning),
    audio: pricePerToken(cost.input_audio),
    audio_output: pricePerToken(cost.output_audio),
  });
}
