/** The list of models in the form of Codex, which asks for it with its version: GET /v1/models?client_version=0.169.0. */

import type { Effort } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import type { CatalogModel } from '../../core/model.ts';
import type { ClientRoute } from '../../core/operation.ts';
import type { CatalogQuery } from '../../core/protocol.ts';
import { CODEX_INSTRUCTIONS } from './codex-instructions.ts';

/** The path without `client_version` is the model list of the protocol `chat`. */
export const catalogRoutes: ClientRoute<CatalogQuery>[] = [
  {
    method: 'GET',
    path: '/v1/models',
    match: (rest, query) =>
      rest.length === 0 && query.has('client_version') ? { type: 'list-models', page: {} } : undefined,
    templates: [],
  },
];

/** The efforts that all versions know: an unknown one costs them the whole list. */
const EFFORTS: Partial<Record<Effort, string>> = {
  minimal: 'Hardly any reasoning',
  low: 'Quick answers with little reasoning',
  medium: 'As much reasoning as most tasks need',
  high: 'More reasoning for difficult tasks',
  xhigh: 'Long reasoning for the most difficult tasks',
};

/** Output of a command that Codex shows to the model. */
const MAX_TOOL_OUTPUT_TOKENS = 10_000;

/** A model with all members that one of the versions requires. */
export function encodeModel(model: CatalogModel): Json {
  const { rules, contextLength, inputModalities, outputModalities } = model;
  const efforts = effortsOf(model);
  return {
    slug: model.id,
    display_name: model.name,
    description: model.description,
    supported_reasoning_levels: efforts.map((effort) => ({ effort, description: EFFORTS[effort] ?? '' })),
    ...(efforts.includes('medium') && { default_reasoning_level: 'medium' }),
    shell_type: 'unified_exec',
    visibility: outputModalities.includes('text') && !model.unlisted ? 'list' : 'hide',
    supported_in_api: true,
    priority: 0,
    base_instructions: CODEX_INSTRUCTIONS,
    supports_reasoning_summaries: rules.reasoning !== 'none',
    support_verbosity: false,
    truncation_policy: { mode: 'tokens', limit: MAX_TOOL_OUTPUT_TOKENS },
    supports_parallel_tool_calls: true,
    experimental_supported_tools: [],
    ...(contextLength > 0 && { context_window: contextLength }),
    input_modalities: inputModalities.filter((modality) => modality === 'text' || modality === 'image'),
  };
}

/** Efforts that a user can choose. */
function effortsOf({ rules }: CatalogModel): Effort[] {
  if (rules.reasoning === 'none' || rules.reasoning === 'always') return [];
  const known: Effort[] = rules.efforts ?? ['low', 'medium', 'high'];
  return known.filter((effort) => effort in EFFORTS);
}

export function encodeModels(models: Json[]): Json {
  return { models };
}
