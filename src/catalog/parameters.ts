/** Supported parameters of a model, derived from its abilities and rules if no source lists them. */

import { rulesFor } from './rules.ts';

export interface Abilities {
  tools: boolean;
  /** JSON output that follows a schema. */
  schema: boolean;
  reasoning: boolean;
}

/** Additional parameters of the endpoints of a provider. */
const PROVIDER_PARAMETERS: Record<string, string[]> = {
  openai: ['frequency_penalty', 'presence_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'seed'],
  anthropic: ['top_k'],
  google: ['top_k', 'frequency_penalty', 'presence_penalty', 'seed'],
  deepseek: ['frequency_penalty', 'presence_penalty', 'logprobs', 'top_logprobs'],
  mistral: ['frequency_penalty', 'presence_penalty', 'seed'],
  xai: ['frequency_penalty', 'presence_penalty', 'logprobs', 'top_logprobs', 'seed'],
  cohere: ['frequency_penalty', 'presence_penalty', 'seed'],
};

/** Providers with JSON output without a schema. */
const JSON_MODE_PROVIDERS = new Set(['openai', 'google', 'deepseek', 'mistral', 'xai', 'cohere']);

/** Sorted by name. */
export function supportedParameters(provider: string, id: string, abilities: Abilities): string[] {
  const rules = rulesFor(provider, id);
  const schema = abilities.schema && rules.schema !== false;
  const found = [
    'max_tokens',
    'temperature',
    'top_p',
    'stop',
    ...(PROVIDER_PARAMETERS[provider] ?? []),
    ...(abilities.tools ? ['tools', 'tool_choice'] : []),
    ...(schema || JSON_MODE_PROVIDERS.has(provider) ? ['response_format'] : []),
    ...(schema ? ['structured_outputs'] : []),
    ...(abilities.reasoning && rules.reasoning !== 'none' ? ['reasoning'] : []),
  ];
  const refused = new Set([
    ...(rules.sampling === 'never' ? ['temperature', 'top_p', 'top_k'] : []),
    ...(rules.stop === false ? ['stop'] : []),
    ...(rules.penalties === false ? ['frequency_penalty', 'presence_penalty'] : []),
    ...(rules.logprobs === false ? ['logprobs', 'top_logprobs'] : []),
    ...(rules.logitBias === false ? ['logit_bias'] : []),
  ]);
  return found.filter((parameter) => !refused.has(parameter)).sort();
}
