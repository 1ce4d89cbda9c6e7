/** What the holder of a key may see of it: its use, one request of it, and what it may still use. */

import { GatewayError } from '../core/errors.ts';
import { decimalOf } from '../core/money.ts';
import type { Key } from '../keys/store.ts';
import type { Store } from '../store/store.ts';
import { encodeGeneration } from '../usage/generation.ts';
import { readReportQuery, reportUse } from '../usage/report.ts';
import { spendingOf } from '../usage/spending.ts';
import { RESETS } from './admin/settings.ts';

export interface OwnOptions {
  store: Pick<Store, 'call'>;
  /** Unix milliseconds. */
  now?(): number;
}

type Answer = (key: Key, query: URLSearchParams, options: OwnOptions) => Promise<object>;

/** By their paths. */
export const OWN_ROUTES: ReadonlyMap<string, { name: string; answer: Answer }> = new Map([
  ['/v1/usage', { name: 'own.usage', answer: usage }],
  ['/v1/generation', { name: 'own.generation', answer: generation }],
  ['/v1/key', { name: 'own.key', answer: facts }],
]);

export interface OwnRoute {
  /** In logs and figures. */
  name: string;
  answer: Answer;
}

/** Undefined for all other paths. Throws `method_not_allowed`. */
export function ownRoute(method: string, path: string): OwnRoute | undefined {
  const route = OWN_ROUTES.get(path);
  if (!route || method === 'GET' || method === 'HEAD') return route;
  throw new GatewayError('method_not_allowed', `${path} takes GET, HEAD, not ${method}.`, { allow: 'GET, HEAD' });
}

async function usage(key: Key, query: URLSearchParams, { store, now = Date.now }: OwnOptions): Promise<object> {
  const [from, to, by] = ['from', 'to', 'by'].map((name) => query.get(name) ?? undefined);
  return reportUse(store, readReportQuery({ from, to, by }, ['day', 'hour', 'model', 'provider'], now()), key.id);
}

async function generation(key: Key, query: URLSearchParams, { store }: OwnOptions): Promise<object> {
  const id = query.get('id');
  if (!id) throw new GatewayError('invalid_request', 'id is required: that of a request.', { param: 'id' });
  // No database text holds a NUL, and neither does an id.
  const found = id.includes('\0') ? undefined : await store.call('usageRecord', { id, keyId: key.id });
  if (found) return { data: encodeGeneration(found) };
  throw new GatewayError('not_found', 'This key has made no request with this id, or its record is no longer kept.', {
    param: 'id',
  });
}

/** OpenRouter's shape, which knows one limit: of several budgets the one of which least is left. */
async function facts(key: Key, _query: URLSearchParams, { store, now = Date.now }: OwnOptions): Promise<object> {
  const { spent, period, limit, left } = await spendingOf(store, key, now());
  const { budgets = {}, limits = {} } = key.settings;
  return {
    data: {
      label: `${key.prefix}…`,
      name: key.name,
      limit: limit === undefined ? null : dollars(limit),
      limit_remaining: left === undefined ? null : dollars(left),
      limit_reset: period === undefined ? null : RESETS[period],
      usage: dollars(spent.total),
      usage_daily: dollars(spent.day),
      usage_weekly: dollars(spent.week),
      usage_monthly: dollars(spent.month),
      budgets,
      limits,
      is_free_tier: false,
      read_only: key.settings.readOnly ?? false,
      expires_at: key.expires === undefined ? null : new Date(key.expires).toISOString(),
    },
  };
}

function dollars(money: bigint): number {
  return Number(decimalOf(money));
}
