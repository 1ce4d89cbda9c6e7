/** Reader of requests: lists, single ones and summaries, of all keys or of one. */

import type { Clock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { hasPrice, type ModelDirectory } from '../../routing/model-directory.ts';
import type { ListTotal } from '../../store/list-search.ts';
import type { IntentFilter, RequestFilter } from '../../store/operations/requests.ts';
import {
  countOpenRequests,
  intentFilterOf,
  type OpenRequest,
  type OpenSources,
  openRequests,
} from '../../usage/open-requests.ts';
import {
  newestRequests,
  type RequestSearch,
  requestsSince,
  searchRequests,
  sessionsAfter,
} from '../../usage/request-search.ts';
import type { SessionSummary } from '../../usage/session-summary.ts';
import type { TextBody } from '../http-response.ts';
import { encodeTotal } from '../list-total.ts';
import {
  encodeCost,
  encodeDetail,
  encodeOpenDetail,
  encodeOpenRequest,
  encodeRequest,
  encodeSession,
  encodeSessionRow,
  type KeyNames,
  type RecordContext,
  sessionOfRow,
} from './object.ts';
import { parameterOf, readAfter, readFilter, readIsFile, readListQuery, readSpan } from './query.ts';
import { COUNTED_AFTER, listedRequest, requestSessions } from './schema.ts';

export interface RequestReaderOptions extends OpenSources {
  /** Their prices, without which a cost is not known. */
  models(): Pick<ModelDirectory, 'providers' | 'routes'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
}

/** Requests that may be read. */
export interface RequestScope {
  /** All keys if absent. */
  keyId?: string | undefined;
  names: KeyNames;
}

export interface RequestReader {
  list(query: URLSearchParams, scope: RequestScope): Promise<Json | TextBody>;
  /** A request that has ended or still runs. Throws `not_found`. */
  get(id: string, scope: RequestScope): Promise<Json>;
  summary(query: URLSearchParams, scope: RequestScope): Promise<Json>;
  /** Sums by conversation over the newest records, or those before a cursor; of the last day by default. */
  sessions(query: URLSearchParams, scope: RequestScope): Promise<Json | TextBody>;
}

/** Requests that a file has read at once. */
const FILE_PAGE = 1000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Records whose conversations are listed at once. */
const MAX_GROUPED = 5000;
/** Names of conversations, and of their keys and models, that a file keeps while it waits for older requests of theirs. */
const MAX_FILE_NAMES = 50_000;

export function createRequestReader(options: RequestReaderOptions): RequestReader {
  const { store, clock } = options;
  const sight = (names: KeyNames) => {
    const directory = options.models();
    return { names, hasPrice: (model: string) => hasPrice(directory, model) };
  };

  async function list(query: URLSearchParams, { keyId, names }: RequestScope): Promise<Json | TextBody> {
    const { open, live, isFile, ...search } = readListQuery(query, keyId);
    const seen = sight(names);
    if (isFile) return fileOf(search, seen);
    if (open) {
      const { filter } = intentFilterOf(search.filter);
      const rows = await openRequests(options, { filter, limit: search.limit });
      return { data: rows.map((row: OpenRequest) => encodeOpenRequest(row, names)), ...NO_CURSORS };
    }
    if (live !== undefined) {
      const limit = query.has('limit') ? search.limit : undefined;
      const page = await requestsSince({ filter: search.filter, live, limit }, options);
      return { data: page.rows.toReversed().map((row) => encodeRequest(row, seen)), ...NO_CURSORS, live: page.live };
    }
    const page = await (search.after === undefined ? newestRequests : searchRequests)(search, options);
    return {
      data: page.rows.map((row) => encodeRequest(row, seen)),
      next: page.next ?? null,
      live: page.live ?? null,
      searched_to: page.searchedTo === undefined ? null : new Date(page.searchedTo).toISOString(),
    };
  }

  async function fileOf(search: RequestSearch, seen: RecordContext): Promise<TextBody> {
    // A start does not need it.
    const { listFile } = await import('../list-file.ts');
    const columns = Object.keys(listedRequest.properties);
    return listFile({ name: 'requests', columns }, async (after) => {
      const { rows, next } = await searchRequests({ ...search, limit: FILE_PAGE, after }, options);
      return { rows: rows.map((row) => encodeRequest(row, seen)), next };
    });
  }

  async function get(id: string, { keyId, names }: RequestScope): Promise<Json> {
    if (!id.includes('\0')) {
      const search = { id, ...(keyId !== undefined && { keyId }) };
      const found = await store.call('requestRecord', search);
      if (found) return { data: encodeDetail(found, sight(names), keyId === undefined) };
      const [open] = await openRequests(options, { filter: ofKey(keyId), id, limit: 1 });
      if (open) return { data: encodeOpenDetail(open, names) };
      // It may have ended between the two looks.
      const late = await store.call('requestRecord', search);
      if (late) return { data: encodeDetail(late, sight(names), keyId === undefined) };
    }
    throw new GatewayError('not_found', 'There is no request with this id, or its record is no longer kept.', {
      param: 'id',
    });
  }

  async function summary(query: URLSearchParams, { keyId }: RequestScope): Promise<Json> {
    const now = clock.now();
    const span = readSpan(query);
    const filter = readFilter(query, keyId);
    const from = query.has('from') || hasBegin(filter) ? span.from : now - HOUR_MS;
    const to = Math.min(span.to, now + 1);
    const open = intentFilterOf(filter);
    // A start does not need it.
    const { summarizeRequests } = await import('../../usage/request-summary.ts');
    const [{ cost, estimated_cost: estimated, ...sums }, running] = await Promise.all([
      summarizeRequests({ filter, from, to }, options, sight(NO_NAMES).hasPrice),
      countOpenRequests(options, open.filter),
    ]);
    const moments = { from: new Date(sums.from).toISOString(), to: new Date(sums.to).toISOString() };
    const costs = { cost: encodeCost(cost), estimated_cost: encodeCost(estimated) };
    return {
      data: { ...sums, ...moments, ...costs, running, running_ignores: open.others.map(parameterOf) },
    };
  }

  async function sessions(query: URLSearchParams, { keyId, names }: RequestScope): Promise<Json | TextBody> {
    const now = clock.now();
    const span = readSpan(query);
    const filter = readFilter(query, keyId);
    const from = query.has('from') || hasBegin(filter) ? span.from : now - DAY_MS;
    const to = Math.min(span.to, now + 1);
    const search = { filter, from, to, limit: MAX_GROUPED, after: readAfter(query) };
    if (readIsFile(query)) return sessionFileOf(search, sight(names));
    const page = await searchRequests(search, options);
    // A start does not need it.
    const { groupBySession } = await import('../../usage/session-summary.ts');
    const found = groupBySession(page.rows, { sessionOf: sessionOfRow, hasPrice: sight(names).hasPrice });
    const data = found.map((one) => encodeSession(one, names));
    const counted = search.after === undefined ? await countSessions(found, { ...search, next: page.next }) : undefined;
    return { data, complete: page.next === undefined, next: page.next ?? null, ...encodeTotal(counted) };
  }

  /** Counts the distinct sessions of the first page and of the requests after it. */
  async function countSessions(
    listed: readonly SessionSummary[],
    { filter, from, next }: Pick<RequestSearch, 'filter' | 'from'> & { next: string | undefined },
  ): Promise<ListTotal> {
    if (next === undefined) return { total: listed.length, isComplete: true };
    const older = await sessionsAfter({ filter, from, next, depth: COUNTED_AFTER }, options);
    const names = new Set([...listed.map(({ session }) => session), ...older.names]);
    return { total: names.size, isComplete: older.isComplete };
  }

  /** A conversation is one row, unless a great many others lie between its requests. */
  async function sessionFileOf(search: RequestSearch, { names, hasPrice: isPriced }: RecordContext): Promise<TextBody> {
    // A start does not need them.
    const [{ listFile }, { createSessionSums }] = await Promise.all([
      import('../list-file.ts'),
      import('../../usage/session-summary.ts'),
    ]);
    const sums = createSessionSums({ sessionOf: sessionOfRow, hasPrice: isPriced });
    const columns = Object.keys(requestSessions.properties.data.items.properties).flatMap((name) =>
      name === 'keys' ? ['keys', 'key_hashes'] : [name],
    );
    return listFile({ name: 'conversations', columns }, async (after) => {
      const { rows, next } = await searchRequests({ ...search, limit: FILE_PAGE, after }, options);
      sums.add(rows);
      const ready = sums.take(next === undefined ? 0 : MAX_FILE_NAMES);
      return { rows: ready.map((one) => encodeSessionRow(one, names)), next };
    });
  }

  return { list, get, summary, sessions };
}

/** Whether the filter names a time, which counts instead of the one by default. */
function hasBegin({ startedFrom, startedTo }: RequestFilter): boolean {
  return startedFrom !== undefined || startedTo !== undefined;
}

/** Filter by a key; of all keys if absent. */
function ofKey(keyId: string | undefined): IntentFilter {
  return keyId === undefined ? {} : { keyId };
}

const NO_NAMES: KeyNames = new Map();
const NO_CURSORS = { next: null, live: null, searched_to: null };
