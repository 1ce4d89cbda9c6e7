/** Tag handler of the admin API: tags of keys and of the configuration, with their limits, budgets and spending. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { decimalOf } from '../../core/money.ts';
import type { Key } from '../../keys/store.ts';
import type { LimitSubject } from '../../limits/subjects.ts';
import { PERIODS } from '../../records/key-settings.ts';
import { parseTag, tagList, tagSubject } from '../../records/tags.ts';
import { spendingOf } from '../../usage/spending.ts';
import { describeAllotment } from '../allotments.ts';
import { whole } from './query.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';

const PAGE_SIZE = 100;

export function createTagHandlers(options: AdminOptions): Pick<AdminHandlers, 'TagList'> {
  const { keys, store, admission, clock } = options;

  async function describe(tag: string, keyCount: number, allotted: LimitSubject | undefined): Promise<Json> {
    const now = clock.now();
    const subject = allotted ?? { name: tagSubject(tag), limits: {}, budgets: {} };
    const { spent } = await spendingOf(store, subject, now);
    return {
      tag,
      keys: keyCount,
      origin: allotted ? 'configuration' : null,
      ...(await describeAllotment(store, subject, now)),
      spent: Object.fromEntries(PERIODS.map((period) => [period, decimalOf(spent[period])])),
    };
  }

  /** In the order of their texts. */
  async function list({ query }: AdminRequest): Promise<Json> {
    const limit = whole(query, 'limit', { least: 1, most: PAGE_SIZE, byDefault: PAGE_SIZE });
    const after = query.get('after') ?? '';
    if (after !== '' && !parseTag(after)) {
      throw new GatewayError('invalid_request', 'after must be the next of another page.', { param: 'after' });
    }
    const allotted = new Map(admission.tagSubjects().map((subject) => [subject.tag as string, subject]));
    const counts = keysByTag(await keys.list());
    const known = [...new Set([...allotted.keys(), ...counts.keys()])].sort();
    const later = known.filter((tag) => tag > after);
    const page = later.slice(0, limit);
    const data = await Promise.all(page.map((tag) => describe(tag, counts.get(tag) ?? 0, allotted.get(tag))));
    return { data, total: known.length, next: later.length > page.length ? (page.at(-1) ?? null) : null };
  }

  return { TagList: list };
}

/** Number of keys that are not revoked, by tag. */
function keysByTag(all: readonly Key[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { revoked, settings } of all) {
    if (revoked !== undefined) continue;
    for (const tag of tagList(settings.tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  }
  return counts;
}
