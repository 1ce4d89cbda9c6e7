/** What the newest Claude models accept; stands in for every rule that the catalog leaves open. */

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
} as const satisfies ModelRules;

/** `max_tokens` must be sent; this is sent where neither the client nor the catalog says how much. */
export const DEFAULT_MAX_TOKENS = 4096;

/** The largest output of the newest models, of which reasoning budgets are shares. */
export const NEWEST_MAX_OUTPUT = 128_000;
