/** Thinking, as an effort, a level or a budget. */

import type { ChatRequest, Effort, ReasoningRequest } from '../../core/chat.ts';
import { budgetOf, effortOf } from '../../core/effort.ts';
import type { Json } from '../../core/json/json.ts';
import type { ModelRules } from '../../core/model.ts';

const LEVELS: readonly Effort[] = ['minimal', 'low', 'medium', 'high'];

const LARGEST_OUTPUT = 65_536;

/** What the models with budgets accept where the catalog doesn't say. */
const BUDGET = { min: 128, max: 24_576 };

export function decodeReasoning(config: Json): ReasoningRequest | undefined {
  if (config === undefined || config === null) return undefined;
  const reasoning: ReasoningRequest = { visible: config.includeThoughts === true };
  const level = LEVELS.find((name) => name === String(config.thinkingLevel ?? '').toLowerCase());
  if (level) reasoning.effort = level;
  if (config.thinkingBudget === 0) reasoning.effort = 'none';
  else if (config.thinkingBudget !== undefined && config.thinkingBudget !== null) {
    reasoning.budget = config.thinkingBudget;
  }
  return reasoning;
}

/** Undefined when nothing is to be said, or nothing can be. */
export function encodeReasoning(request: ChatRequest, rules: ModelRules): Json | undefined {
  if (!request.reasoning) return undefined;
  const { effort, budget, visible } = request.reasoning;
  if (rules.reasoning === 'none' || rules.reasoning === 'always') return undefined;
  const includeThoughts = visible !== false && effort !== 'none' && { includeThoughts: true };
  if (rules.reasoning === 'budget') {
    const thinkingBudget = budgetFor(request, request.reasoning, rules);
    return { ...(thinkingBudget !== undefined && { thinkingBudget }), ...includeThoughts };
  }
  const wanted = effort ?? (budget === undefined || budget < 0 ? undefined : effortOf(budget, LARGEST_OUTPUT));
  return { ...(wanted && { thinkingLevel: levelFor(wanted, rules.efforts).toUpperCase() }), ...includeThoughts };
}

/** Models that think in levels cannot be silenced: the lowest level is the nearest thing to no thinking. */
function levelFor(effort: Effort, allowed: readonly Effort[] = LEVELS): Effort {
  const accepted = LEVELS.filter((level) => allowed.includes(level));
  if (effort === 'none') return accepted[0] ?? 'low';
  const wanted = LEVELS.indexOf(effort);
  const rank = wanted < 0 ? LEVELS.length : wanted;
  return accepted.findLast((level) => LEVELS.indexOf(level) <= rank) ?? accepted[0] ?? 'low';
}

function budgetFor(request: ChatRequest, { effort, budget }: ReasoningRequest, rules: ModelRules): number | undefined {
  const { min, max } = rules.budget ?? BUDGET;
  if (effort === 'none' || budget === 0) return rules.reasoningOff === false ? min : 0;
  if (budget !== undefined) return budget < 0 ? -1 : Math.min(max, Math.max(min, budget));
  if (effort === undefined) return undefined;
  const output = Math.min(request.maxTokens ?? LARGEST_OUTPUT, LARGEST_OUTPUT);
  return Math.min(max, Math.max(min, budgetOf(effort, output)));
}
