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

/** Spending at the end of the period if it goes on as it does; undefined where the period has just begun, or has no end. */
export function forecastOf(period: Period, spent: number, now: Date): number | undefined {
  if (period === 'total') return undefined;
  const span = spanOf(period, now);
  const passed = (now.getTime() - span.start) / (span.end - span.start);
  return passed < FORECAST_FROM ? undefined : spent / passed;
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
