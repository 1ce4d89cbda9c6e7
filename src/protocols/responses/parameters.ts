/** Parameter names of the Responses protocol that differ from the hub names. */

import { createParameterNames, snakeCase } from '../parameter-names.ts';
import { HOSTED_ITEMS } from './item-schema.ts';
import { SOURCES_INCLUDED } from './request-fields.ts';

const SPELLINGS: Record<string, string> = {
  turns: 'input',
  'turns.parts': 'input.content',
  'turns.parts.arguments': 'input.arguments',
  'messages.content.image_url.detail': 'input.content.detail',
  'turns.parts.title': 'input.content.filename',
  'tools.custom': 'tools.format',
  maxTokens: 'max_output_tokens',
  format: 'text.format',
  logprobs: 'top_logprobs',
  verbosity: 'text.verbosity',
  parallelCalls: 'parallel_tool_calls',
  'reasoning.visible': 'reasoning.summary',
  cacheKey: 'prompt_cache_key',
  tier: 'service_tier',
  user: 'safety_identifier',
  webSearch: 'tools.web_search',
  'webSearch.contextSize': 'tools.web_search.search_context_size',
  'webSearch.sources': `include.${SOURCES_INCLUDED}`,
  'webSearch.location': 'tools.web_search.user_location',
  cache: 'prompt_cache_breakpoint',
  ...Object.fromEntries(HOSTED_ITEMS.map((item) => [`turns.parts.${item}`, `input.${item}`])),
};

export const parameterName = createParameterNames(SPELLINGS, snakeCase);
