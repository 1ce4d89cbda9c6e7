/** Models as the catalog of chat completions shows them. */

import { architectureOf, topProviderOf } from '../../core/catalog-shape.ts';
import type { Json } from '../../core/json.ts';
import type { CatalogModel } from '../../core/model.ts';

export function encodeModel(model: CatalogModel): Json {
  return {
    id: model.id,
    object: 'model',
    created: model.created,
    owned_by: model.ownedBy,
    canonical_slug: model.canonicalSlug,
    name: model.name,
    description: model.description,
    context_length: model.contextLength,
    architecture: architectureOf(model),
    pricing: model.pricing,
    top_provider: topProviderOf(model),
    per_request_limits: null,
    supported_parameters: model.supportedParameters,
    default_parameters: null,
    expiration_date: model.expirationDate,
  };
}

/** `has_more` only appears on a page that is not the last. */
export function encodeModels(models: Json[], page: { more: boolean }): Json {
  return { object: 'list', data: models, ...(page.more && { has_more: true }) };
}
