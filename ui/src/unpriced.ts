/** Where spending is without the cost of models whose price is unknown, by the sums of use in the periods of budgets. */

import { type UseQueryResult, useQueries, useQuery } from '@tanstack/react-query';
import type { UseFilters } from './pages/use/search.ts';
import type { Source } from './parts/unanswered.tsx';
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

/** Those that did not answer, as one: without them nothing says which costs are unknown. */
function sourceOf(reports: readonly UseQueryResult<UsageReport>[]): Source {
  const failed = reports.filter(({ error }) => error);
  return {
    name: 'Marks of unknown prices',
    asked: {
      data: failed.every(({ data }) => data) ? failed[0]?.data : undefined,
      error: failed[0]?.error ?? null,
      dataUpdatedAt: Math.min(...failed.map(({ dataUpdatedAt }) => dataUpdatedAt)),
      isFetching: failed.some(({ isFetching }) => isFetching),
      refetch: () => failed.map(({ refetch }) => refetch()),
    },
  };
}

interface Unpriced {
  models: readonly string[];
  periods: readonly Period[];
  source: Source;
}

/** Of one key or tag: models without a price, and periods in which they were used. */
export function useUnpriced(filters: UseFilters): Unpriced {
  const { isOperator } = useSession();
  const asked = useQuery(reportOf(isOperator, 'total', 'model', filters));
  const total = asked.data;
  const isAny = hasUnpriced(total);
  const reports = useQueries({
    queries: PERIODS.map((period) => ({ ...reportOf(isOperator, period, 'model', filters), enabled: isAny })),
  });
  return {
    models: total?.models_without_price ?? [],
    periods: PERIODS.filter((_, index) => isAny && hasUnpriced(reports[index]?.data)),
    source: sourceOf([asked, ...reports]),
  };
}

interface UnpricedBy {
  periodsOf(dimension: string, value: string): Period[];
  source: Source;
}

/** Of those of a list, by their values of dimensions: periods in which models without a price were used. */
export function useUnpricedBy(dimensions: readonly string[]): UnpricedBy {
  const totals = useQueries({ queries: dimensions.map((by) => reportOf(true, 'total', by, {})) });
  const isAny = totals.some(({ data }) => hasUnpriced(data));
  const asked = dimensions.flatMap((by) => PERIODS.map((period) => ({ by, period })));
  const reports = useQueries({
    queries: asked.map(({ by, period }) => ({ ...reportOf(true, period, by, {}), enabled: isAny })),
  });
  return {
    periodsOf: (dimension, value) =>
      asked.flatMap(({ by, period }, index) => {
        const line = by === dimension && reports[index]?.data?.data.find((one) => one[by] === value);
        return line && line.unpriced_tokens > 0 ? [period] : [];
      }),
    source: sourceOf([...totals, ...reports]),
  };
}
