/** Cost of a response by catalog prices, as an exact integer of 1e-12 USD. */

import type { Usage } from '../core/chat.ts';
import type { CatalogModel, Pricing } from '../core/model.ts';
import { priceOfPieces } from '../core/money.ts';
import { boundCost, boundCount } from '../core/usage-bounds.ts';

/** Price names by kind of token, in order of preference. */
const PRICE_NAMES = {
  input: ['prompt'],
  cached: ['input_cache_read', 'prompt'],
  cachedAudio: ['input_audio_cache', 'input_cache_read', 'audio', 'prompt'],
  cacheWrite: ['input_cache_write_5m', 'input_cache_write', 'prompt'],
  cacheWrite1h: ['input_cache_write_1h', 'input_cache_write', 'prompt'],
  audioInput: ['audio', 'prompt'],
  imageInput: ['image_token', 'image', 'prompt'],
  output: ['completion'],
  reasoning: ['internal_reasoning', 'completion'],
  audioOutput: ['audio_output', 'completion'],
  imageOutput: ['image_output', 'completion'],
  searches: ['web_search'],
  requests: ['request'],
} satisfies Record<string, string[]>;

type TokenKind = keyof typeof PRICE_NAMES;

/** Zero for models without prices. Every token is charged once, as its most specific kind. */
export function costOf(model: Pick<CatalogModel, 'pricing' | 'priceTiers'>, usage: Usage): bigint {
  const prices = pricesAt(model, usage.input);
  let cost = 0n;
  for (const [kind, count] of Object.entries(countsOf(usage)))
    cost += priceOfPieces(boundCount(count) ?? 0, priceOf(prices, kind as TokenKind));
  return boundCost(cost);
}

/** Prices of a model, overridden by the tiers that the prompt reaches. */
export function pricesAt(
  { pricing, priceTiers = [] }: Pick<CatalogModel, 'pricing' | 'priceTiers'>,
  input: number,
): Pricing {
  const reached = priceTiers.filter(({ minPromptTokens }) => input >= minPromptTokens);
  return Object.assign({}, pricing, ...reached.map((tier) => tier.pricing));
}

function priceOf(prices: Pricing, kind: TokenKind): string {
  const name = PRICE_NAMES[kind].find((candidate) => prices[candidate] !== undefined);
  return name === undefined ? '0' : (prices[name] as string);
}

/** Disjoint counts by kind. If an upstream reports a part larger than the whole, the part is charged. */
function countsOf(usage: Usage): Record<TokenKind, number> {
  const { cached = 0, cacheWrite = 0, cacheWrite1h = 0, reasoning = 0, audioOutput = 0, imageOutput = 0 } = usage;
  const cachedAudio = Math.min(usage.cachedAudio ?? 0, cached);
  const audioInput = remainder(usage.audioInput ?? 0, cachedAudio);
  const others = cached + cacheWrite + audioInput;
  // Image tokens that exceed the uncached input are part of the cached tokens.
  const images = remainder(usage.imageInput ?? 0, usage.cachedImage ?? 0);
  const imageInput = Math.min(images, remainder(usage.input, others));
  return {
    input: remainder(usage.input, others + imageInput),
    cached: remainder(cached, cachedAudio),
    cachedAudio,
    cacheWrite: remainder(cacheWrite, cacheWrite1h),
    cacheWrite1h,
    audioInput,
    imageInput,
    output: remainder(usage.output, reasoning + audioOutput + imageOutput),
    reasoning,
    audioOutput,
    imageOutput,
    searches: usage.searches ?? 0,
    requests: 1,
  };
}

function remainder(whole: number, parts: number): number {
  return Math.max(0, whole - parts);
}
