/** Allotments of tags: those of the configuration, and of other tags those that operators stored. */

import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import type { Allotment, SharedAllotments } from '../records/key-settings.ts';
import type { Author } from '../store/audit-rows.ts';
import type { StoredAllotment } from '../store/operations/tags.ts';
import type { Store } from '../store/store.ts';

export type AllotmentOrigin = 'configuration' | 'store';

export interface TagAllotments {
  /** Allotments that this process knows; the same object until something changes. */
  shared(): SharedAllotments;
  /** Source of the allotment of a tag, the configuration first; undefined if the tag has none. */
  originOf(tag: string): AllotmentOrigin | undefined;
  /** Unix milliseconds of the last change of a stored allotment; undefined if the tag has none. */
  changedAt(tag: string): number | undefined;
  /** Replaces the allotment of a tag. Throws `set_in_configuration` if the configuration has one. */
  set(tag: string, allotment: Allotment, author: Author): Promise<void>;
  /**
   * Changes the members that a merge patch has. `unchangedSince`, if present, is the last change that the author knows, null for
   * none. Throws like `set`, `changed_meanwhile` if another was made since, and `invalid_request` if no member is left.
   */
  change(tag: string, patch: Json, author: Author, unchangedSince?: number | null): Promise<void>;
  /** Throws like `set`, and `not_found` if the tag has none. */
  remove(tag: string, author: Author): Promise<void>;
  /** Picks up changes of other processes. */
  refresh(): Promise<void>;
}

export interface TagAllotmentOptions {
  store: Pick<Store, 'call'>;
  /** Allotments of the current configuration, and the name of their source for messages. */
  config(): { allotments: SharedAllotments; origin?: string | undefined };
  /** Unix milliseconds. */
  now(): number;
}

export function createTagAllotments({ store, config, now }: TagAllotmentOptions): TagAllotments {
  let version: number | undefined;
  let stored: ReadonlyMap<string, StoredAllotment> = new Map();
  let merged: { configured: SharedAllotments; shared: SharedAllotments } | undefined;

  async function refresh(): Promise<void> {
    const read = await store.call('readTagAllotments', { known: version });
    if (!read.allotments) return;
    stored = new Map(read.allotments);
    version = read.version;
    merged = undefined;
  }

  function shared(): SharedAllotments {
    const configured = config().allotments;
    if (merged?.configured !== configured) merged = { configured, shared: withStored(configured, stored) };
    return merged.shared;
  }

  function requireChangeable(tag: string): void {
    const { allotments, origin = 'the configuration' } = config();
    if (!allotments.tags.has(tag)) return;
    const message = `The limits and budgets of the tag ${tag} are set in ${origin}; change them there.`;
    throw new GatewayError('set_in_configuration', message, { param: 'tag' });
  }

  return {
    shared,
    refresh,

    originOf(tag) {
      if (config().allotments.tags.has(tag)) return 'configuration';
      return stored.has(tag) ? 'store' : undefined;
    },

    changedAt: (tag) => stored.get(tag)?.updatedAt,

    async set(tag, allotment, author) {
      requireChangeable(tag);
      await store.call('setTagAllotment', { tag, allotment, author, now: now() });
      await refresh();
    },

    async change(tag, patch, author, unchangedSince) {
      requireChangeable(tag);
      const since = unchangedSince === undefined ? undefined : { unchangedSince };
      await store.call('changeTagAllotment', { tag, patch, author, now: now(), ...since });
      await refresh();
    },

    async remove(tag, author) {
      requireChangeable(tag);
      await store.call('removeTagAllotment', { tag, author, now: now() });
      await refresh();
    },
  };
}

/** Adds allotments that are stored to tags of which the configuration says nothing. */
function withStored(configured: SharedAllotments, stored: ReadonlyMap<string, StoredAllotment>): SharedAllotments {
  if (stored.size === 0) return configured;
  const own = [...stored].map(([tag, { allotment }]) => [tag, allotment] as const);
  return { ...configured, tags: new Map([...own, ...configured.tags]) };
}
