/** Where spending is without the cost of models whose price is unknown, by the sums of use in the periods of budgets. */

import { useQueries, useQuery } from '@tanstack/react-query';
import type { UseFilters } from './pages/use/search.ts';
import { PERIODS, type Period, spanOfPeriod } from './periods.ts';
import { useSession } from './session.ts';
import { MAX_TOP, type UsageReport, usageOfAll, usageOfOwn } from './usage.ts';

/** Sums of twenty years are the most that the gateway gives. */
const YEARS = 19;
const KEPT_MS = 60_000;

function reportOf(isOperator: boolean, period: Period, by: string, filters: UseFilters) {
  const { from, to, zone } = spanOfPeriod(period, new Date());
  const first = from.getTime() > 0 ? from : new Date(Date.UTC(to.getUTCFullYear() - YEARS, 0));
  const span = { from: first, to, zone, step: 'month' as const };
  const report = isOperator ? usageOfAll : usageOfOwn;
  return { ...report({ span, by: [by], filters, top: MAX_TOP, topBy: 'tokens' }), staleTime: KEPT_MS };
}

const hasUnpriced = (report: UsageReport | undefined) => (report?.total.unpriced_tokens ?? 0) > 0;

/** Of one key or tag: models without a price, and periods in which they were used. */
export function useUnpriced(filters: UseFilters): { models: readonly string[]; periods: readonly Period[] } {
  const { isOperator } = useSession();
  const total = useQuery(reportOf(isOperator, 'total', 'model', filters)).data;
  const isAny = hasUnpriced(total);
  const reports = useQueries({
    queries: PERIODS.map((period) => ({ ...reportOf(isOperator, period, 'model', filters), enabled: isAny })),
  });
  return {
    models: total?.models_without_price ?? [],
    periods: PERIODS.filter((_, index) => isAny && hasUnpriced(reports[index]?.data)),
  };
}

/** Of those of a list, by their values of dimensions: periods in which models without a price were used. */
export function useUnpricedBy(dimensions: readonly string[]): (dimension: string, value: string) => Period[] {
  const totals = useQueries({ queries: dimensions.map((by) => reportOf(true, 'total', by, {})) });
  const isAny = totals.some(({ data }) => hasUnpriced(data));
  const asked = dimensions.flatMap((by) => PERIODS.map((period) => ({ by, period })));
  const reports = useQueries({
    queries: asked.map(({ by, period }) => ({ ...reportOf(true, period, by, {}), enabled: isAny })),
  });
  return (dimension, value) =>
    asked.flatMap(({ by, period }, index) => {
      const line = by === dimension && reports[index]?.data?.data.find((one) => one[by] === value);
      return line && line.unpriced_tokens > 0 ? [period] : [];
    });
}
