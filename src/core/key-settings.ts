/** What a key may do, how often, and for how much. Everything absent is unlimited. */

/** What can be called with a key: the protocols, and the video tasks. */
export const SURFACES = ['chat', 'messages', 'generate', 'videos'] as const;
export type Surface = (typeof SURFACES)[number];

export interface Limits {
  requestsPerMinute?: number;
  tokensPerMinute?: number;
  concurrentRequests?: number;
}

export const PERIODS = ['day', 'week', 'month', 'total'] as const;
export type Period = (typeof PERIODS)[number];

export interface KeySettings {
  /** Globs of model ids. */
  models?: string[];
  surfaces?: Surface[];
  /** It may look (own use, own tasks, models) and start nothing. */
  readOnly?: boolean;
  /** Address ranges that may use it. */
  cidrs?: string[];
  limits?: Limits;
  /** Limits of each model that a glob meets, beside the key's own. */
  modelLimits?: Record<string, Limits>;
  /** USD as decimal strings. Days and months are UTC, weeks begin on Monday. */
  budgets?: Partial<Record<Period, string>>;
}
