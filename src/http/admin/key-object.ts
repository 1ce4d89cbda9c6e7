/** Key object of the admin API: OpenRouter's members, followed by additional ones. */

import type { Json } from '../../core/json/json.ts';
import { decimalOf } from '../../core/money.ts';
import { hasPrevious, stateOf } from '../../keys/key.ts';
import type { Key } from '../../keys/store.ts';
import type { LimitSubject } from '../../limits/subjects.ts';
import { PERIODS, type Period } from '../../records/key-settings.ts';
import type { BudgetUse } from '../../usage/budget-use.ts';
import type { Spending, Sums } from '../../usage/spending.ts';
import { encodeLimits, encodeSettings, RESETS } from './settings.ts';

/** Limits of a key, its defaults included, and their use. */
export interface KeyUse {
  own: Pick<LimitSubject, 'limits'>;
  spending: Spending;
  /** Use of the key's own budgets and of the default budgets. */
  uses: readonly BudgetUse[];
}

/** Key as the admin API shows it: money in USD, times in ISO 8601. `now` in Unix milliseconds. */
export function encodeKey(key: Key, { own, spending, uses }: KeyUse, now: number): Json {
  const { name, ...facts } = encodeFacts(key, now);
  return {
    hash: key.id,
    label: `${key.prefix}...`,
    name,
    disabled: facts.state === 'disabled' || facts.state === 'revoked',
    ...encodeSpending(spending),
    ...facts,
    held: encodeHeld(uses),
    effective: encodeEffective(key, own, uses),
  };
}

/** Limits and budgets that apply to a key, each with its origin: the key, or the `key_defaults` of the configuration. */
export function encodeEffective(
  { settings }: Key,
  { limits }: Pick<LimitSubject, 'limits'>,
  uses: readonly BudgetUse[],
): Json {
  const ownLimits = encodeLimits(settings.limits ?? {});
  const fromOf = (isOwn: boolean) => (isOwn ? 'key' : 'defaults');
  return {
    limits: Object.fromEntries(
      Object.entries(encodeLimits(limits)).map(([name, limit]) => [name, { limit, from: fromOf(name in ownLimits) }]),
    ),
    budgets: Object.fromEntries(
      uses.map((use) => [
        use.period,
        { ...encodeUse(use), from: fromOf(settings.budgets?.[use.period] !== undefined) },
      ]),
    ),
  };
}

/**
 * Of a budget, in USD to the last digit; `spent_estimated` and `spent_videos` are parts of `spent`. `unpriced_tokens` are tokens
 * whose price was unknown, and not in it.
 */
export function encodeUse(use: BudgetUse): Json {
  return {
    limit: decimalOf(use.limit),
    spent: decimalOf(use.spent),
    spent_estimated: decimalOf(use.estimated),
    spent_videos: decimalOf(use.videos),
    unpriced_tokens: Number(use.unpriced),
    held: decimalOf(use.held),
    held_complete: use.isHeldComplete,
    left: decimalOf(use.left),
    resets_at: iso(use.endsAt),
  };
}

/**
 * Limit and usage in OpenRouter's format, which has one limit: of several budgets, the one with the least left. Its numbers are
 * not exact; `spent` is.
 */
export function encodeSpending({ period, limit, left, ...sums }: Spending): Json {
  const { spent } = sums;
  return {
    limit: limit === undefined ? null : dollars(limit),
    limit_remaining: left === undefined ? null : dollars(left),
    limit_reset: period === undefined ? null : RESETS[period],
    usage: dollars(spent.total),
    usage_daily: dollars(spent.day),
    usage_weekly: dollars(spent.week),
    usage_monthly: dollars(spent.month),
    ...encodeSpent(sums),
  };
}

/**
 * Each by period, in USD to the last digit: `spent`, and of it `spent_estimated` by requests whose token counts are estimates,
 * and `spent_videos` for videos. `unpriced_tokens` are tokens whose price was unknown, and not in it.
 */
export function encodeSpent({ spent, estimated, videos, unpriced }: Sums): Json {
  const byPeriod = (sums: Record<Period, bigint>, encode: (sum: bigint) => Json = decimalOf) =>
    Object.fromEntries(PERIODS.map((period) => [period, encode(sums[period])]));
  return {
    spent: byPeriod(spent),
    spent_estimated: byPeriod(estimated),
    spent_videos: byPeriod(videos),
    unpriced_tokens: byPeriod(unpriced, Number),
  };
}

/** Encodes the most that open tasks and running requests may still cost, in USD, by the period of each budget. */
export function encodeHeld(uses: readonly BudgetUse[]): Json {
  return Object.fromEntries(uses.map(({ period, held }) => [period, decimalOf(held)]));
}

/** Facts of a key, for the admin API and the JSON output of the command line. */
export function encodeFacts(key: Key, now: number): Json {
  return {
    name: key.name,
    created_at: iso(key.created),
    updated_at: iso(key.updated),
    expires_at: iso(key.expires),
    ...encodeSettings(key.settings),
    state: stateOf(key, now),
    origin: key.origin,
    last_used_at: iso(key.lastUsed),
    secret_last_used_at: iso(key.secretLastUsed),
    revoked_at: iso(key.revoked),
    previous_until: key.previousUntil !== undefined && hasPrevious(key, now) ? iso(key.previousUntil) : null,
  };
}

/** USD as a number. */
export function dollars(money: bigint): number {
  return Number(decimalOf(money));
}

/** Converts Unix milliseconds to ISO 8601, and undefined to null. */
export function iso(moment: number | undefined): string | null {
  return moment === undefined ? null : new Date(moment).toISOString();
}
