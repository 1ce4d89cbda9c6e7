/** The catalog's models as the messages protocol shows them. */

import type { Json } from '../../core/json.ts';
import type { CatalogModel } from '../../core/model.ts';

export function encodeModel(model: CatalogModel): Json {
  return {
    type: 'model',
    id: model.id,
    display_name: model.name,
    created_at: `${new Date(model.created * 1000).toISOString().slice(0, 19)}Z`,
    owned_by: model.ownedBy,
    canonical_slug: model.canonicalSlug,
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
    supported_parameters: model.supportedParameters,
    expiration_date: model.expirationDate,
  };
}

/** The list envelope; the cursors are null for an empty list. */
export function encodeModels(models: Json[], page: { more: boolean }): Json {
  return {
    data: models,
    has_more: page.more,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  };
}
