/** Parameter names of the Responses protocol that differ from the hub names. */

import { HOSTED_ITEMS } from './item-schema.ts';

/** Start of the hub name of a part that is left out. */
const PART = 'turns.parts.';

const SPELLINGS: Record<string, string> = {
  turns: 'input',
  'turns.parts': 'input.content',
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
  'webSearch.location': 'tools.web_search.user_location',
  cache: 'prompt_cache_breakpoint',
};

/** The longest known start of a dotted name is translated; the rest, and unknown names, only change their case. */
export function parameterName(parameter: string): string {
  const item = parameter.startsWith(PART) ? parameter.slice(PART.length) : '';
  if (HOSTED_ITEMS.includes(item)) return `input.${item}`;
  const known = SPELLINGS[parameter];
  if (known) return known;
  const dot = parameter.lastIndexOf('.');
  if (dot < 0) return snakeCase(parameter);
  return `${parameterName(parameter.slice(0, dot))}.${snakeCase(parameter.slice(dot + 1))}`;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
