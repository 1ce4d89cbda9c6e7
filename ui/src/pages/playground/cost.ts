/** Cost of a request of the playground: that of its record, which the gateway writes when the request has ended. */

import { useQuery } from '@tanstack/react-query';
import { useSession } from '../../session.ts';
import { list } from '../requests/query.ts';
import type { Run } from './run.ts';

/** A record can be read some moments after the end. */
const ASK_EVERY_MS = 1000;
const MAX_TRIES = 30;
/** Newest requests of its key among which it is looked for: that of a record that is not there yet would be an error. */
const NEWEST = 200;

/** USD; null where the price is not known, undefined before there is a record. */
export function useCost({ requestId, state, key }: Run): string | null | undefined {
  const { isOperator } = useSession();
  const asked = useQuery({
    queryKey: ['playground-cost', requestId],
    enabled: requestId !== undefined && state !== 'running',
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const { data } = await list(isOperator, { limit: NEWEST, ...(key !== undefined && { key }) }, signal);
      return { record: data.find(({ id }) => id === requestId) };
    },
    refetchInterval: ({ state: { data, dataUpdateCount } }) =>
      data?.record === undefined && dataUpdateCount < MAX_TRIES ? ASK_EVERY_MS : false,
  });
  return asked.data?.record?.cost;
}
