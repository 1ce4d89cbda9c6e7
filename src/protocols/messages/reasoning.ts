/** Reasoning configuration: `thinking` and `output_config.effort`. */

import type { ChatRequest, Effort, ReasoningRequest } from '../../core/chat.ts';
import { budgetOf, effortOf } from '../../core/effort.ts';
import type { Json } from '../../core/json/json.ts';
import type { ModelRules } from '../../core/model.ts';
import { NEWEST, NEWEST_MAX_OUTPUT } from './rules.ts';

export interface EncodedReasoning {
  thinking?: Json;
  effort?: Effort;
  dropped?: boolean;
}

const MIN_BUDGET_TOKENS = 1024;

/** `maxTokens` is the output limit of the body; `loop` is a tool loop with thinking of another provider. */
export function encodeReasoning(
  request: ChatRequest,
  rules: ModelRules,
  { maxTokens, loop }: { maxTokens: number; loop: boolean },
): EncodedReasoning {
  const { reasoning } = request;
  if (!reasoning) return {};
  const off = reasoning.effort === 'none' || reasoning.budget === 0;
  switch (rules.reasoning ?? NEWEST.reasoning) {
    case 'none':
      return { dropped: !off };
    case 'always':
      return { dropped: true };
    case 'budget':
      if (off) return (rules.reasoningOff ?? true) ? { thinking: { type: 'disabled' } } : { dropped: true };
      return loop ? { dropped: true } : withBudget(reasoning, rules, maxTokens);
    case 'adaptive':
    case 'effort':
    case 'level':
      return off ? switchedOff(rules) : adaptive(reasoning, rules);
  }
}

function switchedOff(rules: ModelRules): EncodedReasoning {
  return (rules.reasoningOff ?? NEWEST.reasoningOff) ? { thinking: { type: 'disabled' } } : { effort: 'low' };
}

/** Without `display` the thinking would be hidden. */
function adaptive(reasoning: ReasoningRequest, rules: ModelRules): EncodedReasoning {
  const display = reasoning.visible === false ? 'omitted' : 'summarized';
  const { effort, budget } = reasoning;
  const wanted = effort ?? (budget === undefined || budget < 0 ? undefined : effortOf(budget, largestOutput(rules)));
  return { thinking: { type: 'adaptive', display }, effort: wanted && supported(wanted, rules) };
}

function largestOutput(rules: ModelRules): number {
  return rules.maxOutput ?? NEWEST_MAX_OUTPUT;
}

function supported(effort: Effort, rules: ModelRules): Effort {
  const efforts: readonly Effort[] = rules.efforts ?? NEWEST.efforts;
  if (efforts.includes(effort)) return effort;
  return effort === 'minimal' ? 'low' : 'high';
}

/** A budget counts inside `max_tokens` and must be smaller. */
function withBudget(reasoning: ReasoningRequest, rules: ModelRules, maxTokens: number): EncodedReasoning {
  const { min, max } = { min: MIN_BUDGET_TOKENS, max: Number.POSITIVE_INFINITY, ...rules.budget };
  const asked = reasoning.budget !== undefined && reasoning.budget > 0 ? reasoning.budget : undefined;
  const wanted = asked ?? budgetOf(reasoning.effort ?? 'medium', largestOutput(rules));
  const budget = Math.min(Math.max(wanted, min), max, maxTokens - 1);
  if (budget < min) return { dropped: true };
  const display = reasoning.visible === false && { display: 'omitted' };
  return { thinking: { type: 'enabled', budget_tokens: budget, ...display } };
}
