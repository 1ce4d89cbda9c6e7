/** What an answer costs by the catalog's prices, as an exact integer of 1e-12 USD. */

import type { Usage } from '../core/chat.ts';
import type { CatalogModel, Pricing } from '../core/model.ts';
import { moneyOf, times } from '../core/money.ts';

/** Prices of several kinds of tokens; where a model has no price for a kind, the kinds after it are asked. */
const KINDS = {
  input: ['prompt'],
  cached: ['input_cache_read', 'prompt'],
  cacheWrite: ['input_cache_write_5m', 'input_cache_write', 'prompt'],
  cacheWrite1h: ['input_cache_write_1h', 'input_cache_write', 'prompt'],
  audioInput: ['audio', 'prompt'],
  output: ['completion'],
  reasoning: ['internal_reasoning', 'completion'],
  audioOutput: ['audio_output', 'completion'],
  searches: ['web_search'],
  requests: ['request'],
} satisfies Record<string, string[]>;

type Kind = keyof typeof KINDS;

/** Zero for models without prices. Every count is charged once, as the most special kind it belongs to. */
export function costOf(model: Pick<CatalogModel, 'pricing' | 'priceTiers'>, usage: Usage): bigint {
  const prices = pricesAt(model, usage.input);
  const counts = countsOf(usage);
  let cost = 0n;
  for (const [kind, count] of Object.entries(counts))
    cost += times(moneyOf(String(count)), priceOf(prices, kind as Kind));
  return cost;
}

/** The model's prices with those of the highest tier that the prompt reaches above them. */
export function pricesAt(
  { pricing, priceTiers = [] }: Pick<CatalogModel, 'pricing' | 'priceTiers'>,
  input: number,
): Pricing {
  const reached = priceTiers.filter(({ minPromptTokens }) => input >= minPromptTokens);
  return Object.assign({}, pricing, ...reached.map((tier) => tier.pricing));
}

function priceOf(prices: Pricing, kind: Kind): string {
  const name = KINDS[kind].find((candidate) => prices[candidate] !== undefined);
  return name === undefined ? '0' : (prices[name] as string);
}

/** The parts of `input` and `output` taken apart. Upstreams that report a part larger than the whole are charged for the part. */
function countsOf(usage: Usage): Record<Kind, number> {
  const { cached = 0, cacheWrite = 0, cacheWrite1h = 0, audioInput = 0, reasoning = 0, audioOutput = 0 } = usage;
  return {
    input: rest(usage.input, cached + cacheWrite + audioInput),
    cached,
    cacheWrite: rest(cacheWrite, cacheWrite1h),
    cacheWrite1h,
    audioInput,
    output: rest(usage.output, reasoning + audioOutput),
    reasoning,
    audioOutput,
    searches: usage.searches ?? 0,
    requests: 1,
  };
}

function rest(whole: number, parts: number): number {
  return Math.max(0, whole - parts);
}
