/** Members of a catalog model with the same form in all protocols. */

import type { Json } from '../core/json/json.ts';
import type { CatalogModel } from '../core/model.ts';

/** 2026-11-01, in Unix seconds: the date of the bundled catalog. */
const CATALOG_DATE = 1_793_491_200;

/** Creation date in Unix seconds, which clients require; the catalog date if unknown. */
export function createdOf({ created }: CatalogModel): number {
  return created === 0 ? CATALOG_DATE : created;
}

export function architectureOf(model: CatalogModel): Json {
  return {
    modality: `${model.inputModalities.join('+')}->${model.outputModalities.join('+')}`,
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
    tokenizer: model.tokenizer,
    instruct_type: model.instructType,
  };
}

export function topProviderOf(model: CatalogModel): Json {
  return {
    context_length: model.contextLength,
    max_completion_tokens: model.maxOutput,
    is_moderated: model.isModerated,
  };
}
