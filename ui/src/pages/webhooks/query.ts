/** Webhooks: pages of all keys for operators, of the own key for its holder, their bodies, and their receivers. */

import { keepPreviousData, queryOptions, useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf, request } from '../../api.ts';
import type { CountedPage } from '../../parts/table.tsx';
import { useSession } from '../../session.ts';
import type { DELIVERY_STATES, DeliveryFilters, OUTCOMES } from './search.ts';

export interface Attempt {
  n: number;
  trigger: 'schedule' | 'replay';
  started_at: string;
  ended_at: string;
  outcome: (typeof OUTCOMES)[number];
  status?: number;
  next_attempt_at: string | null;
  /** For operators. */
  address?: string;
  retry_after_ms?: number;
}

export interface Delivery {
  id: string;
  task_id: string;
  url: string;
  state: (typeof DELIVERY_STATES)[number];
  created_at: string;
  settled_at: string | null;
  next_attempt_at: string | null;
  attempts: Attempt[];
  /** Hash of its key; for operators. */
  key?: string;
  key_name?: string | null;
}

interface DeliveryPage extends CountedPage {
  data: Delivery[];
  next: string | null;
}

export interface ReceiverFigures {
  host: string;
  delivered: number;
  pending: number;
  exhausted: number;
  last_delivered_at: string | null;
  failing_since: string | null;
}

const LOOK_EVERY_MS = 3000;
const FIGURES_EVERY_MS = 15_000;
const NEW_ONES_EVERY_MS = 10_000;
const REPLAY_LOOK_EVERY_MS = 500;
/** A receiver has less time to answer. */
const REPLAY_LOOKS = 60;

/** Newest first; asked again, soon while one of them is on its way. */
export function useDeliveries({ key, ...filters }: DeliveryFilters) {
  const { isOperator } = useSession();
  return useInfiniteQuery({
    queryKey: ['deliveries', isOperator, filters, key],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: after, signal }): Promise<DeliveryPage> => {
      const query = { ...filters, after };
      return isOperator
        ? bodyOf(api.GET('/admin/v1/deliveries', { params: { query: { ...query, key } }, signal }))
        : bodyOf(api.GET('/v1/self/deliveries', { params: { query }, signal }));
    },
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: ({ state: { data } }) => {
      if (data?.pages.some((page) => page.data.some((one) => one.state === 'pending'))) return LOOK_EVERY_MS;
      return data?.pages.length === 1 ? NEW_ONES_EVERY_MS : false;
    },
  });
}

/** One webhook, which need not be among those of the list. */
export function deliveryOf(isOperator: boolean, task: string) {
  return queryOptions({
    queryKey: ['deliveries', isOperator, 'one', task],
    queryFn: async ({ signal }): Promise<Delivery> => {
      if (isOperator) {
        return (
          await bodyOf<{ data: Delivery }>(
            api.GET('/admin/v1/deliveries/{task}', { params: { path: { task } }, signal }),
          )
        ).data;
      }
      return (
        await bodyOf<{ data: Delivery }>(
          api.GET('/v1/self/deliveries/{id}', { params: { path: { id: task } }, signal }),
        )
      ).data;
    },
    refetchInterval: ({ state }) => (state.data?.state === 'pending' ? LOOK_EVERY_MS : false),
  });
}

export interface SentBody {
  id: string;
  body: string;
  /** Null for a key without a secret. */
  headers: Record<string, string> | null;
}

export function bodyOfDelivery(isOperator: boolean, task: string) {
  return queryOptions({
    queryKey: ['delivery-body', isOperator, task],
    queryFn: async ({ signal }): Promise<SentBody> => {
      const asked = isOperator
        ? bodyOf<{ data: SentBody }>(
            api.GET('/admin/v1/deliveries/{task}/body', { params: { path: { task } }, signal }),
          )
        : bodyOf<{ data: SentBody }>(
            api.GET('/v1/self/deliveries/{id}/body', { params: { path: { id: task } }, signal }),
          );
      return (await asked).data;
    },
  });
}

/** Those of webhooks that were created between two times. */
export function receiverList(isOperator: boolean, span: Pick<DeliveryFilters, 'from' | 'to'>) {
  return queryOptions({
    queryKey: ['deliveries', isOperator, 'receivers', span],
    refetchInterval: FIGURES_EVERY_MS,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      bodyOf<{ data: ReceiverFigures[]; complete: boolean }>(
        isOperator
          ? api.GET('/admin/v1/deliveries/receivers', { params: { query: span }, signal })
          : api.GET('/v1/self/deliveries/receivers', { params: { query: span }, signal }),
      ),
  });
}

/** Path of the call that shows a webhook. */
export const pathOfDelivery = (isOperator: boolean, task: string): string =>
  `${isOperator ? '/admin/v1' : '/v1/self'}/deliveries/${task}`;

/** Path of the call that sends a webhook once more. */
export const replayOf = (isOperator: boolean, task: string): string =>
  isOperator ? `/admin/v1/deliveries/${task}/replay` : `/v1/videos/${task}/deliveries/replay`;

/** Goes on until the attempt has ended, so that it is shown. */
export function useReplay(task: string) {
  const { isOperator } = useSession();
  const queries = useQueryClient();
  const asked = deliveryOf(isOperator, task);
  return useMutation({
    async mutationFn() {
      const before = await queries.fetchQuery({ ...asked, staleTime: 0 });
      await request(replayOf(isOperator, task), {
        method: 'POST',
      });
      for (let look = 0; look < REPLAY_LOOKS; look++) {
        await new Promise((looked) => setTimeout(looked, REPLAY_LOOK_EVERY_MS));
        const { attempts } = await queries.fetchQuery({ ...asked, staleTime: 0 });
        if (attempts.length > before.attempts.length) return;
      }
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['deliveries'] }),
  });
}

/** Secrets that sign the webhooks of a key, the current one first; of the own key if `hash` is absent. That they are shown is in the audit log. */
export async function webhookSecrets(hash: string | undefined): Promise<string[]> {
  const asked =
    hash === undefined
      ? api.GET('/v1/key/webhook-secret')
      : api.GET('/admin/v1/keys/{hash}/webhook-secret', { params: { path: { hash } } });
  return (await bodyOf<{ data: { secret: string }[] }>(asked)).data.map(({ secret }) => secret);
}
