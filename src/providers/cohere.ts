/** Cohere, through its OpenAI-compatible API. */

import { allowedTools, EXTENSIONS, OPENAI_ONLY, reasoningAsEffort, without } from './dialect/fields.ts';
import { plainHistory, withoutCacheMarks } from './dialect/messages.ts';
import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

export const cohere = chatServer({
  id: 'cohere',
  name: 'Cohere',
  environment: ['COHERE_API_KEY'],
  baseUrl: 'https://api.cohere.ai/compatibility/v1',
  catalog: 'cohere',
  rules: { tokenField: 'max_tokens', systemRole: 'system', logitBias: false, efforts: ['none', 'high'] },
  adapt: dialect(
    reasoningAsEffort,
    allowedTools,
    applyRules,
    without(
      ...EXTENSIONS,
      ...OPENAI_ONLY,
      'metadata',
      'n',
      'parallel_tool_calls',
      'prediction',
      'service_tier',
      'top_logprobs',
      'user',
    ),
    plainHistory(),
    withoutCacheMarks,
  ),
});
