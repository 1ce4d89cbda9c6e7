/** Parameter names of chat completions that differ from the hub names. */

const SPELLINGS: Record<string, string> = {
  turns: 'messages',
  'turns.parts': 'messages.content',
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

/** The longest known start of a dotted name is translated; the rest, and unknown names, only change their case. */
export function parameterName(parameter: string): string {
  const known = SPELLINGS[parameter];
  if (known) return known;
  const dot = parameter.lastIndexOf('.');
  if (dot < 0) return snakeCase(parameter);
  return `${parameterName(parameter.slice(0, dot))}.${snakeCase(parameter.slice(dot + 1))}`;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
