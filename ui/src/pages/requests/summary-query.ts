/** Sums of the requests of a list: of its time, and of the last minutes as rates. */

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api } from '../../api.ts';
import { useSession } from '../../session.ts';
import { gatewayNow } from '../../times.ts';
import type { Filters } from './query.ts';

export const SUMMARY_EVERY_MS = 5000;

export interface RequestSummary {
  to: string;
  requests: number;
  failures: number;
  /** Responses that broke off. */
  partial: number;
  /** Requests whose gateway died. */
  interrupted: number;
  /** Null if it is unknown. */
  cost: string | null;
  /** Requests whose cost is unknown, and not in `cost`. */
  unknown_costs: number;
  /** USD of requests whose token counts are estimates. */
  estimated_cost: string;
  /** That run now. */
  running: number;
  /** Filters that are not known of those that run. */
  running_ignores: string[];
  first_byte_ms: { p50: number | null; p95: number | null };
  total_ms: { p50: number | null; p95: number | null };
  /** Beginning of what is summed up. */
  from: string;
  /** Whether all requests since then are in the sums; else the newest ones are. */
  complete: boolean;
  /** Requests that the times are of: all, those that are counted by their times, or the newest ones. */
  timed: number;
  /** Whether the times are estimates, from counts. */
  times_estimated: boolean;
}

/** Span of the rates of what goes on. */
const RATE_MS = 5 * 60_000;
export const RATE_OVER = ' over 5 min';

export interface RequestRate {
  /** Requests a second. */
  requests: number;
  /** USD an hour, of the requests whose cost is known; undefined where that of none is. */
  cost: number | undefined;
}

/** Sums of the last five minutes; not asked for where the filters name a time. */
export function useNewest({ key, ...filters }: Filters, isPaused: boolean) {
  const { isOperator } = useSession();
  const { from, to, started_from: startedFrom, started_to: startedTo } = filters;
  const isNow = [from, to, startedFrom, startedTo].every((at) => at === undefined);
  const asked = useQuery({
    queryKey: ['requests-rate', isOperator, key, filters],
    enabled: isNow,
    refetchInterval: isPaused ? false : SUMMARY_EVERY_MS,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const since = new Date(gatewayNow() - RATE_MS).toISOString();
      return askSummary(isOperator, { ...filters, from: since, ...(key !== undefined && { key }) }, signal);
    },
  });
  return { ...asked, isNow };
}

/** By what is summed up, which may be less than was asked for. */
export function rateOf(summary: RequestSummary | undefined): RequestRate | undefined {
  if (!summary) return undefined;
  const { from, to, requests, cost } = summary;
  const over = Date.parse(to) - Date.parse(from);
  if (over <= 0) return undefined;
  const known = cost === null ? undefined : Number(cost);
  return { requests: (1000 * requests) / over, cost: known === undefined ? undefined : (known * 3_600_000) / over };
}

/** Sums of the last hour, or of the time that the filters name. */
export function useSummary({ key, ...filters }: Filters, isPaused: boolean) {
  const { isOperator } = useSession();
  return useQuery({
    queryKey: ['requests-summary', isOperator, key, filters],
    refetchInterval: isPaused ? false : SUMMARY_EVERY_MS,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => askSummary(isOperator, { ...filters, ...(key !== undefined && { key }) }, signal),
  });
}

async function askSummary(
  isOperator: boolean,
  { key, ...filters }: Filters,
  signal: AbortSignal,
): Promise<RequestSummary> {
  const { data } = isOperator
    ? await api.GET('/admin/v1/requests/summary', { params: { query: { ...filters, key } as never }, signal })
    : await api.GET('/v1/self/requests/summary', { params: { query: filters as never }, signal });
  return (data as unknown as { data: RequestSummary }).data;
}
