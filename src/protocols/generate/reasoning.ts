/** Thinking configuration: efforts, levels and budgets. */

import type { ChatRequest, Effort, ReasoningRequest } from '../../core/chat.ts';
import { budgetOf, effortOf } from '../../core/effort.ts';
import type { Json } from '../../core/json/json.ts';
import type { ModelRules } from '../../core/model.ts';

const LEVELS: readonly Effort[] = ['minimal', 'low', 'medium', 'high', 'xhigh'];
/** Levels of models of which the catalog has none. */
const COMMON_LEVELS = LEVELS.filter((level) => level !== 'xhigh');

const MAX_OUTPUT_TOKENS = 65_536;

/** Default budget range in tokens, if the catalog has none. */
const BUDGET = { min: 128, max: 24_576 };

export function decodeReasoning(config: Json): ReasoningRequest | undefined {
  if (config === undefined || config === null) return undefined;
  const reasoning: ReasoningRequest = { visible: config.includeThoughts === true };
  const level = levelOf(config);
  if (level) reasoning.effort = level;
  if (config.thinkingBudget === 0) reasoning.effort = 'none';
  else if (config.thinkingBudget !== undefined && config.thinkingBudget !== null) {
    reasoning.budget = config.thinkingBudget;
  }
  return reasoning;
}

function levelOf({ thinkingLevel }: Json): Effort | undefined {
  return LEVELS.find((name) => name === String(thinkingLevel ?? '').toLowerCase());
}

/** Whether the level has no hub equivalent. */
export function isUnknownLevel(config: Json): boolean {
  const level = config?.thinkingLevel ?? '';
  return level !== '' && !/unspecified$/i.test(level) && levelOf(config) === undefined;
}

/** Undefined if unset or unsupported. */
export function encodeReasoning(request: ChatRequest, rules: ModelRules): Json | undefined {
  if (!request.reasoning) return undefined;
  const { effort, budget, visible } = request.reasoning;
  if (rules.reasoning === 'none' || rules.reasoning === 'always') return undefined;
  const includeThoughts = visible !== false && effort !== 'none' && { includeThoughts: true };
  if (rules.reasoning === 'budget') {
    const thinkingBudget = budgetFor(request, request.reasoning, rules);
    return { ...(thinkingBudget !== undefined && { thinkingBudget }), ...includeThoughts };
  }
  const requested = effort ?? (budget === undefined || budget < 0 ? undefined : effortOf(budget, MAX_OUTPUT_TOKENS));
  return { ...(requested && { thinkingLevel: levelFor(requested, rules.efforts).toUpperCase() }), ...includeThoughts };
}

/** Thinking levels cannot be disabled; the lowest level replaces effort `none`. */
function levelFor(effort: Effort, allowed: readonly Effort[] = COMMON_LEVELS): Effort {
  const accepted = LEVELS.filter((level) => allowed.includes(level));
  if (effort === 'none') return accepted[0] ?? 'low';
  const level = LEVELS.indexOf(effort);
  const rank = level < 0 ? LEVELS.length : level;
  return accepted.findLast((level) => LEVELS.indexOf(level) <= rank) ?? accepted[0] ?? 'low';
}

function budgetFor(request: ChatRequest, { effort, budget }: ReasoningRequest, rules: ModelRules): number | undefined {
  const { min, max } = rules.budget ?? BUDGET;
  if (effort === 'none' || budget === 0) return rules.reasoningOff === false ? min : 0;
  if (budget !== undefined) return budget < 0 ? -1 : Math.min(max, Math.max(min, budget));
  if (effort === undefined) return undefined;
  const output = Math.min(request.maxTokens ?? MAX_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS);
  return Math.min(max, Math.max(min, budgetOf(effort, output)));
}
