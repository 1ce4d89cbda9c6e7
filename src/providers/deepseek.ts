/** DeepSeek. Thinking is switched by `thinking`, earlier reasoning must come back, and JSON Schema is not known. */

import { allowedTools, isForced, reasoningAsEffort, reasons } from './dialect/fields.ts';
import { reasoningContent } from './dialect/messages.ts';
import { obeyRules } from './dialect/rules.ts';
import { type DialectStep, dialect, leaveOut, put, remove } from './dialect/step.ts';
import { chatServer } from './type.ts';

const OFF = { type: 'disabled' };

const effortNoneAsThinking: DialectStep = (body, _rules, done) => {
  if (body.reasoning_effort !== 'none') return;
  remove(body, 'reasoning_effort', done);
  put(body, 'thinking', OFF, done);
};

/** A thinking model refuses to be told to call a tool; the call is what was asked for, so the thinking goes. */
const forcedCallsWithoutThinking: DialectStep = (body, rules, done) => {
  if (!isForced(body.tool_choice) || !reasons(body, rules)) return;
  leaveOut(body, 'reasoning_effort', done);
  leaveOut(body, 'thinking', done);
  put(body, 'thinking', OFF, done);
};

export const deepseek = chatServer({
  id: 'deepseek',
  name: 'DeepSeek',
  environment: ['DEEPSEEK_API_KEY'],
  baseUrl: 'https://api.deepseek.com',
  catalog: 'deepseek',
  rules: { tokenField: 'max_tokens', systemRole: 'system', schema: false, reasoningHistory: 'required' },
  adapt: dialect(
    reasoningAsEffort,
    effortNoneAsThinking,
    allowedTools,
    forcedCallsWithoutThinking,
    obeyRules,
    reasoningContent,
  ),
});
