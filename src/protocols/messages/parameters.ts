/** Parameter names of the messages protocol. */

import { createParameterNames, snakeCase } from '../parameter-names.ts';

const NAMES: Record<string, string> = {
  turns: 'messages',
  'turns.parts': 'messages.content',
  'turns.parts.cite': 'messages.content.citations',
  'tools.parameters': 'tools.input_schema',
  maxTokens: 'max_tokens',
  topP: 'top_p',
  topK: 'top_k',
  stop: 'stop_sequences',
  toolChoice: 'tool_choice',
  'toolChoice.allowed': 'tool_choice',
  parallelCalls: 'tool_choice.disable_parallel_tool_use',
  format: 'output_config.format',
  reasoning: 'thinking',
  'reasoning.budget': 'thinking.budget_tokens',
  'reasoning.effort': 'output_config.effort',
  'reasoning.visible': 'thinking.display',
  tier: 'service_tier',
  user: 'metadata.user_id',
  webSearch: 'tools.web_search',
  'webSearch.location': 'tools.web_search.user_location',
  cache: 'cache_control',
};

export const parameterName = createParameterNames(NAMES, snakeCase);
