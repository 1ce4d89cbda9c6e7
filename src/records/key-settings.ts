/** What a key may do, how often, and for how much. Everything absent is unlimited. */

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
  /** Ids of protocols, and `videos`. */
  surfaces?: string[];
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

const DAY_MS = 24 * 3600 * 1000;
/** The first Monday after 1970 began. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

/** Unix milliseconds at which the period began that a moment belongs to; 0 for the one without an end. */
export function periodStart(period: Period, moment: number): number {
  switch (period) {
    case 'day':
      return moment - (moment % DAY_MS);
    case 'week':
      return moment - ((((moment - FIRST_MONDAY_MS) % (7 * DAY_MS)) + 7 * DAY_MS) % (7 * DAY_MS));
    case 'month': {
      const date = new Date(moment);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
    }
    case 'total':
      return 0;
  }
}
