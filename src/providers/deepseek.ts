/** DeepSeek: `thinking` switches reasoning, earlier reasoning is required in the history, no JSON Schema. */

import {
  allowedTools,
  effortNoneAsThinking,
  isForced,
  reasoningAsEffort,
  reasons,
  THINKING_OFF,
} from './dialect/fields.ts';
import { reasoningContent } from './dialect/messages.ts';
import { applyRules } from './dialect/rules.ts';
import { type DialectStep, dialect, dropField, setField } from './dialect/step.ts';
import { chatServer } from './type.ts';

/** A thinking model refuses a forced tool call, so thinking is switched off for one. */
const forcedCallsWithoutThinking: DialectStep = (body, rules, result) => {
  if (!isForced(body.tool_choice) || !reasons(body, rules)) return;
  dropField(body, 'reasoning_effort', result);
  dropField(body, 'thinking', result);
  setField(body, 'thinking', THINKING_OFF, result);
};

export const deepseek = chatServer({
  id: 'deepseek',
  name: 'DeepSeek',
  environment: ['DEEPSEEK_API_KEY'],
  baseUrl: 'https://api.deepseek.com',
  catalog: 'deepseek',
  responses: true,
  rules: { tokenField: 'max_tokens', systemRole: 'system', schema: false, reasoningHistory: 'required' },
  adapt: dialect(
    reasoningAsEffort,
    effortNoneAsThinking,
    allowedTools,
    forcedCallsWithoutThinking,
    applyRules,
    reasoningContent,
  ),
});
