/** Models as the catalog of chat completions shows them. */

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
    architecture: {
      modality: `${model.inputModalities.join('+')}->${model.outputModalities.join('+')}`,
      input_modalities: model.inputModalities,
      output_modalities: model.outputModalities,
      tokenizer: model.tokenizer,
      instruct_type: model.instructType,
    },
    pricing: model.pricing,
    top_provider: {
      context_length: model.contextLength,
      max_completion_tokens: model.maxOutput,
      is_moderated: model.isModerated,
    },
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
