/** Open sessions of browsers, as the API lists and ends them. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type { Author } from '../../store/audit-rows.ts';
import type { SessionSearch } from '../../store/operations/dashboard.ts';
import type { Store } from '../../store/store.ts';
import { encodePosition, position, whole } from '../admin/query.ts';
import { sessionEnds } from './sessions.ts';

export interface SessionListOptions {
  store: Pick<Store, 'call'>;
  /** Unix milliseconds. */
  now(): number;
}

export interface SessionScope extends SessionSearch {
  /** Id of the session that asks; undefined of a program. */
  current: string | undefined;
  /** Names of keys by id. */
  names: ReadonlyMap<string, string>;
}

export interface SessionList {
  /** A page, the newest first. Throws `invalid_request`. */
  list(query: URLSearchParams, scope: SessionScope): Promise<Json>;
  /** Ends a session; with `keyId`, only a session of that key. Throws `not_found`. */
  end(id: string, author: Author, keyId?: string): Promise<Json>;
}

const PAGE = { least: 1, most: 100, byDefault: 100 };

export function createSessionList({ store, now }: SessionListOptions): SessionList {
  return {
    async list(query, { current, names, ...search }) {
      const limit = whole(query, 'limit', PAGE);
      const after = position(query);
      const { rows, total } = await store.call('listSessions', {
        ...sessionEnds(now()),
        ...search,
        // One more than is shown says whether there is another page.
        limit: limit + 1,
        after: after && { openedAt: after.createdAt, id: after.id },
      });
      const shown = rows.slice(0, limit);
      const last = rows.length > limit ? shown.at(-1) : undefined;
      const data = shown.map((row) => ({
        id: row.id,
        role: row.role,
        key_hash: row.keyId,
        key_name: (row.keyId !== null && names.get(row.keyId)) || null,
        opened_with: row.openedWith,
        opened_at: new Date(row.openedAt).toISOString(),
        seen_at: new Date(row.seenAt).toISOString(),
        current: row.id === current,
      }));
      return { data, total, next: last ? encodePosition({ createdAt: last.openedAt, id: last.id }) : null };
    },

    async end(id, author, keyId) {
      const asked = { id, author, now: now(), ...(keyId !== undefined && { keyId }) };
      if (await store.call('endSession', asked)) return { deleted: true };
      throw new GatewayError('not_found', 'There is no session with this id.', { param: 'id' });
    },
  };
}
