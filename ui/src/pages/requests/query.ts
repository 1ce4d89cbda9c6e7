/** Requests of the API: a page of them, their paths, and one in all details. */

import { queryOptions } from '@tanstack/react-query';
import { ApiError, api } from '../../api.ts';
import { commandWith, pathWith, type SameCall } from '../../parts/copy-as.tsx';

export interface RequestView {
  id: string;
  started_at: string;
  ended_at: string | null;
  key_hash: string;
  key_name: string | null;
  tags: Record<string, string>;
  requested_model: string;
  model: string;
  provider: string;
  protocol: string;
  upstream_protocol: string;
  streamed: boolean;
  status: 'completed' | 'partial' | 'failed' | 'cancelled' | 'interrupted' | 'running';
  error_code: string | null;
  finish_reason: string | null;
  attempts: number;
  /** Number of the last endpoint that was tried, from 1; null without a trace. */
  endpoint_number: number | null;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  /** Null if the protocol does not say it. */
  tool_failures: number | null;
  estimated: boolean;
  /** USD; null where the price of the model is not known. */
  cost: string | null;
  first_byte_ms: number | null;
  total_ms: number | null;
  upstream_id: string | null;
  session: string | null;
  dropped: string[];
  path: string | null;
}

export interface Attempt {
  endpoint: string;
  credential: number | null;
  path: string;
  started_ms: number;
  /** 0 for a connection that was kept alive; null where it is not known. */
  connect_ms: number | null;
  first_byte_ms: number | null;
  total_ms: number;
  status: number | null;
  error: string | null;
  dropped: string[];
  note: string | null;
  /** For how long the endpoint rested because of it. */
  cooldown_ms: number | null;
  response_headers: Record<string, string>;
}

export interface Candidate {
  endpoint: string;
  model: string;
  credential?: number;
  price?: number;
  left_out?: string;
}

export interface RequestDetail extends RequestView {
  /** Parts of the cost; null where they were not kept. */
  charge: {
    basis: 'prices' | 'provider' | 'free' | 'nothing' | 'unknown';
    /** Null for the standard one. */
    service_tier: string | null;
    /** The prices of the service tier are not known. */
    assumed: boolean;
    /** The cost is the most of one request, and less than its lines. */
    limited: boolean;
    /** They add up to the cost, unless it is limited. USD for one, and for all of the line. */
    lines: { kind: string; count: number; price: string; price_per_million: string; cost: string }[];
  } | null;
  trace: {
    session: string | null;
    policy: Record<string, unknown> | null;
    candidates: Candidate[];
    attempts: Attempt[];
    dropped: string[];
    /** Until it was read and admitted, from when attempts are timed; null where it is not known. */
    check_ms: number | null;
    request_headers: Record<string, string>;
  } | null;
}

export interface Filters {
  /** ISO times between which they ended. */
  from?: string;
  to?: string;
  /** ISO times between which they began. */
  started_from?: string;
  started_to?: string;
  key?: string;
  model?: string;
  /** Model as the client named it. */
  requested?: string;
  provider?: string;
  protocol?: string;
  upstream_protocol?: string;
  status?: string;
  code?: string;
  tag?: string;
  /** Name of a tag that the key did not have. */
  without_tag?: string;
  session?: string;
  cost_above?: string;
  slower_than?: number;
  dropped?: true;
  fell_back?: true;
  estimated?: true;
}

export interface RequestPage {
  data: RequestView[];
  next: string | null;
  live: string | null;
  searched_to: string | null;
}

type ListQuery = Filters & { after?: string; live?: string; open?: true; limit?: number };

/** Time between two looks at what goes on. */
export const LIVE_EVERY_MS = 1000;

/** Both lists take the same parameters; that of a key has no `key`. */
export async function list(
  isOperator: boolean,
  { key, ...query }: ListQuery,
  signal: AbortSignal,
): Promise<RequestPage> {
  const { data } = isOperator
    ? await api.GET('/admin/v1/requests', { params: { query: { ...query, key } as never }, signal })
    : await api.GET('/v1/self/requests', { params: { query: query as never }, signal });
  return data as unknown as RequestPage;
}

/** Path of the requests of the filters: a page of them, or all as CSV. */
export function pathOfList(isOperator: boolean, filters: Filters, format?: 'csv'): string {
  return pathOf(isOperator, 'requests', { ...filters, format });
}

/** Path of the sums of conversations of these requests: of the newest, or of all as CSV. */
export function pathOfSessions(isOperator: boolean, filters: Filters, format?: 'csv'): string {
  return pathOf(isOperator, 'requests/sessions', { ...filters, format });
}

function pathOf(
  isOperator: boolean,
  list: string,
  { key, ...query }: Filters & { format?: 'csv' | undefined },
): string {
  return isOperator ? pathWith(`/admin/v1/${list}`, { ...query, key }) : pathWith(`/v1/self/${list}`, query);
}

/** `polygate tail` with the filters that it has. Absent for the holder of a key, who has no store. */
export function commandOfList(isOperator: boolean, filters: Filters): Pick<SameCall, 'command' | 'note'> {
  if (!isOperator) return {};
  const { key, model, status, ...others } = filters;
  const isWhole = Object.values(others).every((value) => value === undefined) && [undefined, 'failed'].includes(status);
  return {
    command: commandWith('polygate tail', { '--key': key, '--model': model, '--failed': status === 'failed' }),
    note: isWhole ? undefined : 'The command has filters for a key, a model and failures only.',
  };
}

const RETRY_AFTER_MS = 300;

/** Of an error's status, which is 0 if nobody answered. */
function retriesOf(status: number): number {
  if (status === 404) return 2;
  return status === 0 || status >= 500 ? 1 : 0;
}

/** Asked for again while it runs. */
export function requestDetail(isOperator: boolean, id: string) {
  return queryOptions({
    queryKey: ['request', isOperator, id],
    queryFn: async ({ signal }) => {
      const params = { path: { id } };
      const { data } = isOperator
        ? await api.GET('/admin/v1/requests/{id}', { params, signal })
        : await api.GET('/v1/self/requests/{id}', { params, signal });
      return (data as unknown as { data: RequestDetail }).data;
    },
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? LIVE_EVERY_MS : false),
    // One that has just ended is in no list until its record is written.
    retry: (count, error) => error instanceof ApiError && count < retriesOf(error.status),
    retryDelay: RETRY_AFTER_MS,
  });
}
