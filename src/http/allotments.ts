/** Limits and budgets of a subject with their use, as the API shows them. */

import type { Json } from '../core/json/json.ts';
import type { LimitSubject } from '../limits/subjects.ts';
import { type BudgetSource, budgetUsesOf } from '../usage/budget-use.ts';
import { spendingOf } from '../usage/spending.ts';
import { encodeSpent, encodeUse } from './admin/key-object.ts';
import { encodeLimits } from './admin/settings.ts';

/** Allotments of tags with their use, by `name=value`. */
export async function describeAllotments(
  source: BudgetSource,
  subjects: readonly LimitSubject[],
  now: number,
): Promise<Record<string, Json>> {
  const described = subjects.map(async (one) => [one.tag, await describeAllotment(source, one, now)]);
  return Object.fromEntries(await Promise.all(described));
}

/**
 * `limits`, each of `budgets` with `limit`, `spent` and its parts, `held`, `left` and `resets_at`, and `spent` and its parts in all
 * periods.
 */
export async function describeAllotment(
  source: BudgetSource,
  subject: Pick<LimitSubject, 'name' | 'limits' | 'budgets'>,
  now: number,
): Promise<Json> {
  const [uses, spending] = await Promise.all([
    budgetUsesOf(source, subject, now),
    spendingOf(source.store, subject, now),
  ]);
  return {
    limits: encodeLimits(subject.limits),
    budgets: Object.fromEntries(uses.map((use) => [use.period, encodeUse(use)])),
    ...encodeSpent(spending),
  };
}
