/** Fireworks AI: refuses unknown fields, inside messages too; knows most fields of open models. */

import { allowedTools, OPENAI_ONLY, reasoningAsEffort, without } from './dialect/fields.ts';
import { plainHistory, reasoningContent, withoutCacheMarks } from './dialect/messages.ts';
import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

export const fireworks = chatServer({
  id: 'fireworks',
  name: 'Fireworks AI',
  environment: ['FIREWORKS_API_KEY'],
  baseUrl: 'https://api.fireworks.ai/inference/v1',
  rules: { tokenField: 'max_tokens', systemRole: 'system', efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
  adapt: dialect(
    reasoningAsEffort,
    allowedTools,
    applyRules,
    without(
      ...OPENAI_ONLY.filter((field) => field !== 'prompt_cache_key'),
      'cache_control',
      'models',
      'plugins',
      'transforms',
      'usage',
    ),
    reasoningContent,
    plainHistory('reasoning_content'),
    withoutCacheMarks,
  ),
});
