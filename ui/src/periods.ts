/** Periods of budgets: when they end, and where spending leads until then. */

export const PERIODS = ['day', 'week', 'month', 'total'] as const;
export type Period = (typeof PERIODS)[number];

export const PERIOD_LABELS: Record<Period, string> = {
  day: 'today',
  week: 'this week',
  month: 'this month',
  total: 'in all',
};

const DAY_MS = 86_400_000;
/** Earlier in a period, a few requests decide too much. */
const FORECAST_FROM = 0.1;

export type SpentByPeriod = Partial<Record<Period, number>>;

/** In short, for tooltips. */
export const FORECAST_RULE =
  'If spending goes on at the pace of this period: of this week in a month, and of today until midnight, where these are faster';

/**
 * Spending at the end of the period, in the unit of `spent`; undefined where the period has just begun, or has no end. A longer
 * period never ends with less than a shorter one within it: the rest of today goes on at the pace of today, and the rest of the
 * month at that of the week, where these are faster than the own.
 */
export function forecastOf(period: Period, spent: SpentByPeriod, now: Date): number | undefined {
  const own = paceOf(period, spent, now);
  if (period === 'total' || own === undefined) return undefined;
  const pace = period === 'month' ? Math.max(own, paceOf('week', spent, now) ?? 0) : own;
  const today = Math.max(pace, paceOf('day', spent, now) ?? 0);
  const midnight = spanOf('day', now).end;
  return (spent[period] ?? 0) + today * (midnight - now.getTime()) + pace * (spanOf(period, now).end - midnight);
}

/** Spending a millisecond since the begin of a period. */
function paceOf(period: Period, spent: SpentByPeriod, now: Date): number | undefined {
  const sum = spent[period];
  if (period === 'total' || sum === undefined) return undefined;
  const { start, end } = spanOf(period, now);
  const passed = now.getTime() - start;
  return passed / (end - start) < FORECAST_FROM ? undefined : sum / passed;
}

/** That of a period, as budgets count it; all that was spent is since 1970. */
export function spanOfPeriod(period: Period, now: Date): { from: Date; to: Date; zone: string } {
  const { start, end } = period === 'total' ? { start: 0, end: spanOf('day', now).end } : spanOf(period, now);
  return { from: new Date(start), to: new Date(end), zone: 'UTC' };
}

/** In UTC; weeks begin on Monday. */
function spanOf(period: Exclude<Period, 'total'>, now: Date): { start: number; end: number } {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const today = Date.UTC(year, month, day);
  const monday = today - ((now.getUTCDay() + 6) % 7) * DAY_MS;
  switch (period) {
    case 'day':
      return { start: today, end: today + DAY_MS };
    case 'week':
      return { start: monday, end: monday + 7 * DAY_MS };
    case 'month':
      return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
  }
}
