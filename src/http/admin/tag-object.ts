/** Tag object of the admin API and the command line: its keys, limits, budgets and spending. */

import type { Json } from '../../core/json/json.ts';
import type { Key } from '../../keys/store.ts';
import { subjectOfTag } from '../../limits/subjects.ts';
import type { TagAllotments } from '../../limits/tag-allotments.ts';
import { tagList } from '../../records/tags.ts';
import type { BudgetSource } from '../../usage/budget-use.ts';
import { describeAllotment } from '../allotments.ts';
import { iso } from './key-object.ts';

export interface TagObjectOptions extends BudgetSource {
  tags: TagAllotments;
  /** Unix milliseconds. */
  now: number;
}

/** Tag as the admin API shows it. `tag`: `name=value`; `keyCount`: number of keys that have it. */
export async function encodeTag(
  tag: string,
  keyCount: number,
  { tags, now, ...source }: TagObjectOptions,
): Promise<Json> {
  const origin = tags.originOf(tag) ?? null;
  const changedAt = origin === 'store' ? tags.changedAt(tag) : undefined;
  const subject = subjectOfTag(tag, tags.shared().tags.get(tag) ?? {});
  return {
    tag,
    keys: keyCount,
    origin,
    ...(await describeAllotment(source, subject, now)),
    updated_at: iso(changedAt),
  };
}

/** Number of keys that are not revoked, by tag. */
export function keysByTag(all: readonly Key[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { revoked, settings } of all) {
    if (revoked !== undefined) continue;
    for (const tag of tagList(settings.tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  }
  return counts;
}

/** Tags of keys, and those with limits or budgets, in the order of their texts. */
export function knownTags(counts: ReadonlyMap<string, number>, tags: TagAllotments): string[] {
  return [...new Set([...tags.shared().tags.keys(), ...counts.keys()])].sort();
}
