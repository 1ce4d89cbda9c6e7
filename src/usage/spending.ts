/** Spending of a key or a tag by budget period, and the remaining budget. */

import { moneyOf } from '../core/money.ts';
import { type Budgets, PERIODS, type Period, periodStart } from '../records/key-settings.ts';
import type { Store } from '../store/store.ts';

/** Money is in 1e-12 USD. */
export interface Spending {
  spent: Record<Period, bigint>;
  /** Part of `spent` by requests whose token counts are estimates. */
  estimated: Record<Period, bigint>;
  /** Part of `spent` for videos. */
  videos: Record<Period, bigint>;
  /** Tokens whose price was unknown. */
  unpriced: Record<Period, bigint>;
  /** Budget with the least left. */
  period?: Period;
  limit?: bigint;
  left?: bigint;
}

/** Spending of a key or tag in the current period of each kind; `now` in Unix milliseconds. */
export async function spendingOf(
  store: Pick<Store, 'call'>,
  { name: subject, budgets }: { name: string; budgets: Budgets },
  now: number,
): Promise<Spending> {
  const starts = PERIODS.map((period) => ({ period, startsAt: periodStart(period, now) }));
  return spendingFrom(await store.call('spentBy', { subject, starts }), budgets);
}

/** Spending of a new key, which is zero, with its tightest budget. */
export function unspent(budgets: Budgets): Spending {
  return spendingFrom([], budgets);
}

export type Sums = Pick<Spending, 'spent' | 'estimated' | 'videos' | 'unpriced'>;

function spendingFrom(rows: (Record<keyof Sums, bigint> & { period: string })[], budgets: Budgets): Spending {
  const sumsOf = (name: keyof Sums) => {
    const sumOf = (wanted: Period) => rows.find(({ period }) => period === wanted)?.[name] ?? 0n;
    return { day: sumOf('day'), week: sumOf('week'), month: sumOf('month'), total: sumOf('total') };
  };
  const sums: Sums = {
    spent: sumsOf('spent'),
    estimated: sumsOf('estimated'),
    videos: sumsOf('videos'),
    unpriced: sumsOf('unpriced'),
  };
  const [tightest] = PERIODS.flatMap((period) => {
    const text = budgets[period];
    if (text === undefined) return [];
    const left = moneyOf(text) - sums.spent[period];
    return [{ period, limit: moneyOf(text), left: left > 0n ? left : 0n }];
  }).toSorted((one, other) => (one.left < other.left ? -1 : 1));
  return { ...sums, ...tightest };
}
