/** Limits and budgets of a subject, with what is used of them, as the API shows them. */

import type { Json } from '../core/json/json.ts';
import { decimalOf } from '../core/money.ts';
import type { LimitSubject } from '../limits/subjects.ts';
import type { Store } from '../store/store.ts';
import { type BudgetUse, budgetUsesOf } from '../usage/budget-use.ts';
import { iso } from './admin/key-object.ts';
import { encodeLimits } from './admin/settings.ts';

/** `limits`, and each of `budgets` with `limit`, `spent`, `held`, `left` and `resets_at`. */
export async function describeAllotment(
  store: Pick<Store, 'call'>,
  subject: Pick<LimitSubject, 'name' | 'limits' | 'budgets'>,
  now: number,
): Promise<{ limits: Json; budgets: Json }> {
  const uses = await budgetUsesOf(store, subject, now);
  return {
    limits: encodeLimits(subject.limits),
    budgets: Object.fromEntries(uses.map((use) => [use.period, encodeUse(use)])),
  };
}

function encodeUse({ limit, spent, held, left, endsAt }: BudgetUse): Json {
  return {
    limit: decimalOf(limit),
    spent: decimalOf(spent),
    held: decimalOf(held),
    left: decimalOf(left),
    resets_at: iso(endsAt),
  };
}
