/** Service tiers: processing of a request at another price than the standard one, such as `priority` and `flex`. */

import type { CatalogModel, PriceFactors, Prices, Pricing, ServiceTier } from '../core/model.ts';
import { lookUp } from '../core/plain-objects.ts';
import { SEARCH_PRICES, TOOL_PRICES } from '../core/prices.ts';
import { isOtherTier, isRegional, REGIONAL, withoutRegion } from '../core/tier-names.ts';
import { multiplyPrice } from './decimal.ts';
import type { PricedModel } from './max-cost.ts';

/** Tiers that cost no more than the standard one: cheaper ones, and capacity that was bought in advance. */
const NOT_DEARER = new Set(['flex', 'offpeak', 'batch', 'provisioned', 'reserved']);
/** Prices that are the same in all tiers: they are not of tokens of the model. */
const UNIT_PRICES: ReadonlySet<string> = new Set(['request', ...SEARCH_PRICES, ...TOOL_PRICES]);

type TieredModel = Prices & Pick<CatalogModel, 'serviceTiers'>;

/** Whether the prices of a tier, and those of its region if it has one, are known, and not assumed. */
export function hasTierPrices(model: TieredModel, tier: string): boolean {
  if (tierNamed(model, tier)) return true;
  const name = withoutRegion(tier);
  const isKnown = !isOtherTier(name) || tierNamed(model, name) !== undefined;
  return isKnown && (!isRegional(tier) || tierNamed(model, REGIONAL) !== undefined);
}

/**
 * Prices of a tier. Without known ones these are the standard ones for a tier that is known to cost no more, and the
 * highest of the model for any other: the charge is not below the bill of the provider. A region without known
 * prices changes nothing.
 */
export function pricesInTier(model: TieredModel, tier: string | undefined): Prices {
  const own = tier !== undefined && isRegional(tier) ? tierNamed(model, tier) : undefined;
  if (own) return pricesOf(model, own);
  const name = withoutRegion(tier);
  const prices = pricesWithoutRegion(model, name);
  const region = isRegional(tier) ? tierNamed(model, REGIONAL) : undefined;
  if (!region) return prices;
  const regional = pricesOf(prices, region);
  // Prices of its own are those in the standard tier.
  return 'pricing' in region && isOtherTier(name) ? dearer(prices, regional) : regional;
}

function pricesWithoutRegion(model: TieredModel, tier: string | undefined): Prices {
  if (!isOtherTier(tier)) return model;
  const named = tierNamed(model, tier);
  if (named) return pricesOf(model, named);
  return NOT_DEARER.has(tier) ? model : highestPrices(model);
}

/** Returns the prices that a request for a tier may have: a provider that cannot serve the tier serves the standard one. */
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
  let highest: Prices = model;
  for (const [name, tier] of Object.entries(model.serviceTiers ?? {}))
    if (!isRegional(name)) highest = dearer(highest, pricesOf(model, tier));
  return highest;
}

function dearer(one: Prices, other: Prices): Prices {
  return sumOf(other) > sumOf(one) ? other : one;
}

/** Price of one input token and one output token in USD, for comparisons. */
function sumOf({ pricing: { prompt = '0', completion = '0' } }: Prices): number {
  return Number(prompt) + Number(completion);
}

function pricesOf(model: Prices, tier: ServiceTier): Prices {
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
