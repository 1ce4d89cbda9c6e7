/** Search of records of requests: newest first, in pieces within a bounded time, and of those that ended since a look. */

import { createHash } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { FoundRequests, RequestFilter, RequestPiece, RequestPlace } from '../store/operations/requests.ts';
import type { Store } from '../store/store.ts';

type Row = Record<string, unknown>;

export interface RequestSearch {
  filter: RequestFilter;
  /** Unix milliseconds; `to` is exclusive. */
  from: number;
  to: number;
  limit: number;
  /** Cursor of the page before. */
  after?: string | undefined;
}

export interface RequestPage {
  rows: Row[];
  /** Cursor of the next page; absent at the end. */
  next?: string;
  /** Unix milliseconds to which was searched, where the time was over before the page was full. */
  searchedTo?: number;
  /** Cursor of requests that end from now on; only of the first page. */
  live?: string;
}

export interface SearchOptions {
  store: Pick<Store, 'call'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
}

const HOUR_MS = 3_600_000;
/** Hours after its beginning in which a request may end. */
const MAX_REQUEST_HOURS = 4;
/** Time that one search takes at most, beside that of its last piece. */
const MAX_SEARCH_MS = 200;
const PIECE_ROWS = 4000;
/** Time by which commits may be out of order: of gateways that share a store, and of batches. */
const LIVE_OVERLAP_MS = 5000;
const MAX_LIVE_ROWS = 1000;
/** Ids that a live cursor remembers. */
const MAX_LIVE_IDS = 400;
const ID_CHARACTERS = 8;

/** Throws `invalid_request` for a wrong cursor. */
export async function searchRequests(
  { filter, limit, after, ...ends }: RequestSearch,
  { store, clock }: SearchOptions,
): Promise<RequestPage> {
  const { keyId, model, provider, tag, startedFrom = 0, startedTo = Number.MAX_SAFE_INTEGER } = filter;
  // A request ends after it began, and within some hours.
  const from = Math.max(ends.from, startedFrom);
  const to = Math.min(ends.to, (Math.ceil(startedTo / HOUR_MS) + MAX_REQUEST_HOURS) * HOUR_MS);
  const names = {
    ...(keyId !== undefined && { keyId }),
    ...(model !== undefined && { model }),
    ...(provider !== undefined && { provider }),
    ...(tag !== undefined && { tag }),
  };
  const hasNames = Object.keys(names).length > 0;
  const since = Math.max(Math.floor(from / HOUR_MS) - MAX_REQUEST_HOURS, Math.floor(startedFrom / HOUR_MS));
  const lastHour = Math.ceil(startedTo / HOUR_MS) - 1;
  const deadline = clock.monotonic() + MAX_SEARCH_MS;
  const rows: Row[] = [];
  let before: RequestPlace | undefined = after === undefined ? { endedAt: to, id: '' } : decodePlace(after);
  while (before) {
    let start = from;
    if (hasNames) {
      const hourOfEnd = Math.floor((before.id === '' ? before.endedAt - 1 : before.endedAt) / HOUR_MS);
      const until = Math.min(hourOfEnd, lastHour);
      const hour: number | undefined = await store.call('latestUsageHour', { filter: names, since, until });
      if (hour === undefined) return { rows };
      start = Math.max(from, hour * HOUR_MS);
      const end = (hour + MAX_REQUEST_HOURS) * HOUR_MS;
      if (before.endedAt > end) before = { endedAt: end, id: '' };
    }
    const piece: RequestPiece = { filter, before, from: start, limit: limit - rows.length, most: PIECE_ROWS };
    const found: FoundRequests = await store.call('searchRequests', piece);
    rows.push(...found.rows);
    before = found.searchedTo ?? (start > from ? { endedAt: start, id: '' } : undefined);
    if (!before) return { rows };
    if (rows.length >= limit) return { rows, next: encodePlace(before) };
    if (clock.monotonic() >= deadline) return { rows, next: encodePlace(before), searchedTo: before.endedAt };
  }
  return { rows };
}

/** Names of conversations among the `depth` requests after a page. */
export function sessionsAfter(
  { filter, from, next, depth }: Pick<RequestSearch, 'filter' | 'from'> & { next: string; depth: number },
  { store }: Pick<SearchOptions, 'store'>,
): Promise<{ names: string[]; isComplete: boolean }> {
  const since = Math.max(from, filter.startedFrom ?? 0);
  return store.call('sessionNames', { filter, before: decodePlace(next), from: since, depth });
}

/** The first page, with a cursor for requests that end after it. */
export async function newestRequests(search: RequestSearch, options: SearchOptions): Promise<RequestPage> {
  const page = await searchRequests(search, options);
  const isCut = page.next !== undefined;
  const least = page.rows.length > 0 ? 0 : options.clock.now() - LIVE_OVERLAP_MS;
  return { ...page, live: liveCursor(page.rows.toReversed(), { least, isCut }) };
}

/**
 * Records that ended and were stored since the look that gave the cursor, oldest first, each once. As many as `limit`, if one is
 * given, mean that there may be more.
 */
export async function requestsSince(
  { filter, live, limit }: Pick<RequestSearch, 'filter'> & { live: string; limit?: number | undefined },
  { store }: SearchOptions,
): Promise<Required<Pick<RequestPage, 'rows' | 'live'>>> {
  const { since, ids } = decodeLive(live);
  const most = limit === undefined ? MAX_LIVE_ROWS : limit + ids.length;
  const found = await store.call('requestsSince', { filter, since, limit: most });
  const seen = new Set(ids);
  const fresh = found.filter(({ id }) => !seen.has(shortId(id))).slice(0, limit);
  const last = fresh.length === limit ? fresh.at(-1) : undefined;
  const read = last ? found.slice(0, found.indexOf(last) + 1) : found;
  // Requests that were seen may still be within the overlap of the next search.
  return { rows: fresh, live: liveCursor(read, { least: since, isCut: false }) };
}

interface LiveCut {
  /** Unix milliseconds; requests that ended before are not read again. */
  least: number;
  /** Whether there are older records than `rows`. */
  isCut: boolean;
}

/** `rows` are in the order of their end. */
function liveCursor(rows: readonly Row[], { least, isCut }: LiveCut): string {
  const newest = Number(rows.at(-1)?.ended_at ?? 0);
  const kept = rows.slice(-MAX_LIVE_IDS);
  const first = kept.length < rows.length || isCut ? Number(kept[0]?.ended_at ?? 0) : 0;
  const since = Math.max(newest - LIVE_OVERLAP_MS, least, first);
  const ids = kept.filter((row) => Number(row.ended_at) >= since).map(({ id }) => shortId(id));
  return encodeCursor([since, ids.join('')]);
}

function decodeLive(cursor: string): { since: number; ids: string[] } {
  const [since, text] = decodeCursor(cursor, 'live');
  if (typeof since !== 'number' || typeof text !== 'string') throw wrongCursor('live');
  const ids = Array.from({ length: Math.floor(text.length / ID_CHARACTERS) }, (_, index) =>
    text.slice(index * ID_CHARACTERS, (index + 1) * ID_CHARACTERS),
  );
  return { since, ids };
}

function shortId(id: unknown): string {
  return createHash('sha256').update(String(id)).digest('base64url').slice(0, ID_CHARACTERS);
}

function encodePlace({ endedAt, id }: RequestPlace): string {
  return encodeCursor([endedAt, id]);
}

function decodePlace(cursor: string): RequestPlace {
  const [endedAt, id] = decodeCursor(cursor, 'after');
  if (typeof endedAt !== 'number' || typeof id !== 'string' || id.includes('\0')) throw wrongCursor('after');
  return { endedAt, id };
}

function encodeCursor(value: readonly [number, string]): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decodeCursor(cursor: string, param: string): unknown[] {
  try {
    const value = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(value) && value.length === 2 && Number.isSafeInteger(value[0])) return value;
  } catch {
    // Refused below.
  }
  throw wrongCursor(param);
}

function wrongCursor(param: string): GatewayError {
  return new GatewayError('invalid_request', `${param} must be a cursor of an earlier response.`, { param });
}
