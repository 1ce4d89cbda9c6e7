/** Notices about budgets: keys and tags whose spending has reached a share of a budget. */

import { decimalOf, moneyOf } from '../core/money.ts';
import { stateOf } from '../keys/key.ts';
import type { KeyStore } from '../keys/store.ts';
import { keySubject, type LimitSubject, subjectOfTag } from '../limits/subjects.ts';
import { PERIODS, type Period, periodEnd, periodStart, type SharedAllotments } from '../records/key-settings.ts';
import type { NewDelivery } from '../store/delivery-rows.ts';
import type { Store } from '../store/store.ts';
import { noticeDelivery } from '../webhooks/notice.ts';

export interface BudgetNoticesOptions {
  keys: Pick<KeyStore, 'list'>;
  tags: { shared(): SharedAllotments };
  /** The store with all records that were acknowledged. */
  records: Pick<Store, 'call'>;
  /** Shares of a budget, ascending. */
  at: readonly number[];
  url: string;
  /** Unix milliseconds. */
  now(): number;
}

/** A key or a tag with budgets, and its name for the reader of a notice. */
interface Spender extends Pick<LimitSubject, 'name' | 'budgets'> {
  shown: { key: { id: string; name: string } } | { tag: string };
}

/** Keys and tags of one read. */
const BATCH_SIZE = 500;
const MONEY_SHARE = 1_000_000;

/** Returns a notice for the highest reached share of each budget. A notice that already exists has the same id. */
export async function reachedBudgets(options: BudgetNoticesOptions): Promise<NewDelivery[]> {
  const now = options.now();
  const starts = PERIODS.map((period) => ({ period, startsAt: periodStart(period, now) }));
  const spenders = await spendersOf(options, now);
  const notices: NewDelivery[] = [];
  for (let start = 0; start < spenders.length; start += BATCH_SIZE) {
    const batch = new Map(spenders.slice(start, start + BATCH_SIZE).map((spender) => [spender.name, spender]));
    const rows = await options.records.call('spentBySubjects', { subjects: [...batch.keys()], starts });
    for (const { subject, period, spent } of rows) {
      const spender = batch.get(subject);
      const notice =
        spender && noticeOf(spender, { period: period as Period, spent }, { ...options, at: options.at, now });
      if (notice) notices.push(notice);
    }
  }
  return notices;
}

async function spendersOf({ keys, tags }: BudgetNoticesOptions, now: number): Promise<Spender[]> {
  const shared = tags.shared();
  const active = (await keys.list()).filter((key) => stateOf(key, now) === 'active');
  const ofKeys = active.map((key): Spender => {
    const { name, budgets } = keySubject(key, shared);
    return { name, budgets, shown: { key: { id: key.id, name: key.name } } };
  });
  const ofTags = [...shared.tags].map(([tag, allotment]): Spender => {
    const { name, budgets } = subjectOfTag(tag, allotment);
    return { name, budgets, shown: { tag } };
  });
  return [...ofKeys, ...ofTags].filter(({ budgets }) => Object.keys(budgets).length > 0);
}

function noticeOf(
  { name, budgets, shown }: Spender,
  { period, spent }: { period: Period; spent: bigint },
  { at, url, now }: { at: readonly number[]; url: string; now: number },
): NewDelivery | undefined {
  const budget = budgets[period];
  const limit = budget === undefined ? 0n : moneyOf(budget);
  if (limit === 0n) return undefined;
  const share = at.findLast((one) => spent * BigInt(MONEY_SHARE) >= limit * BigInt(Math.round(one * MONEY_SHARE)));
  if (share === undefined) return undefined;
  const startsAt = periodStart(period, now);
  const endsAt = periodEnd(period, now);
  return noticeDelivery({
    event: 'budget.reached',
    // Another budget is another subject: it may be reached again.
    subject: [name, period, startsAt, limit, share].join(' '),
    url,
    createdAt: now,
    data: {
      ...shown,
      period,
      share,
      budget,
      spent: decimalOf(spent),
      ends_at: endsAt === undefined ? null : new Date(endsAt).toISOString(),
    },
  });
}
