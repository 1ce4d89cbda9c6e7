/** Use of the budgets of a subject: what is spent, held and left in the current period of each. */

import { maxBigInt, moneyOf } from '../core/money.ts';
import { type Budgets, PERIODS, type Period, periodEnd, periodStart } from '../records/key-settings.ts';
import type { Store } from '../store/store.ts';

/** Money is in 1e-12 USD. */
export interface BudgetUse {
  period: Period;
  limit: bigint;
  spent: bigint;
  /** Of what is spent: by requests whose token counts are estimates. */
  estimated: bigint;
  /** Of what is spent: for videos. */
  videos: bigint;
  /** What open video tasks and running requests may still cost. */
  held: bigint;
  left: bigint;
  /** Unix milliseconds; absent for `total`. */
  endsAt?: number;
}

export interface BudgetSource {
  store: Pick<Store, 'call'>;
  /** What running requests of this process reserve; absent where none run. */
  reserved?(subject: string, period: Period): bigint;
}

export async function budgetUsesOf(
  { store, reserved }: BudgetSource,
  { name: subject, budgets }: { name: string; budgets: Budgets },
  now: number,
): Promise<BudgetUse[]> {
  const periods = PERIODS.flatMap((period) =>
    budgets[period] === undefined ? [] : [{ period, startsAt: periodStart(period, now) }],
  );
  if (periods.length === 0) return [];
  // Before the store is asked: what is settled meanwhile is rather shown as held and spent than as neither.
  const running = new Map(periods.map(({ period }) => [period, reserved?.(subject, period) ?? 0n]));
  const uses = await store.call('budgetUse', { subject, periods });
  return uses.map(({ held, ...use }) => {
    const period = use.period as Period;
    return useOf(period, budgets[period] as string, { ...use, held: held + (running.get(period) ?? 0n) }, now);
  });
}

/** Of a new key. */
export function unusedBudgets(budgets: Budgets, now: number): BudgetUse[] {
  return PERIODS.flatMap((period) => {
    const text = budgets[period];
    return text === undefined ? [] : [useOf(period, text, { spent: 0n, estimated: 0n, videos: 0n, held: 0n }, now)];
  });
}

function useOf(
  period: Period,
  text: string,
  { spent, estimated, videos, held }: Pick<BudgetUse, 'spent' | 'estimated' | 'videos' | 'held'>,
  now: number,
): BudgetUse {
  const limit = moneyOf(text);
  const endsAt = periodEnd(period, now);
  const left = maxBigInt(0n, limit - spent - held);
  return { period, limit, spent, estimated, videos, held, left, ...(endsAt !== undefined && { endsAt }) };
}
