/** Prices of web searches, which a provider bills apart: one by one, or once for a request that searches. */

import type { Pricing } from '../core/model.ts';

export const SEARCH_PRICES = ['web_search', 'web_search_request'] as const;

/** The prices, with that of a search in `known` where they have none. Without any price the cost stays unknown. */
export function withSearchPrice(pricing: Pricing, known: Pricing | undefined): Pricing {
  if (known === undefined || Object.keys(pricing).length === 0) return pricing;
  if (SEARCH_PRICES.some((name) => pricing[name] !== undefined)) return pricing;
  const found = SEARCH_PRICES.flatMap((name) => (known[name] === undefined ? [] : [[name, known[name]]]));
  return found.length === 0 ? pricing : { ...pricing, ...Object.fromEntries(found) };
}
