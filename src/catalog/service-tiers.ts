/** Service tiers: processing of a request at another price than the standard one, such as `priority` and `flex`. */

import type { CatalogModel, PriceFactors, Prices, Pricing, ServiceTier } from '../core/model.ts';
import { STANDARD_TIERS } from '../core/standard-tier.ts';
import { lookUp } from '../core/table.ts';
import { multiplyPrice } from './decimal.ts';
import type { PricedModel } from './max-cost.ts';

/** Tiers that cost no more than the standard one: cheaper ones, and capacity that was bought in advance. */
const NOT_DEARER = new Set(['flex', 'batch', 'provisioned', 'reserved']);
/** Prices that are the same in all tiers: they are not of tokens. */
const UNIT_PRICES = new Set(['request', 'web_search']);

type TieredModel = Prices & Pick<CatalogModel, 'serviceTiers'>;

/** Whether the prices of a tier are not those of the standard one. */
export function isOtherTier(tier: string | undefined): tier is string {
  return Boolean(tier) && !STANDARD_TIERS.has(tier as string);
}

/** Whether the prices of a tier are known, and not assumed. */
export function hasTierPrices(model: TieredModel, tier: string): boolean {
  return tierNamed(model, tier) !== undefined;
}

/**
 * Prices of a tier. Without known ones these are the standard ones for a tier that is known to cost no more, and the
 * highest of the model for any other: what is charged is not less than what the provider bills.
 */
export function pricesInTier(model: TieredModel, tier: string | undefined): Prices {
  if (!isOtherTier(tier)) return model;
  const named = tierNamed(model, tier);
  if (named) return pricesOf(model, named);
  return NOT_DEARER.has(tier) ? model : highestPrices(model);
}

/** What a request that asks for a tier may cost: a provider that cannot serve the tier serves the standard one. */
export function possiblePrices<Model extends TieredModel & PricedModel>(
  model: Model,
  tier: string | undefined,
): PricedModel[] {
  const prices = pricesInTier(model, tier);
  return prices === model ? [model] : [model, { ...prices, outputModalities: model.outputModalities }];
}

/** A provider with one tier of the two calls it `priority` or `fast`. */
function tierNamed({ serviceTiers }: TieredModel, tier: string): ServiceTier | undefined {
  if (!serviceTiers) return undefined;
  return lookUp(serviceTiers, tier) ?? (tier === 'fast' ? lookUp(serviceTiers, 'priority') : undefined);
}

function highestPrices(model: TieredModel): Prices {
  const known = Object.values(model.serviceTiers ?? {}).map((tier) => pricesOf(model, tier));
  return known.reduce<Prices>((highest, prices) => (sumOf(prices) > sumOf(highest) ? prices : highest), model);
}

/** Of a token in and one out, to compare. */
function sumOf({ pricing: { prompt = '0', completion = '0' } }: Prices): number {
  return Number(prompt) + Number(completion);
}

function pricesOf(model: TieredModel, tier: ServiceTier): Prices {
  if ('pricing' in tier) return { pricing: { ...unitPrices(model.pricing), ...tier.pricing } };
  const { pricing, priceTiers } = model;
  const { factors } = tier;
  return {
    pricing: multiplied(pricing, factors),
    ...(priceTiers && {
      priceTiers: priceTiers.map((long) => ({ ...long, pricing: multiplied(long.pricing, factors) })),
    }),
  };
}

function multiplied(pricing: Pricing, factors: PriceFactors): Pricing {
  const prices = Object.entries(pricing).map(([name, price]) => {
    const factor = UNIT_PRICES.has(name) ? undefined : (lookUp(factors, name) ?? factors['*']);
    return [name, factor === undefined ? price : multiplyPrice(price, factor)];
  });
  return Object.fromEntries(prices);
}

function unitPrices(pricing: Pricing): Pricing {
  return Object.fromEntries(Object.entries(pricing).filter(([name]) => UNIT_PRICES.has(name)));
}
