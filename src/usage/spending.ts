/** Spending of a key or a tag by budget period, and the remaining budget. */

import { moneyOf } from '../core/money.ts';
import { type Budgets, PERIODS, type Period, periodStart } from '../records/key-settings.ts';
import type { Store } from '../store/store.ts';

/** Money is in 1e-12 USD. */
export interface Spending {
  spent: Record<Period, bigint>;
  /** Of what is spent: by requests whose token counts are estimates. */
  estimated: Record<Period, bigint>;
  /** Of what is spent: for videos. */
  videos: Record<Period, bigint>;
  /** Budget with the least left. */
  period?: Period;
  limit?: bigint;
  left?: bigint;
}

export async function spendingOf(
  store: Pick<Store, 'call'>,
  { name: subject, budgets }: { name: string; budgets: Budgets },
  now: number,
): Promise<Spending> {
  const starts = PERIODS.map((period) => ({ period, startsAt: periodStart(period, now) }));
  const rows = await store.call('spentBy', { subject, starts });
  const sumsOf = (name: SpentShare) => {
    const sumOf = (wanted: Period) => rows.find(({ period }) => period === wanted)?.[name] ?? 0n;
    return { day: sumOf('day'), week: sumOf('week'), month: sumOf('month'), total: sumOf('total') };
  };
  return spendingFrom({ spent: sumsOf('spent'), estimated: sumsOf('estimated'), videos: sumsOf('videos') }, budgets);
}

/** Of a new key. */
export function unspent(budgets: Budgets): Spending {
  const nothing = { day: 0n, week: 0n, month: 0n, total: 0n };
  return spendingFrom({ spent: nothing, estimated: nothing, videos: nothing }, budgets);
}

type SpentShare = 'spent' | 'estimated' | 'videos';

function spendingFrom(sums: Pick<Spending, SpentShare>, budgets: Budgets): Spending {
  const [tightest] = PERIODS.flatMap((period) => {
    const text = budgets[period];
    if (text === undefined) return [];
    const left = moneyOf(text) - sums.spent[period];
    return [{ period, limit: moneyOf(text), left: left > 0n ? left : 0n }];
  }).toSorted((one, other) => (one.left < other.left ? -1 : 1));
  return { ...sums, ...tightest };
}
