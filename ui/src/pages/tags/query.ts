/** Tags with their limits, budgets and spending: pages of all of them, and one. */

import { keepPreviousData, queryOptions, useInfiniteQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../../api.ts';
import type { Allotment } from '../../keys.ts';

export interface TagView extends Allotment {
  /** `name=value` */
  tag: string;
  keys: number;
  /** Of its limits and budgets; null without any. */
  origin: 'configuration' | 'store' | null;
  /** Null without any that are stored. */
  updated_at: string | null;
}

interface TagPage {
  data: TagView[];
  total: number;
  next: string | null;
}

const PAGE_SIZE = 50;
const ALL_TAGS = ['tags'];

/** Key of all queries of tags. */
export const tagQueries = { queryKey: ALL_TAGS };

/** In the order of their texts; `search` is a part of it. */
export function useTags(search: string | undefined) {
  return useInfiniteQuery({
    queryKey: [...ALL_TAGS, 'list', search],
    initialPageParam: undefined as string | undefined,
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }) => {
      const query = { limit: PAGE_SIZE, ...(search && { search }), ...(pageParam && { after: pageParam }) };
      return bodyOf<TagPage>(api.GET('/admin/v1/tags', { params: { query }, signal }));
    },
    getNextPageParam: ({ next }) => next ?? undefined,
  });
}

export function oneTag(tag: string) {
  return queryOptions({
    queryKey: [...ALL_TAGS, 'one', tag],
    queryFn: async ({ signal }) =>
      (await bodyOf<{ data: TagView }>(api.GET('/admin/v1/tags/{tag}', { params: { path: { tag } }, signal }))).data,
  });
}
