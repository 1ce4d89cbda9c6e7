/** Catalog models in the format of generateContent. */

import type { Json } from '../../core/json/json.ts';
import type { CatalogModel } from '../../core/model.ts';
import type { CatalogPage } from '../../core/protocol.ts';
import { architectureOf, topProviderOf } from '../catalog-model.ts';

const PREFIX = 'models/';

export function encodeModel(model: CatalogModel): Json {
  return {
    name: `${PREFIX}${model.id}`,
    version: model.version,
    displayName: model.name,
    description: model.description,
    inputTokenLimit: model.contextLength,
    outputTokenLimit: model.maxOutput,
    supportedGenerationMethods: isVideoOnly(model) ? [] : ['generateContent', 'countTokens'],
    ownedBy: model.ownedBy,
    canonicalSlug: model.canonicalSlug,
    contextLength: model.contextLength,
    architecture: architectureOf(model),
    pricing: model.pricing,
    topProvider: topProviderOf(model),
    supportedParameters: model.supportedParameters,
    expirationDate: model.expirationDate,
  };
}

function isVideoOnly({ outputModalities }: CatalogModel): boolean {
  return outputModalities.length > 0 && outputModalities.every((modality) => modality === 'video');
}

/** The token of the next page is the id of the last model on this one. */
export function encodeModels(models: Json[], page: Pick<CatalogPage, 'more'>): Json {
  const last = models.at(-1);
  return { models, ...(page.more && last && { nextPageToken: last.name.slice(PREFIX.length) }) };
}
