/** OpenRouter's public `/models` list: `{data: [...]}`, prices as strings in USD per token. */

import type { Json } from '../../core/json/json.ts';
import { openRouterPrices, parseModalities } from '../facts.ts';
import { count, type SourceFormat, type SourceModel } from './source.ts';

export const openRouter: SourceFormat = {
  name: 'openrouter',
  detect: (body) => Array.isArray(body?.data) && body.data[0]?.architecture !== undefined,
  read: (body) => body.data.map(read),
};

function read(model: Json): SourceModel {
  return {
    provider: 'openrouter',
    entry: {
      id: model.id,
      name: model.name,
      canonicalSlug: model.canonical_slug && `openrouter/${model.canonical_slug}`,
      created: count(model.created),
      contextLength: count(model.context_length),
      maxOutput: count(model.top_provider?.max_completion_tokens),
      inputModalities: parseModalities(model.architecture.input_modalities),
      outputModalities: parseModalities(model.architecture.output_modalities),
      tokenizer: model.architecture.tokenizer,
      instructType: model.architecture.instruct_type ?? undefined,
      isModerated: model.top_provider?.is_moderated,
      supportedParameters: model.supported_parameters,
      expirationDate: model.expiration_date ?? undefined,
      ...(model.pricing && openRouterPrices(model.pricing)),
    },
  };
}
