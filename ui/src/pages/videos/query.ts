/** Video tasks: pages of all keys for operators, of the own key for its holder, and what can be done with one. */

import { keepPreviousData, queryOptions, useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf, request } from '../../api.ts';
import type { CountedPage } from '../../parts/table.tsx';
import { useSession } from '../../session.ts';
import type { VIDEO_STATUSES, VideoFilters } from './search.ts';

/** Times are Unix seconds. */
export interface VideoTask {
  id: string;
  status: (typeof VIDEO_STATUSES)[number];
  model: string;
  prompt?: string;
  unsigned_urls: string[];
  usage?: { video_seconds: number; video_cost: string };
  created_at: number;
  updated_at: number;
  progress?: number;
  seconds?: string;
  size?: string;
  resolution?: string;
  aspect_ratio?: string;
  seed?: number;
  completed_at?: number;
  expires_at?: number;
  error?: string;
  error_code?: string;
  cancel_requested?: boolean;
  metadata?: Record<string, string>;
  /** Hash of its key; for operators. */
  key?: string;
  key_name?: string | null;
}

/** Submission of a task to its provider; for operators. */
export interface Submission {
  provider: string;
  state: string;
  created_at: string;
  sent_at: string | null;
  accepted_at: string | null;
  reference: unknown;
}

interface VideoPage extends CountedPage {
  data: VideoTask[];
  next: string | null;
}

/** As the holder of a key gets it. */
interface OwnPage extends CountedPage {
  data: VideoTask[];
  has_more: boolean;
  last_id?: string;
}

const LIMIT = 24;
const LOOK_EVERY_MS = 3000;
const NEW_ONES_EVERY_MS = 10_000;

export const isOpen = ({ status }: VideoTask): boolean => status === 'queued' || status === 'in_progress';

/** Newest first; asked again, soon while one of them is not finished. */
export function useVideos({ key, ...filters }: VideoFilters) {
  const { isOperator } = useSession();
  return useInfiniteQuery({
    queryKey: ['videos', isOperator, filters, key],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: after, signal }): Promise<VideoPage> => {
      const query = { ...filters, after, limit: LIMIT };
      if (isOperator) return bodyOf(api.GET('/admin/v1/videos', { params: { query: { ...query, key } }, signal }));
      const counted = { ...query, total: after === undefined };
      const { data } = await api.GET('/v1/videos', { params: { query: counted }, signal });
      const { has_more: hasMore, last_id: last, ...page } = data as unknown as OwnPage;
      return { ...page, next: hasMore ? (last ?? null) : null };
    },
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: ({ state: { data } }) => {
      if (data?.pages.some((page) => page.data.some(isOpen))) return LOOK_EVERY_MS;
      return data?.pages.length === 1 ? NEW_ONES_EVERY_MS : false;
    },
  });
}

export interface VideoSummary {
  tasks: number;
  seconds: number;
  cost: string;
  states: Record<VideoTask['status'], number>;
  models: { model: string; tasks: number; seconds: number; cost: string }[];
  complete: boolean;
}

/** Sums of the tasks of a model, or of all; those of another key for operators. Under the key of the lists, so that a change asks again. */
export function videoSummary(
  isOperator: boolean,
  { key, model, from, to }: Pick<VideoFilters, 'key' | 'model' | 'from' | 'to'>,
) {
  return queryOptions({
    queryKey: ['videos', 'summary', isOperator, key, model, from, to],
    queryFn: async ({ signal }) => {
      const query = { from, to, ...(model !== undefined && { model }) };
      const found = isOperator
        ? api.GET('/admin/v1/videos/summary', {
            params: { query: { ...query, ...(key !== undefined && { key }) } },
            signal,
          })
        : api.GET('/v1/self/videos/summary', { params: { query }, signal });
      return (await bodyOf<{ data: VideoSummary }>(found)).data;
    },
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data && state.data.states.queued + state.data.states.in_progress > 0 ? LOOK_EVERY_MS : false,
  });
}

export function videoDetail(isOperator: boolean, id: string) {
  return queryOptions({
    queryKey: ['video', isOperator, id],
    queryFn: async ({ signal }) => {
      const params = { path: { id } };
      if (!isOperator)
        return bodyOf<VideoTask & { submission?: Submission }>(api.GET('/v1/videos/{id}', { params, signal }));
      const { data } = await bodyOf<{ data: VideoTask & { submission?: Submission } }>(
        api.GET('/admin/v1/videos/{id}', { params, signal }),
      );
      return data;
    },
    refetchInterval: ({ state }) => (state.data && isOpen(state.data) ? LOOK_EVERY_MS : false),
  });
}

/** Whether the end of a task made a webhook, as it does where the task has an address for it. An open task has none yet. */
export function hasWebhook(isOperator: boolean, task: VideoTask) {
  const params = { query: { search: task.id } };
  return queryOptions({
    queryKey: ['deliveries', isOperator, 'of task', task.id],
    enabled: !isOpen(task),
    queryFn: async ({ signal }) => {
      const { data } = await bodyOf<{ data: { task_id: string }[] }>(
        isOperator
          ? api.GET('/admin/v1/deliveries', { params, signal })
          : api.GET('/v1/self/deliveries', { params, signal }),
      );
      return data.some(({ task_id: id }) => id === task.id);
    },
  });
}

/** Path of the calls for a task. */
export const pathOfVideo = (isOperator: boolean, id: string): string => `${isOperator ? '/admin' : ''}/v1/videos/${id}`;

/** Address of the bytes, which a player asks for in ranges. */
export function contentAddress(isOperator: boolean, id: string, index = 0): string {
  return `${pathOfVideo(isOperator, id)}/content?index=${index}`;
}

/** Cancels or deletes a task. */
export function useVideoChange(id: string) {
  const { isOperator } = useSession();
  const queries = useQueryClient();
  const path = pathOfVideo(isOperator, id);
  return useMutation({
    mutationFn: (change: 'cancel' | 'delete') =>
      change === 'cancel' ? request(`${path}/cancel`, { method: 'POST' }) : request(path, { method: 'DELETE' }),
    onSuccess: (_response, change) =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['videos'] }),
        change === 'cancel' ? queries.invalidateQueries({ queryKey: ['video', isOperator, id] }) : undefined,
      ]),
  });
}
