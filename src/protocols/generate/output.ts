/** Requested output and service tier of a generateContent body, in either spelling; includes thinking. */

import { isObject, type Json } from '../../core/json/json.ts';
import { largestFigure, type ProviderTools, type RequestedOutput } from '../../core/output.ts';
import { tierName } from '../service-tier.ts';

export function outputOf(body: Json): RequestedOutput {
  const config = configOf(body) ?? {};
  const limit = largestFigure([config.maxOutputTokens, config.max_output_tokens]);
  const answers = largestFigure([config.candidateCount, config.candidate_count]) ?? 1;
  return { ...(limit !== undefined && { limit }), answers: Math.max(1, answers), thinking: 0 };
}

/** Service tier of a body; it may be the name of the constant, `SERVICE_TIER_PRIORITY`. */
export function tierOf(body: Json): string | undefined {
  return tierName(body.serviceTier ?? body.service_tier)
    ?.toLowerCase()
    .replace(/^service_tier_/, '');
}

export function providerTools({ tools }: Json): ProviderTools {
  return { maps: Array.isArray(tools) && tools.some((tool) => tool?.googleMaps ?? tool?.google_maps) };
}

/** Sets the limit of a body in place, in the spelling that it uses. */
export function limitOutput(body: Json, tokens: number): void {
  const config = configOf(body);
  if (!config) body.generationConfig = { maxOutputTokens: tokens };
  else config[config.max_output_tokens === undefined ? 'maxOutputTokens' : 'max_output_tokens'] = tokens;
}

function configOf(body: Json): Json | undefined {
  return [body.generationConfig, body.generation_config].find(isObject);
}
