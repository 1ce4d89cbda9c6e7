/** Chat completions of OpenAI's models and of open models, at any server of them: their rules and steps. */

import type { ModelRules } from '../../core/model.ts';
import { shortCallId } from '../../core/results.ts';
import { allowedTools, EXTENSIONS, reasoningAsEffort, without, withoutNulls } from './fields.ts';
import { callIds, mergeSystemTurns, withoutImageDetail } from './messages.ts';
import { applyRules } from './rules.ts';
import { type DialectStep, dialect } from './step.ts';

/** One system turn at the start, no nulls. */
export const openModels: readonly DialectStep[] = [
  withoutNulls,
  mergeSystemTurns,
  withoutImageDetail,
  reasoningAsEffort,
  allowedTools,
  applyRules,
];

/** Rules of the newest reasoning models of OpenAI; the catalog relaxes them for others. */
export const OPENAI_RULES: ModelRules = {
  tokenField: 'max_completion_tokens',
  systemRole: 'developer',
  sampling: 'without-reasoning',
  penalties: false,
  logprobs: false,
  logitBias: false,
  embeddingTokens: true,
};

/** Every model accepts the newer field names, so the older names in the rules of older models do not patch a request. */
const applyRulesKeepingNewNames: DialectStep = (body, rules, result) => {
  const { systemRole, tokenField, ...others } = rules;
  applyRules(body, tokenField === 'max_tokens' ? others : { ...others, tokenField }, result);
};

/** Unknown fields are refused at the top level and ignored inside messages, so the history stays unchanged, apart from long ids. */
export const adaptOpenai = dialect(
  reasoningAsEffort,
  without(...EXTENSIONS),
  applyRulesKeepingNewNames,
  callIds(shortCallId),
);
