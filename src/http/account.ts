/** Handlers of the account routes of a key: usage reports, single usage records, limits and remaining budget. */

import type { AdmissionControl } from '../accounting/admission.ts';
import { requestIdOf } from '../core/answer-id.ts';
import { systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { Key } from '../keys/store.ts';
import type { LimitSubject } from '../limits/subjects.ts';
import { protocols } from '../protocols/index.ts';
import { hasPrice, type ModelDirectory } from '../routing/model-directory.ts';
import { decodeStoredTrace } from '../routing/stored-trace.ts';
import type { Store } from '../store/store.ts';
import { budgetUsesOf } from '../usage/budget-use.ts';
import { encodeGeneration } from '../usage/generation.ts';
import { knownCostOf, readReportQuery, reportUsage } from '../usage/report.ts';
import { spendingOf } from '../usage/spending.ts';
import { dollars, encodeEffective, encodeHeld, encodeSpending } from './admin/key-object.ts';
import { encodeLimits, encodePermissions } from './admin/settings.ts';
import { describeAllotments } from './allotments.ts';
import type { ReadLimit } from './rate.ts';

export interface AccountRouteOptions {
  store: Pick<Store, 'call'>;
  admission: Pick<AdmissionControl, 'subjects' | 'reservations'>;
  /** Their prices, without which a cost is not known. */
  models(): Pick<ModelDirectory, 'providers' | 'routes'>;
  limitReads: ReadLimit;
  /** Unix milliseconds. */
  now?(): number;
}

export type ReadAccount = (key: Key, query: URLSearchParams, options: AccountRouteOptions) => Promise<object>;

export async function usage(
  key: Key,
  query: URLSearchParams,
  { store, models, limitReads, now = systemClock.now }: AccountRouteOptions,
): Promise<object> {
  const [from, to, by] = ['from', 'to', 'by'].map((name) => query.get(name) ?? undefined);
  const asked = readReportQuery({ from, to, by }, ['day', 'hour', 'model', 'provider'], now());
  const directory = models();
  const context = { keyId: key.id, hasPrice: (model: string) => hasPrice(directory, model) };
  return limitReads(key.id, () => reportUsage(store, asked, context));
}

export async function generation(
  key: Key,
  query: URLSearchParams,
  { store, models }: AccountRouteOptions,
): Promise<object> {
  const id = query.get('id');
  if (!id) throw new GatewayError('invalid_request', 'id is required: that of a request.', { param: 'id' });
  // PostgreSQL text cannot contain NUL, and no id does.
  const names = id.includes('\0') ? [] : [id, requestIdOf(id)].filter((name) => name !== undefined);
  for (const name of names) {
    const found = await store.call('usageRecord', { id: name, keyId: key.id });
    if (!found) continue;
    const directory = models();
    const cost = knownCostOf(found, (model) => hasPrice(directory, model));
    const serviceTier = decodeStoredTrace(found.trace as string | null)?.tier?.name ?? null;
    return { data: encodeGeneration(found, { apiType: apiTypeOf(String(found.protocol_in)), cost, serviceTier }) };
  }
  throw new GatewayError('not_found', 'This key has made no request with this id, or its record is no longer kept.', {
    param: 'id',
  });
}

/** Key object in OpenRouter's format. */
export async function keyFacts(
  key: Key,
  _query: URLSearchParams,
  { store, admission, now = systemClock.now }: AccountRouteOptions,
): Promise<object> {
  const moment = now();
  const [own, ...shared] = admission.subjects(key) as [LimitSubject, ...LimitSubject[]];
  const source = { store, reservations: admission.reservations };
  const spending = await spendingOf(store, own, moment);
  const uses = await budgetUsesOf(source, own, moment);
  return {
    data: {
      label: `${key.prefix}…`,
      name: key.name,
      ...encodeSpending(spending),
      budgets: own.budgets,
      held: encodeHeld(uses),
      limits: encodeLimits(own.limits),
      effective: encodeEffective(key, own, uses),
      tags: await describeAllotments(source, shared, moment),
      is_free_tier: false,
      ...OPENROUTER_DEFAULTS,
      ...encodePermissions(key.settings),
      expires_at: key.expires === undefined ? null : new Date(key.expires).toISOString(),
    },
  };
}

/** Members that only OpenRouter's accounts have and its clients require. */
const OPENROUTER_DEFAULTS = {
  allowed_data_regions: ['global'],
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  include_byok_in_limit: false,
  creator_user_id: null,
  organization_id: null,
  workspace_id: null,
  is_management_key: false,
  is_provisioning_key: false,
  free_model_daily_requests: { used: 0, limit: 0, remaining: 0 },
  rate_limit: { requests: -1, interval: '10s', note: 'See limits.' },
};

/** Credits in OpenRouter's format: the limit and the usage of the budget with the least left. */
export async function credits(
  key: Key,
  _query: URLSearchParams,
  { store, admission, now = systemClock.now }: AccountRouteOptions,
): Promise<object> {
  const [own] = admission.subjects(key) as [LimitSubject];
  const { spent, period, limit } = await spendingOf(store, own, now());
  if (limit === undefined || period === undefined) {
    throw new GatewayError('not_found', 'This key has no budget, so that it has no credits either; see /v1/key.');
  }
  return { data: { total_credits: dollars(limit), total_usage: dollars(spent[period]) } };
}

/** A stored record can name a protocol that this version no longer has. */
function apiTypeOf(protocol: string): string {
  return protocols.find(({ id }) => id === protocol)?.apiType ?? protocol;
}
