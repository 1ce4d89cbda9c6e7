/** Catalog models in the format of OpenAI, with the members of OpenRouter. */

import type { Json } from '../core/json/json.ts';
import type { CatalogModel, Pricing } from '../core/model.ts';
import type { CatalogPage } from '../core/protocol.ts';
import { architectureOf, createdOf, topProviderOf } from './catalog-model.ts';

export function encodeModel(model: CatalogModel): Json {
  return {
    id: model.id,
    object: 'model',
    created: createdOf(model),
    owned_by: model.ownedBy,
    canonical_slug: model.canonicalSlug,
    name: model.name,
    description: model.description,
    context_length: model.contextLength,
    architecture: architectureOf(model),
    pricing: pricingOf(model),
    top_provider: topProviderOf(model),
    per_request_limits: null,
    supported_parameters: model.supportedParameters,
    default_parameters: null,
    expiration_date: model.expirationDate,
    links: { details: `${LIST}/${model.id}` },
    supported_voices: null,
    ...(model.unlisted && { unlisted: true }),
  };
}

const LIST = '/v1/models';

/** OpenRouter's value for a price that is not known in advance. */
const UNKNOWN_PRICE = '-1';

/** OpenRouter's clients require token prices; they are zero for models with other prices only, e.g. video models. */
function pricingOf({ pricing }: CatalogModel): Pricing {
  const price = Object.keys(pricing).length > 0 ? '0' : UNKNOWN_PRICE;
  return { prompt: price, completion: price, ...pricing };
}

/** `has_more` only appears on a page that is not the last. */
export function encodeModels(models: Json[], { more, total, provider, limit, namesOnly }: CatalogPage): Json {
  const path = provider === undefined ? LIST : `${LIST}/${provider}`;
  const query = new URLSearchParams({
    ...(namesOnly && { view: 'names' }),
    ...(limit && { limit: String(limit) }),
    after: String(models.at(-1)?.id),
  });
  return {
    object: 'list',
    data: models,
    total_count: total,
    links: { next: more ? `${path}?${query}` : null },
    ...(more && { has_more: true }),
  };
}

export function encodeModelCount(total: number): Json {
  return { data: { count: total } };
}
