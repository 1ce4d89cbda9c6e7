/** Columns of the tables of usage sums. */

export const HOUR_KEY_COLUMNS = ['hour', 'key_id', 'model', 'provider'];
export const PART_KEY_COLUMNS = ['hour', 'key_id', 'tags', 'model', 'provider', 'protocol', 'status'];
export const COUNT_COLUMNS = [
  'requests',
  'failures',
  'input_tokens',
  'output_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  // Requests that the columns below are counted of: not those that an earlier version recorded.
  'assessed',
  'partial',
  'estimated_tokens',
] as const;
/** In 1e-12 USD. */
export const MONEY_COLUMNS = ['cost', 'estimated_cost'] as const;
export const HOUR_SUM_COLUMNS = [...COUNT_COLUMNS, ...MONEY_COLUMNS];
/** Tables of daily sums: their keys beside the first hour, and the hourly sums that they are made from. */
export const DAY_TABLES = {
  usage_day: { keys: HOUR_KEY_COLUMNS.slice(1), hours: 'usage_hour', hasTimes: false },
  usage_part_day: { keys: PART_KEY_COLUMNS.slice(1), hours: 'usage_part', hasTimes: true },
};
/** Counts by time, see `time-counts.ts`. */
export const TIMES_COLUMN = 'times';
export type DayTable = keyof typeof DAY_TABLES;
export const BUDGET_KEY_COLUMNS = ['key_id', 'period', 'starts_at'];
/** Cost in 1e-12 USD: in all, by estimates, and for videos. `unpriced`: tokens of unknown price, which are not in it. */
export const SPENT_COLUMNS = ['spent', 'estimated', 'videos', 'unpriced'] as const;
export const BUDGET_COLUMNS = [...BUDGET_KEY_COLUMNS, ...SPENT_COLUMNS];
