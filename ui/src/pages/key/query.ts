/** What the page of a key asks the gateway. */

import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api.ts';
import type { Limits } from '../../keys.ts';
import type { Allotment } from '../../parts/budgets.tsx';

export interface KeyFacts {
  name: string;
  label: string;
  limit: number | null;
  limit_remaining: number | null;
  limit_reset: string | null;
  usage: number;
  usage_daily: number;
  usage_weekly: number;
  usage_monthly: number;
  budgets: Partial<Record<'day' | 'week' | 'month' | 'total', string>>;
  held: Partial<Record<'day' | 'week' | 'month' | 'total', string>>;
  limits: Limits;
  /** Of its tags, by `name=value`. */
  tags: Record<string, Allotment>;
  read_only: boolean;
  expires_at: string | null;
}

export const keyFacts = queryOptions({
  queryKey: ['key'],
  queryFn: async () => (await bodyOf<{ data: KeyFacts }>(api.GET('/v1/key'))).data,
});
