/** Default rules: those of the newest Claude models, for rules missing in the catalog. */

import type { ModelRules } from '../../core/model.ts';

export const NEWEST = {
  sampling: 'never',
  bothSampling: false,
  stop: true,
  forcedChoice: false,
  prefill: false,
  midSystem: true,
  reasoning: 'adaptive',
  reasoningOff: false,
  efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
  schema: true,
  webSearch: true,
} as const satisfies ModelRules;

/** Default of the required `max_tokens`, if neither the client nor the catalog has a limit. */
export const DEFAULT_MAX_TOKENS = 4096;

/** Maximum output of the newest models in tokens, for effort budgets. */
export const NEWEST_MAX_OUTPUT = 128_000;
