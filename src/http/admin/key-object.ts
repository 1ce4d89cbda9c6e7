/** Key object of the admin API: OpenRouter's members, followed by additional ones. */

import type { Json } from '../../core/json/json.ts';
import { decimalOf } from '../../core/money.ts';
import { stateOf } from '../../keys/key.ts';
import type { Key } from '../../keys/store.ts';
import type { LimitSubject } from '../../limits/subjects.ts';
import { PERIODS } from '../../records/key-settings.ts';
import type { BudgetUse } from '../../usage/budget-use.ts';
import type { Spending } from '../../usage/spending.ts';
import { encodeLimits, encodeSettings, RESETS } from './settings.ts';

/** What a key may use in all, with its defaults, and what it has used. */
export interface KeyUse {
  own: Pick<LimitSubject, 'limits'>;
  spending: Spending;
  /** Of its own budgets and those of the defaults. */
  uses: readonly BudgetUse[];
}

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

export function encodeUse({ limit, spent, held, isHeldComplete, left, endsAt }: BudgetUse): Json {
  return {
    limit: decimalOf(limit),
    spent: decimalOf(spent),
    held: decimalOf(held),
    held_complete: isHeldComplete,
    left: decimalOf(left),
    resets_at: iso(endsAt),
  };
}

/**
 * Limit and usage in OpenRouter's format, which has one limit: of several budgets, the one with the least left. Its numbers are
 * not exact; `spent` is.
 */
export function encodeSpending({ spent, period, limit, left }: Spending): Json {
  return {
    limit: limit === undefined ? null : dollars(limit),
    limit_remaining: left === undefined ? null : dollars(left),
    limit_reset: period === undefined ? null : RESETS[period],
    usage: dollars(spent.total),
    usage_daily: dollars(spent.day),
    usage_weekly: dollars(spent.week),
    usage_monthly: dollars(spent.month),
    spent: encodeSpent(spent),
  };
}

/** By period, to the last digit. */
export function encodeSpent(spent: Spending['spent']): Json {
  return Object.fromEntries(PERIODS.map((period) => [period, decimalOf(spent[period])]));
}

/** What open tasks and running requests may still cost, in USD, by the period of each budget. */
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
    revoked_at: iso(key.revoked),
    previous_until: key.previousUntil !== undefined && key.previousUntil > now ? iso(key.previousUntil) : null,
  };
}

/** USD as a number. */
export function dollars(money: bigint): number {
  return Number(decimalOf(money));
}

export function iso(moment: number | undefined): string | null {
  return moment === undefined ? null : new Date(moment).toISOString();
}
