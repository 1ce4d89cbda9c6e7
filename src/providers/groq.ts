/** Groq: refuses unknown fields and several known ones. */

import { allowedTools, EXTENSIONS, OPENAI_ONLY, reasoningAsEffort, without } from './dialect/fields.ts';
import { plainHistory, withoutCacheMarks, withoutNames } from './dialect/messages.ts';
import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

export const groq = chatServer({
  id: 'groq',
  name: 'Groq',
  environment: ['GROQ_API_KEY'],
  baseUrl: 'https://api.groq.com/openai/v1',
  responses: true,
  rules: { systemRole: 'system', logprobs: false, logitBias: false },
  adapt: dialect(
    reasoningAsEffort,
    allowedTools,
    applyRules,
    without(...EXTENSIONS.filter((field) => field !== 'include_reasoning'), ...OPENAI_ONLY, 'prediction'),
    plainHistory('reasoning'),
    withoutNames,
    withoutCacheMarks,
  ),
});
