/** Price lists of a configuration: a list that leaves a price out makes those tokens free, which it must say. */

import type { Json } from '../core/json/json.ts';
import type { ConfigFile } from './schema.ts';

interface PriceProblem {
  path: string;
  message: string;
}

/** Lists of prices with one of input or output missing. Empty lists are no problem: the price is unknown then. */
export function priceProblems({ providers, models }: ConfigFile): PriceProblem[] {
  const problems: PriceProblem[] = [];
  for (const [id, provider] of Object.entries<Json>(providers ?? {})) {
    if (!Array.isArray(provider?.models)) continue;
    for (const [index, model] of provider.models.entries()) {
      const path = `providers.${id}.models[${index}]`;
      const isEmbedding = model?.output_modalities?.includes?.('embeddings') === true;
      const needed = isEmbedding ? ['prompt'] : ['prompt', 'completion'];
      problems.push(...missingPrices(model?.pricing, needed, `${path}.pricing`));
      for (const [tier, prices] of Object.entries<Json>(model?.service_tiers ?? {}))
        problems.push(...missingPrices(prices, needed, `${path}.service_tiers.${tier}`));
    }
  }
  for (const [name, model] of Object.entries<Json>(models ?? {})) {
    for (const [index, endpoint] of (model?.endpoints ?? []).entries())
      problems.push(
        ...missingPrices(endpoint?.pricing, ['prompt', 'completion'], `models.${name}.endpoints[${index}].pricing`),
      );
  }
  return problems;
}

function missingPrices(prices: Json, needed: readonly string[], path: string): PriceProblem[] {
  const isSet = (name: string) => prices[name] !== undefined && prices[name] !== null;
  if (!prices || !Object.keys(prices).some(isSet)) return [];
  return needed
    .filter((name) => !isSet(name))
    .map((name) => ({ path: `${path}.${name}`, message: 'is missing; if these tokens are free, set it to "0"' }));
}
