/** How hard a model should think, on a wire that knows efforts and no budgets. */

import type { ChatRequest, Effort } from '../../core/chat.ts';
import { EFFORTS, effortOf } from '../../core/effort.ts';
import type { ModelRules } from '../../core/model.ts';

const USUAL_OUTPUT = 65_536;

/** `reasoning_effort`, or undefined where nothing is asked or the model can't be told. */
export function encodeEffort(request: ChatRequest, rules: ModelRules, dropped: Set<string>): Effort | undefined {
  const { effort, budget } = request.reasoning ?? {};
  const wanted = effort ?? effortFor(budget, rules);
  if (rules.toolsNeedNoReasoning && request.tools.length > 0) {
    if (wanted !== undefined && wanted !== 'none') dropped.add('reasoning.effort');
    return 'none';
  }
  if (wanted === undefined) return undefined;
  if (rules.reasoning === 'none' || rules.reasoning === 'always') {
    if ((wanted === 'none') !== (rules.reasoning === 'none')) dropped.add('reasoning');
    return undefined;
  }
  return nearest(wanted, rules);
}

/** A model that also knows how not to think doesn't by itself, so that one which shall decide must be told to think. */
function effortFor(budget: number | undefined, rules: ModelRules): Effort | undefined {
  if (budget === undefined) return undefined;
  if (budget >= 0) return effortOf(budget, rules.maxOutput ?? USUAL_OUTPUT);
  return rules.efforts?.includes('none') ? 'medium' : undefined;
}

/** The strongest effort the model knows that is not stronger than the wanted one, else its weakest; `none` only where it is wanted. */
function nearest(wanted: Effort, { efforts, reasoningOff }: ModelRules): Effort {
  const known = EFFORTS.filter((effort) => (efforts ?? EFFORTS).includes(effort));
  const usable = known.filter((effort) => effort !== 'none' || (wanted === 'none' && reasoningOff !== false));
  return usable.findLast((effort) => EFFORTS.indexOf(effort) <= EFFORTS.indexOf(wanted)) ?? usable[0] ?? wanted;
}
