/** Members of chat completions that say how long and how many answers may be, at OpenAI and at servers of open models. */

/** Tokens of one answer; of several that are given, a server may take any. */
export const LIMIT_MEMBERS = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'max_new_tokens',
  'n_predict',
  'num_predict',
] as const;

/** How many answers are made; of several that are given, a server may take any. */
export const COUNT_MEMBERS = ['n', 'best_of', 'num_return_sequences', 'candidate_count'] as const;

/** Tokens to think for; some servers count them beside the answer's limit. */
export const THINKING_MEMBERS = ['thinking_budget', 'thinking_token_budget', 'max_reasoning_tokens'] as const;
