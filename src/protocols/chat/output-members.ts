/** Output limit members of chat completions, at OpenAI and at servers of open models. */

/** Output tokens of one answer; servers differ in which one they use. */
export const LIMIT_MEMBERS = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'max_new_tokens',
  'n_predict',
  'num_predict',
] as const;

/** Number of answers; servers differ in which one they use. */
export const COUNT_MEMBERS = ['n', 'best_of', 'num_return_sequences', 'candidate_count'] as const;

/** Reasoning tokens; some servers add them to the output limit. */
export const THINKING_MEMBERS = ['thinking_budget', 'thinking_token_budget', 'max_reasoning_tokens'] as const;
