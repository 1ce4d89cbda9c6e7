/** Use of the budgets of a subject: the amounts spent, held and left in the current period of each. */

import { maxBigInt, moneyOf } from '../core/money.ts';
import { type Budgets, PERIODS, type Period, periodEnd, periodStart } from '../records/key-settings.ts';
import type { Reservations, ReservedAmount } from '../records/reservations.ts';
import type { Store } from '../store/store.ts';

/** Money is in 1e-12 USD. */
export interface BudgetUse {
  period: Period;
  limit: bigint;
  spent: bigint;
  /** Part of `spent` by requests whose token counts are estimates. */
  estimated: bigint;
  /** Part of `spent` for videos. */
  videos: bigint;
  /** Tokens whose price was unknown. */
  unpriced: bigint;
  /** Amount that open video tasks and running requests may still cost. */
  held: bigint;
  /** Whether every gateway reported its holds; otherwise `held` is a minimum, and `left` a maximum. */
  isHeldComplete: boolean;
  left: bigint;
  /** Unix milliseconds; absent for `total`. */
  endsAt?: number;
}

export interface BudgetSource {
  store: Pick<Store, 'call'>;
  /** Reads the reservations of running requests. */
  reservations(): Promise<Reservations>;
}

/** Use of each configured budget of a key or tag in the period of `now`, in Unix milliseconds. */
export async function budgetUsesOf(
  { store, reservations }: BudgetSource,
  { name: subject, budgets }: { name: string; budgets: Budgets },
  now: number,
): Promise<BudgetUse[]> {
  const periods = PERIODS.flatMap((period) =>
    budgets[period] === undefined ? [] : [{ period, startsAt: periodStart(period, now) }],
  );
  if (periods.length === 0) return [];
  // Holds are read before spending: a request that is settled in between counts as held and spent, instead of as neither.
  const reserved = await reservations();
  const running = new Map(periods.map((one) => [one.period, reserved.of({ subject, ...one })]));
  const uses = await store.call('budgetUse', { subject, periods });
  return uses.map(({ held, ...use }) => {
    const { amount, isComplete } = running.get(use.period) as ReservedAmount;
    const amounts = { ...use, held: held + amount, isHeldComplete: isComplete };
    return useOf(use.period, budgets[use.period] as string, amounts, now);
  });
}

/** Budgets of a new key, of which nothing is used. `now` in Unix milliseconds. */
export function unusedBudgets(budgets: Budgets, now: number): BudgetUse[] {
  return PERIODS.flatMap((period) => {
    const text = budgets[period];
    if (text === undefined) return [];
    const nothing = { spent: 0n, estimated: 0n, videos: 0n, unpriced: 0n, held: 0n, isHeldComplete: true };
    return [useOf(period, text, nothing, now)];
  });
}

function useOf(
  period: Period,
  text: string,
  amounts: Pick<BudgetUse, 'spent' | 'estimated' | 'videos' | 'unpriced' | 'held' | 'isHeldComplete'>,
  now: number,
): BudgetUse {
  const limit = moneyOf(text);
  const endsAt = periodEnd(period, now);
  const left = maxBigInt(0n, limit - amounts.spent - amounts.held);
  return { period, limit, ...amounts, left, ...(endsAt !== undefined && { endsAt }) };
}
