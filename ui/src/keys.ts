/** Keys of the gateway, for operators. */

import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, bodyOf } from './api.ts';
import type { Period } from './periods.ts';
import { useSession } from './session.ts';

export interface Limits {
  requests_per_minute?: number;
  tokens_per_minute?: number;
  concurrent_requests?: number;
}

export interface KeyView {
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
  limits: Limits;
  budgets: Partial<Record<Period, string>>;
  /** What open tasks may still cost, of each budget. */
  held: Partial<Record<Period, string>>;
  usage: number;
  usage_daily: number;
  usage_weekly: number;
  usage_monthly: number;
  /** Null for keys of the configuration. */
  created_at: string | null;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  previous_until: string | null;
}

const PAGE_SIZE = 100;

/** All of them, page by page. */
export const keyList = queryOptions({
  queryKey: ['keys'],
  queryFn: async () => {
    const keys: KeyView[] = [];
    for (;;) {
      const query = { limit: PAGE_SIZE, offset: keys.length, include_disabled: true };
      const { data } = await bodyOf<{ data: KeyView[] }>(api.GET('/admin/v1/keys', { params: { query } }));
      keys.push(...data);
      if (data.length < PAGE_SIZE) return keys;
    }
  },
});

/** As `name=value`, in the order of their names. */
export function tagsOf({ tags }: Pick<KeyView, 'tags'>): string[] {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .toSorted();
}

/** Names of the tags that keys have, for operators. */
export function useTagNames(): string[] {
  const { isOperator } = useSession();
  const { data } = useQuery({ ...keyList, enabled: isOperator });
  return [...new Set(data?.flatMap(({ tags }) => Object.keys(tags)))].toSorted();
}

/** Name of a key by its hash, for operators. */
export function useKeyNames(): (hash: string) => string {
  const { isOperator } = useSession();
  const { data } = useQuery({ ...keyList, enabled: isOperator });
  const names = new Map(data?.map(({ hash, name }) => [hash, name]));
  return (hash) => names.get(hash) ?? hash;
}
