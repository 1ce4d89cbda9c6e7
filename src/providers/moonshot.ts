/** Moonshot AI (Kimi): fixed sampling, no forced tool calls, earlier reasoning is required in the history. */

import { allowedTools, reasoningAsEffort } from './dialect/fields.ts';
import { markedPrefill, reasoningContent } from './dialect/messages.ts';
import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

export const moonshot = chatServer({
  id: 'moonshot',
  name: 'Moonshot AI',
  environment: ['MOONSHOT_API_KEY'],
  baseUrl: 'https://api.moonshot.ai/v1',
  rules: {
    tokenField: 'max_completion_tokens',
    systemRole: 'system',
    sampling: 'never',
    penalties: false,
    forcedChoice: false,
    reasoningHistory: 'required',
  },
  adapt: dialect(reasoningAsEffort, allowedTools, applyRules, reasoningContent, markedPrefill('partial')),
});
