/** Capture of a request of the playground: what was on both sides of the gateway. */

import { queryOptions } from '@tanstack/react-query';
import { ApiError, api } from '../../api.ts';
import type { paths } from '../../api-types.ts';

export type Capture = paths['/v1/self/captures/{id}']['get']['responses'][200]['content']['application/json']['data'];
export type CapturedBody = Capture['request']['body'];

/** A response that broke off is complete some moments after the page has seen it. */
const MAX_RETRIES = 4;
const RETRY_MS = 400;

/** `key` is the one as which an operator asks. */
export function captureQuery(id: string | undefined, isOperator: boolean) {
  return queryOptions({
    queryKey: ['capture', id],
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: (count, error) => error instanceof ApiError && error.status === 404 && count < MAX_RETRIES,
    retryDelay: RETRY_MS,
    queryFn: async ({ signal }): Promise<Capture> => {
      const params = { path: { id: id ?? '' } };
      const { data } = isOperator
        ? await api.GET('/admin/v1/captures/{id}', { params, signal })
        : await api.GET('/v1/self/captures/{id}', { params, signal });
      return (data as { data: Capture }).data;
    },
  });
}
