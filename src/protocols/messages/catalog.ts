/** Catalog models in the format of the messages protocol. */

import type { Json } from '../../core/json/json.ts';
import type { CatalogModel } from '../../core/model.ts';
import type { CatalogPage } from '../../core/protocol.ts';
import { architectureOf, topProviderOf } from '../catalog-model.ts';

/** Has all members that the official SDKs require, also those of which the catalog has no facts. */
export function encodeModel(model: CatalogModel): Json {
  return {
    type: 'model',
    id: model.id,
    display_name: model.name,
    created_at: `${new Date(model.created * 1000).toISOString().slice(0, 19)}Z`,
    owned_by: model.ownedBy,
    canonical_slug: model.canonicalSlug,
    description: model.description,
    max_input_tokens: model.contextLength,
    max_tokens: model.maxOutput,
    capabilities: null,
    lifecycle: 'active',
    line: null,
    deprecated_at: null,
    retires_at: null,
    context_length: model.contextLength,
    architecture: architectureOf(model),
    pricing: model.pricing,
    top_provider: topProviderOf(model),
    supported_parameters: model.supportedParameters,
    expiration_date: model.expirationDate,
  };
}

/** The list envelope; the cursors are null for an empty list. */
export function encodeModels(models: Json[], page: Pick<CatalogPage, 'more'>): Json {
  return {
    data: models,
    has_more: page.more,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  };
}
