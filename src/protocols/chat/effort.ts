/** Reasoning effort of chat completions. */

import type { ChatRequest, Effort } from '../../core/chat.ts';
import type { ModelRules } from '../../core/model.ts';
import { encodeEffort as encodeAnyEffort, requestedEffort } from '../openai-request.ts';

/** `reasoning_effort`; undefined if unset or unsupported. Some models call tools there only without reasoning. */
export function encodeEffort(request: ChatRequest, rules: ModelRules, dropped: Set<string>): Effort | undefined {
  if (!rules.toolsNeedNoReasoning || request.tools.length === 0) return encodeAnyEffort(request, rules, dropped);
  const requested = requestedEffort(request.reasoning, rules);
  if (requested !== undefined && requested !== 'none') dropped.add('reasoning.effort');
  return 'none';
}
