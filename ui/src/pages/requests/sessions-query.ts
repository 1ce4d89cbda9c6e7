/** Conversations with the sums of their requests, of the newest requests and further back at a click. */

import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { api } from '../../api.ts';
import type { CountedPage } from '../../parts/table.tsx';
import { useSession } from '../../session.ts';
import { sumOfMoney } from '../../usage.ts';
import type { Filters } from './query.ts';
import { SUMMARY_EVERY_MS } from './summary-query.ts';

export interface SessionLine {
  session: string;
  keys: { hash: string; name: string | null }[];
  models: string[];
  requests: number;
  failures: number;
  /** Responses that broke off. */
  partial: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** Null if the protocols do not say it. */
  tool_failures: number | null;
  /** Null if it is unknown. */
  cost: string | null;
  /** Requests whose cost is unknown, and not in `cost`. */
  unknown_costs: number;
  /** USD of requests whose token counts are estimates. */
  estimated_cost: string;
  first_at: string;
  last_at: string;
}

interface SessionPage extends CountedPage {
  data: SessionLine[];
  complete: boolean;
  /** Cursor of older requests. */
  next: string | null;
}

/** Conversations of the last day, or of the time that the filters name. */
export function useSessions({ key, ...filters }: Filters, isPaused: boolean) {
  const { isOperator } = useSession();
  return useInfiniteQuery({
    queryKey: ['requests-sessions', isOperator, key, filters],
    initialPageParam: undefined as string | undefined,
    placeholderData: keepPreviousData,
    queryFn: async ({ pageParam, signal }): Promise<SessionPage> => {
      const query = { ...filters, ...(pageParam && { after: pageParam }) };
      const { data } = isOperator
        ? await api.GET('/admin/v1/requests/sessions', { params: { query: { ...query, key } as never }, signal })
        : await api.GET('/v1/self/requests/sessions', { params: { query: query as never }, signal });
      return data as unknown as SessionPage;
    },
    // Who looks further back does not wait for news.
    refetchInterval: ({ state }) => (isPaused || (state.data?.pages.length ?? 1) > 1 ? false : SUMMARY_EVERY_MS),
    getNextPageParam: ({ next }) => next ?? undefined,
    select: ({ pages }) => ({
      data: mergeSessions(pages.flatMap(({ data }) => data)),
      complete: pages.at(-1)?.complete === true,
      pages,
    }),
  });
}

/** A conversation may have requests in several pages. The one that ended last is first. */
function mergeSessions(lines: readonly SessionLine[]): SessionLine[] {
  const merged = [...Map.groupBy(lines, ({ session }) => session).values()].map((parts) => parts.reduce(sumOfLines));
  return merged.toSorted((one, other) => (one.last_at > other.last_at ? -1 : 1));
}

function sumOfLines(one: SessionLine, other: SessionLine): SessionLine {
  const sum = (name: CountColumn) => one[name] + other[name];
  const keys = new Map([...one.keys, ...other.keys].map((key) => [key.hash, key]));
  const isCounted = one.tool_failures !== null || other.tool_failures !== null;
  return {
    session: one.session,
    keys: [...keys.values()],
    models: [...new Set([...one.models, ...other.models])],
    requests: sum('requests'),
    failures: sum('failures'),
    partial: sum('partial'),
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    cached_tokens: sum('cached_tokens'),
    tool_failures: isCounted ? (one.tool_failures ?? 0) + (other.tool_failures ?? 0) : null,
    cost: sumOfMoney([one.cost, other.cost]),
    unknown_costs: sum('unknown_costs'),
    estimated_cost: sumOfMoney([one.estimated_cost, other.estimated_cost]) ?? '0',
    first_at: one.first_at < other.first_at ? one.first_at : other.first_at,
    last_at: one.last_at > other.last_at ? one.last_at : other.last_at,
  };
}

type CountColumn = {
  [Name in keyof SessionLine]: number extends SessionLine[Name]
    ? null extends SessionLine[Name]
      ? never
      : Name
    : never;
}[keyof SessionLine];
