/** Questions of the page of a key to the gateway. */

import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api.ts';
import type { Allotment, Effective, Spending } from '../../keys.ts';
import type { Permissions } from '../../parts/permissions.ts';

export interface KeyFacts extends Permissions, Spending {
  name: string;
  label: string;
  limit: number | null;
  limit_remaining: number | null;
  limit_reset: string | null;
  effective: Effective;
  /** Of its tags, by `name=value`. */
  tags: Record<string, Allotment>;
  expires_at: string | null;
}

export const keyFacts = queryOptions({
  queryKey: ['key'],
  queryFn: async ({ signal }) => (await bodyOf<{ data: KeyFacts }>(api.GET('/v1/key', { signal }))).data,
});
