/** List of requests that goes on: pages of those that ended, what ended since, and those that run. */

import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useSession } from '../../session.ts';
import { gatewayNow } from '../../times.ts';
import { type Filters, LIVE_EVERY_MS, list, type RequestPage, type RequestView } from './query.ts';

/** Rows that are put before the first page; if more end, the list starts anew. */
const MAX_LIVE = 5000;
/** Requests in an answer; if it is full, there may be more. */
const LIVE_LIMIT = 200;
/** Filters that are known of requests that run. */
const OF_RUNNING = ['key', 'model', 'requested', 'provider', 'protocol', 'upstream_protocol', 'tag'];
/** Requests on each page but the first, which is to be there soon. */
const OLDER_LIMIT = 200;

/** Requests that ended since the cursor, before the rows of the looks before. Asks until no more has ended, or until the rows are too many. */
async function listSince(
  isOperator: boolean,
  filters: Filters,
  cursor: string | undefined,
  before: readonly RequestView[],
  signal: AbortSignal,
): Promise<RequestPage> {
  const seen = new Set(before.map(({ id }) => id));
  let rows = [...before];
  let live = cursor;
  for (;;) {
    const page = await list(isOperator, { ...filters, live, limit: LIVE_LIMIT }, signal);
    const fresh = page.data.filter(({ id }) => !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    rows = [...fresh, ...rows];
    live = page.live ?? live;
    const isFull = page.data.length === LIVE_LIMIT && fresh.length > 0;
    if (!isFull || rows.length > MAX_LIVE) return { ...page, data: rows };
  }
}

/** Newest first. What ended since the first page is put in once a second, each request once. */
export function useRequests(filters: Filters, isPaused: boolean) {
  const { isOperator } = useSession();
  const queries = useQueryClient();
  const queryKey = ['requests', isOperator, filters];
  /** Nothing ends in a time that has passed. */
  const isOver = filters.to !== undefined && Date.parse(filters.to) <= gatewayNow();
  const pages = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      list(
        isOperator,
        { ...filters, after: pageParam, ...(pageParam !== undefined && { limit: OLDER_LIMIT }) },
        signal,
      ),
    getNextPageParam: ({ next }) => next ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const first = pages.data?.pages[0]?.live;
  const liveKey = ['requests-live', isOperator, filters, first];
  const live = useQuery({
    queryKey: liveKey,
    enabled: typeof first === 'string' && !isPaused && !isOver,
    refetchInterval: LIVE_EVERY_MS,
    queryFn: async ({ signal }): Promise<RequestPage> => {
      const before = queries.getQueryData<RequestPage>(liveKey);
      const page = await listSince(isOperator, filters, before?.live ?? first ?? undefined, before?.data ?? [], signal);
      if (page.data.length > MAX_LIVE) {
        const newest = await list(isOperator, filters, signal);
        // An older page that comes later would be put below those of before.
        await queries.cancelQueries({ queryKey, exact: true });
        queries.setQueryData(queryKey, { pages: [newest], pageParams: [undefined] });
      }
      return page;
    },
  });
  // A time that goes on is no filter of what runs.
  const { from: _from, to: _to, ...lasting } = filters;
  const isKnown = Object.entries(lasting).every(([name, value]) => value === undefined || OF_RUNNING.includes(name));
  const hasRunning = isKnown && !isPaused && !isOver;
  const running = useQuery({
    queryKey: ['requests-running', isOperator, lasting],
    enabled: hasRunning,
    refetchInterval: LIVE_EVERY_MS,
    queryFn: async ({ signal }) => (await list(isOperator, { ...lasting, open: true, limit: LIVE_LIMIT }, signal)).data,
  });
  const older = useMemo(() => pages.data?.pages.flatMap(({ data }) => data) ?? [], [pages.data]);
  const fresh = live.data?.data;
  const open = hasRunning ? running.data : undefined;
  const ended = useMemo(() => {
    if (!fresh || fresh.length === 0) return older;
    const before = new Set(fresh.map(({ id }) => id));
    return [...fresh, ...older.filter(({ id }) => !before.has(id))].sort(lastFirst);
  }, [older, fresh]);
  const rows = useMemo(() => {
    if (!open || open.length === 0) return ended;
    const running = new Map(open.map((row) => [row.id, row]));
    for (const { id } of ended) running.delete(id);
    return [...running.values(), ...ended];
  }, [ended, open]);
  const failed = [live, running].find(({ error }) => error !== null);
  const stale = failed && {
    error: failed.error,
    /** Time at which what is shown was there, in milliseconds. */
    at: failed.dataUpdatedAt || pages.dataUpdatedAt,
    onRetry: () => void failed.refetch(),
  };
  return { pages, rows, stale, searchedTo: pages.data?.pages.at(-1)?.searched_to };
}

/** A record may be stored after others that ended later. */
function lastFirst(one: RequestView, other: RequestView): number {
  const [end, otherEnd] = [one.ended_at ?? '', other.ended_at ?? ''];
  if (end !== otherEnd) return end < otherEnd ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}
