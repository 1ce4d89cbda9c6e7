/** Reasoning effort of OpenAI's protocols, which have no token budgets. */

import type { ChatRequest, Effort } from '../core/chat.ts';
import { EFFORTS, effortOf, nearestEffort } from '../core/effort.ts';
import type { ModelRules } from '../core/model.ts';

const DEFAULT_OUTPUT_TOKENS = 65_536;

/** The effort for the model; undefined if unset or unsupported. */
export function encodeEffort(
  { reasoning }: Pick<ChatRequest, 'reasoning'>,
  rules: ModelRules,
  dropped: Set<string>,
): Effort | undefined {
  const requested = requestedEffort(reasoning, rules);
  if (requested === undefined) return undefined;
  if (rules.reasoning === 'none' || rules.reasoning === 'always') {
    if ((requested === 'none') !== (rules.reasoning === 'none')) dropped.add('reasoning');
    return undefined;
  }
  return nearestEffort(requested, supportedEfforts(rules)) ?? requested;
}

/** The effort that a request asks for, by its name or as a budget. */
export function requestedEffort(reasoning: ChatRequest['reasoning'], rules: ModelRules): Effort | undefined {
  return reasoning?.effort ?? effortFor(reasoning?.budget, rules);
}

/** A model with effort `none` does not reason by default, so an automatic budget becomes an explicit effort. */
function effortFor(budget: number | undefined, rules: ModelRules): Effort | undefined {
  if (budget === undefined) return undefined;
  if (budget >= 0) return effortOf(budget, rules.maxOutput ?? DEFAULT_OUTPUT_TOKENS);
  return rules.efforts?.includes('none') ? 'medium' : undefined;
}

function supportedEfforts({ efforts, reasoningOff }: ModelRules): readonly Effort[] {
  const known = efforts ?? EFFORTS;
  return reasoningOff === false ? known.filter((effort) => effort !== 'none') : known;
}
