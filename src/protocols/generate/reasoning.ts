/** Thinking, as an effort, a level or a budget. */

import type { ChatRequest, Effort, ReasoningRequest } from '../../core/chat.ts';
import type { Json } from '../../core/json.ts';
import type { ModelRules } from '../../core/model.ts';

const LEVELS: readonly Effort[] = ['minimal', 'low', 'medium', 'high'];

/** Shares of the output that an effort may think, since thoughts count as output. */
const RATIOS: Partial<Record<Effort, number>> = { minimal: 0.02, low: 0.1, medium: 0.3, high: 0.6 };

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
  const wanted = effort ?? effortOf(budget);
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

function effortOf(budget: number | undefined): Effort | undefined {
  if (budget === undefined || budget < 0) return undefined;
  if (budget === 0) return 'none';
  return LEVELS.find((level) => budget <= (RATIOS[level] ?? 1) * LARGEST_OUTPUT) ?? 'high';
}

function budgetFor(request: ChatRequest, { effort, budget }: ReasoningRequest, rules: ModelRules): number | undefined {
  const { min, max } = rules.budget ?? BUDGET;
  if (effort === 'none' || budget === 0) return rules.reasoningOff === false ? min : 0;
  if (budget !== undefined) return budget < 0 ? -1 : Math.min(max, Math.max(min, budget));
  if (effort === undefined) return undefined;
  const ratio = RATIOS[effort];
  const output = Math.min(request.maxTokens ?? LARGEST_OUTPUT, LARGEST_OUTPUT);
  return ratio === undefined ? max : Math.min(max, Math.max(min, Math.round(ratio * output)));
}
