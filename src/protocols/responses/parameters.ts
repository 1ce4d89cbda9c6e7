/** Parameter names of the Responses protocol that differ from the hub names. */

const SPELLINGS: Record<string, string> = {
  turns: 'input',
  'turns.parts': 'input.content',
  maxTokens: 'max_output_tokens',
  format: 'text.format',
  'format.schema': 'text.format.schema',
  'format.description': 'text.format.description',
  verbosity: 'text.verbosity',
  parallelCalls: 'parallel_tool_calls',
  cacheKey: 'prompt_cache_key',
  tier: 'service_tier',
};

export function parameterName(parameter: string): string {
  return SPELLINGS[parameter] ?? parameter.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
