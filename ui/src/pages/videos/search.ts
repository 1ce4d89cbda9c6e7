/** Parameters in the address of the list of videos. */

import { oneOf, type Search, text, truth } from '../../search-values.ts';
import { type TimeSearch, timeOf } from '../../times.ts';

export const VIDEO_STATUSES = ['queued', 'in_progress', 'completed', 'failed', 'cancelled', 'expired'] as const;

export interface VideoFilters {
  status?: (typeof VIDEO_STATUSES)[number];
  model?: string;
  key?: string;
  search?: string | undefined;
  /** ISO times between which they were created. */
  from?: string | undefined;
  to?: string | undefined;
}

export interface VideosSearch extends Omit<VideoFilters, 'search'>, TimeSearch {
  find?: string;
  view?: 'grid' | 'list';
  open?: string;
  /** Whether the form that asks for one is open. */
  create?: true;
}

export function videosSearch(search: Search): VideosSearch {
  return {
    ...timeOf(search),
    find: text(search.find),
    status: oneOf(VIDEO_STATUSES, search.status),
    model: text(search.model),
    key: text(search.key),
    view: oneOf(['grid', 'list'], search.view),
    open: text(search.open),
    create: truth(search.create),
  };
}
