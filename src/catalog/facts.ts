/** Parsing of modalities and prices in the notations of sources. */

import { isObject, type Json } from '../core/json/json.ts';
import type { Modality, PriceTier, Pricing } from '../core/model.ts';
import { PRICE_NAMES } from '../core/prices.ts';
import { exactPrice } from './decimal.ts';

const MODALITIES: Record<string, Modality> = {
  text: 'text',
  image: 'image',
  file: 'file',
  pdf: 'file',
  audio: 'audio',
  video: 'video',
  embeddings: 'embeddings',
};

/** Known modalities in a fixed order; unknown ones are skipped, so the list may be empty. */
export function parseModalities(value: Json): Modality[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const found = new Set(value.map((name) => MODALITIES[name]));
  return [...new Set(Object.values(MODALITIES))].filter((modality) => found.has(modality));
}

/** Parses OpenRouter's pricing object. Prices by time of day and negative ones (`-1`: variable) are skipped. */
export function openRouterPrices(value: Json): { pricing: Pricing; priceTiers?: PriceTier[] } {
  const tiers: PriceTier[] = (Array.isArray(value.overrides) ? value.overrides : [])
    .filter((tier: Json) => isObject(tier) && Number(tier.min_prompt_tokens) > 0)
    .map((tier: Json) => ({ minPromptTokens: Number(tier.min_prompt_tokens), pricing: knownPrices(tier) }));
  return { pricing: knownPrices(value), ...(tiers.length > 0 && { priceTiers: sortedTiers(tiers) }) };
}

/** Price tiers by `minPromptTokens`, ascending. */
export function sortedTiers(tiers: PriceTier[]): PriceTier[] {
  return tiers.toSorted((one, other) => one.minPromptTokens - other.minPromptTokens);
}

function knownPrices(value: Json): Pricing {
  const pricing: Pricing = {};
  for (const key of PRICE_NAMES) {
    const exact = exactPrice(value[key]);
    if (exact !== undefined) pricing[key] = exact;
  }
  return pricing;
}
