/** Parameter names of chat completions that differ from the hub names. */

import { createParameterNames, snakeCase } from '../parameter-names.ts';

const SPELLINGS: Record<string, string> = {
  turns: 'messages',
  'turns.parts': 'messages.content',
  'turns.parts.arguments': 'messages.tool_calls.function.arguments',
  'turns.parts.detail': 'messages.content.image_url.detail',
  'turns.parts.title': 'messages.content.file.filename',
  'tools.strict': 'tools.function.strict',
  'tools.parameters': 'tools.function.parameters',
  'tools.custom': 'tools.custom.format',
  parallelCalls: 'parallel_tool_calls',
  candidates: 'n',
  format: 'response_format',
  'format.description': 'response_format.json_schema.description',
  'format.schema': 'response_format.json_schema.schema',
  'reasoning.effort': 'reasoning_effort',
  'reasoning.budget': 'reasoning.max_tokens',
  'reasoning.visible': 'reasoning.exclude',
  cacheKey: 'prompt_cache_key',
  tier: 'service_tier',
  webSearch: 'web_search_options',
  'webSearch.contextSize': 'web_search_options.search_context_size',
  'webSearch.location': 'web_search_options.user_location',
  cache: 'cache_control',
};

export const parameterName = createParameterNames(SPELLINGS, snakeCase);
