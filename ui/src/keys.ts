/** Keys of the gateway, for operators. */

import { keepPreviousData, type QueryClient, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { api, bodyOf } from './api.ts';
import type { Period } from './periods.ts';
import { useSession } from './session.ts';

export interface Limits {
  requests_per_minute?: number;
  tokens_per_minute?: number;
  concurrent_requests?: number;
}

interface Origin {
  /** Place in which it is set: the key, or the defaults of the configuration. */
  from: 'key' | 'defaults';
}

export type EffectiveLimits = { [Kind in keyof Limits]?: { limit: number } & Origin };

/** Spending: USD as exact decimals, and the tokens whose cost is not in it. */
export interface Spent {
  spent: string;
  /** Part of it, by requests whose token counts are estimates. */
  spent_estimated: string;
  /** Part of it, for videos. */
  spent_videos: string;
  /** Of models without a price. */
  unpriced_tokens: number;
}

/** The same by period. */
export type Spending = { [Part in keyof Spent]: Record<Period, Spent[Part]> };

export function spentIn(period: Period, spending: Spending): Spent {
  return {
    spent: spending.spent[period],
    spent_estimated: spending.spent_estimated[period],
    spent_videos: spending.spent_videos[period],
    unpriced_tokens: spending.unpriced_tokens[period],
  };
}

/** Use of a budget: USD as exact decimals. */
export interface Use extends Spent, Partial<Origin> {
  limit: string;
  /** Amount that open videos and running requests may still cost. */
  held: string;
  /** False if a gateway does not tell all that its requests hold. */
  held_complete: boolean;
  left: string;
  /** Null for that of all time. */
  resets_at: string | null;
}

/** Limits and budgets of a tag, and what its keys spent. */
export interface Allotment extends Spending {
  limits: Limits;
  budgets: Partial<Record<Period, Use>>;
}

export interface Effective {
  limits: EffectiveLimits;
  budgets: Partial<Record<Period, Use>>;
}

export interface KeyView extends Spending {
  hash: string;
  label: string;
  name: string;
  state: 'active' | 'disabled' | 'expired' | 'revoked';
  origin: 'store' | 'configuration';
  owner: string | null;
  tags: Record<string, string>;
  metadata: Record<string, string>;
  models: string[] | null;
  surfaces: string[] | null;
  read_only: boolean;
  cidrs: string[] | null;
  /** Null if it is as the configuration says. */
  store_responses: boolean | null;
  limits: Limits;
  /** By globs of models. */
  model_limits: Record<string, Limits>;
  budgets: Partial<Record<Period, string>>;
  /** With those of the defaults; of a key that was not listed, also what its tags may use, by `name=value`. */
  effective: Effective & { tags?: Record<string, Allotment> };
  /** Null for keys of the configuration. */
  created_at: string | null;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  previous_until: string | null;
}

export interface KeyFilters {
  /** A part of a name, hash, owner or tag. */
  search?: string | undefined;
  tag?: string | undefined;
  /** Also those that are no longer active. */
  isWhole?: boolean;
}

interface KeyPage {
  data: KeyView[];
  /** Number of keys that the filters leave. */
  total: number;
  next: string | null;
  /** Of a new key that has no value for their names. */
  default_tags: Record<string, string>;
}

const PAGE_SIZE = 50;
const ALL_KEYS = ['keys'];
/** The gateway refuses longer texts. */
const MAX_SEARCH_LENGTH = 200;
const NAME_KEPT_MS = 60_000;

/** Key of all queries of keys. */
export const keyQueries = { queryKey: ALL_KEYS };

export function statesOf(isWhole: boolean | undefined): { include_disabled: true } | { state: 'active' } {
  return isWhole ? { include_disabled: true } : { state: 'active' };
}

function askForKeys(
  { search, tag, isWhole }: KeyFilters,
  page: { limit: number; after?: string },
  signal: AbortSignal,
): Promise<KeyPage> {
  const query = {
    ...page,
    ...statesOf(isWhole),
    ...(search && { search: search.slice(0, MAX_SEARCH_LENGTH) }),
    ...(tag !== undefined && { tag }),
  };
  return bodyOf(api.GET('/admin/v1/keys', { params: { query }, signal }));
}

/** Pages of the keys that the filters leave; those of before stay in view meanwhile. */
export function useKeyPages(filters: KeyFilters) {
  return useInfiniteQuery({
    queryKey: [...ALL_KEYS, 'list', filters],
    initialPageParam: undefined as string | undefined,
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }) =>
      askForKeys(filters, { limit: PAGE_SIZE, ...(pageParam && { after: pageParam }) }, signal),
    getNextPageParam: ({ next }) => next ?? undefined,
  });
}

/** The first keys with a text, for a choice. */
export function foundKeys(filters: KeyFilters, limit: number) {
  return queryOptions({
    queryKey: [...ALL_KEYS, 'found', filters, limit],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => (await askForKeys(filters, { limit }, signal)).data,
  });
}

export function oneKey(hash: string) {
  return queryOptions({
    queryKey: [...ALL_KEYS, 'one', hash],
    queryFn: async ({ signal }) =>
      (await bodyOf<{ data: KeyView }>(api.GET('/admin/v1/keys/{hash}', { params: { path: { hash } }, signal }))).data,
  });
}

/** The key with a hash, if there is one. */
function keyWithHash(hash: string) {
  return queryOptions({
    queryKey: [...ALL_KEYS, 'named', hash],
    queryFn: async ({ signal }) => {
      const { data } = await askForKeys({ search: hash, isWhole: true }, { limit: PAGE_SIZE }, signal);
      return data.find((key) => key.hash === hash) ?? null;
    },
  });
}

/** Hashes of the keys with this name, or the hash of the one with this hash. */
export async function hashesOf(nameOrHash: string, queries: QueryClient): Promise<string[]> {
  const query = { name: nameOrHash, include_disabled: true };
  const { data } = await bodyOf<KeyPage>(api.GET('/admin/v1/keys', { params: { query } }));
  const found = data.length > 0 ? data : [await queries.fetchQuery(keyWithHash(nameOrHash))];
  return found.flatMap((key) => (key ? [key.hash] : []));
}

/** As `name=value`, in the order of their names. */
export function tagsOf({ tags }: Pick<KeyView, 'tags'>): string[] {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .toSorted();
}

/** Names of the tags that keys have, for operators. */
export function useTagNames() {
  const { isOperator } = useSession();
  return useQuery({
    queryKey: ['tags', 'names'],
    enabled: isOperator,
    queryFn: async ({ signal }) =>
      (await bodyOf<{ names: string[] }>(api.GET('/admin/v1/tags', { params: { query: { limit: 1 } }, signal }))).names,
    select: (names) => names.toSorted(),
  });
}

/** Name of the key with a hash, for operators; the hash until it is known, and for a key that is not there. */
export function useKeyName(hash: string | undefined): string {
  const { isOperator } = useSession();
  const { data } = useQuery({
    ...keyWithHash(hash ?? ''),
    enabled: isOperator && hash !== undefined,
    staleTime: NAME_KEPT_MS,
  });
  return data?.name ?? hash ?? '';
}
