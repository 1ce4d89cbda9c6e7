/** Pages of the list of keys: search, filters and cursors. */

import { GatewayError } from '../../core/errors.ts';
import { stateOf } from '../../keys/key.ts';
import type { Key } from '../../keys/store.ts';
import { flag, option, PAGES, readTag, searchText, whole } from './query.ts';

export interface KeyPage {
  keys: Key[];
  /** Number of keys that the filters leave. */
  total: number;
  /** `after` of the next page; null at the end. */
  next: string | null;
}

export const KEY_STATES = ['active', 'expired', 'disabled', 'revoked'] as const;

/** Throws `invalid_request` naming the parameter. */
export function pageOfKeys(all: readonly Key[], query: URLSearchParams, now: number): KeyPage {
  const offset = whole(query, 'offset', { least: 0, most: 1e9, byDefault: 0 });
  const limit = whole(query, 'limit', PAGES.keys);
  const wanted = readFilter(query, now);
  const found = all.filter(wanted);
  const start = offset + placeAfter(all, query.get('after'), wanted);
  const keys = found.slice(start, start + limit);
  const last = keys.at(-1);
  const isEnd = last === undefined || start + keys.length >= found.length;
  return { keys, total: found.length, next: isEnd ? null : encodeCursor(last) };
}

function readFilter(query: URLSearchParams, now: number): (key: Key) => boolean {
  const all = flag(query, 'include_disabled');
  const state = option(query, 'state', KEY_STATES);
  const owner = searchText(query, 'owner');
  const name = searchText(query, 'name');
  const search = searchText(query, 'search')?.toLowerCase();
  const tag = readTag(query);
  return (key) => {
    const { disabled, revoked, settings } = key;
    const isShown = state === undefined ? all || (!disabled && revoked === undefined) : stateOf(key, now) === state;
    if (!isShown || (owner !== undefined && settings.owner !== owner)) return false;
    if (name !== undefined && key.name !== name) return false;
    if (tag && settings.tags?.[tag[0]] !== tag[1]) return false;
    return search === undefined || searchedTexts(key).some((one) => one.toLowerCase().includes(search));
  };
}

function searchedTexts({ id, name, prefix, settings: { owner = '', tags = {}, metadata = {} } }: Key): string[] {
  const labels = Object.entries(tags).map(([tag, value]) => `${tag}=${value}`);
  return [id, name, prefix, owner, ...labels, ...Object.values(metadata)];
}

/** Keys of the page before may have changed, but none is ever taken out of the list, except from the configuration. */
function placeAfter(all: readonly Key[], cursor: string | null, wanted: (key: Key) => boolean): number {
  if (cursor === null) return 0;
  const place = all.findIndex((key) => encodeCursor(key) === cursor);
  if (place >= 0) return all.slice(0, place + 1).filter(wanted).length;
  throw new GatewayError('invalid_request', 'after must be the next of another page.', { param: 'after' });
}

function encodeCursor({ id }: Key): string {
  return Buffer.from(id).toString('base64url');
}
