/** Key settings: holder, permissions, rate limits and budgets of an API key. Absent settings are unlimited. */

import type { Tags } from './tags.ts';

export interface Limits {
  requestsPerMinute?: number;
  tokensPerMinute?: number;
  concurrentRequests?: number;
}

/** Largest limit of requests or tokens: sums of it stay within the 64-bit integers of the store. */
export const MAX_LIMIT = Number.MAX_SAFE_INTEGER;

export const PERIODS = ['day', 'week', 'month', 'total'] as const;
export type Period = (typeof PERIODS)[number];

/** USD as decimal strings. Days and months are UTC, weeks begin on Monday. */
export type Budgets = Partial<Record<Period, string>>;

/** Limits and budgets of a subject: a key, or all keys with a tag. */
export interface Allotment {
  limits?: Limits;
  budgets?: Budgets;
}

/** Defaults for settings that a key does not have: limits and budgets apply at each use, tags when the key is created. */
export interface KeyDefaults extends Allotment {
  tags?: Tags;
}

/** Allotments beside those that keys set themselves. */
export interface SharedAllotments {
  keyDefaults: KeyDefaults;
  /** Allotments that all keys with a tag share, by `name=value`. */
  tags: ReadonlyMap<string, Allotment>;
}

export interface KeySettings extends Allotment {
  /** Person or team that holds the key, for the operator. */
  owner?: string;
  /** Groups that it belongs to. */
  tags?: Tags;
  /** Notes of the operator. */
  metadata?: Record<string, string>;
  /** Globs of model ids. */
  models?: string[];
  /** Ids of protocols, and `videos`. */
  surfaces?: string[];
  /** The key may read its usage, its tasks and the models, but start nothing. */
  readOnly?: boolean;
  /** Address ranges (CIDR) from which the key may be used. */
  cidrs?: string[];
  /** Additional limits for each model that matches a glob. */
  modelLimits?: Record<string, Limits>;
  /** Whether its responses are stored; absent means the setting of the gateway. */
  storeResponses?: boolean;
}

/** Settings of a new key that says nothing. */
export function initialSettings({ tags }: KeyDefaults): KeySettings {
  return tags ? { tags } : {};
}

const DAY_MS = 24 * 3600 * 1000;
/** 1970-01-05, the first Monday after the Unix epoch. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

/** Start of the period that contains `moment`, in Unix milliseconds; 0 for `total`. */
export function periodStart(period: Period, moment: number): number {
  switch (period) {
    case 'day':
      return moment - (moment % DAY_MS);
    case 'week':
      return moment - ((((moment - FIRST_MONDAY_MS) % (7 * DAY_MS)) + 7 * DAY_MS) % (7 * DAY_MS));
    case 'month': {
      const date = new Date(moment);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
    }
    case 'total':
      return 0;
  }
}

/** End of the period that contains `moment`, in Unix milliseconds; undefined for `total`. */
export function periodEnd(period: Period, moment: number): number | undefined {
  switch (period) {
    case 'day':
      return periodStart(period, moment) + DAY_MS;
    case 'week':
      return periodStart(period, moment) + 7 * DAY_MS;
    case 'month': {
      const date = new Date(moment);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
    }
    case 'total':
      return undefined;
  }
}
