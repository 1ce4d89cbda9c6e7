/** A figure that leads to the requests it is the sum of, or to videos, which have a list of their own. */

import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Filters } from '../pages/requests/query.ts';
import { VIDEO_STATUSES, type VideosSearch } from '../pages/videos/search.ts';
import type { Span } from '../spans.ts';

/** Those of a figure; the time is told by its span. */
export type FigureFilters = { [Name in keyof Omit<Filters, 'from' | 'to'>]?: Filters[Name] | undefined };

/** Videos among the requests of a sum. */
export type VideoShare = 'none' | 'some' | 'all';

export function videoShare(videos: number, all: number): VideoShare {
  if (videos === 0) return 'none';
  return videos < all ? 'some' : 'all';
}

interface RequestsLinkProps {
  span: Pick<Span, 'from' | 'to' | 'zone'>;
  /** Time of the requests that is within the span: by default their begin, by which sums count them. */
  by?: 'begin' | 'end';
  /** Those of the figure. */
  videos?: VideoShare;
  /** Absent where no filters name these requests. */
  filters: FigureFilters | undefined;
  children: ReactNode;
}

export function RequestsLink({
  span: { from, to, zone },
  by = 'begin',
  videos = 'none',
  filters,
  children,
}: RequestsLinkProps) {
  if (!filters) return children;
  const time = { from: from.getTime() > 0 ? from.toISOString() : undefined, to: to.toISOString() };
  if (videos === 'all' || filters.protocol === 'videos') {
    const ofVideos = videoFilters(filters);
    if (!ofVideos) return children;
    const title = ofVideos.status === 'failed' ? 'Show these videos, but for those that expired' : 'Show these videos';
    return (
      <Link to="/videos" search={{ ...ofVideos, ...time, zone }} title={title} className={FIGURE_LINK}>
        {children}
      </Link>
    );
  }
  return (
    <Link
      to="/requests"
      search={{ ...filters, ...(by === 'end' ? time : { started_from: time.from, started_to: time.to }), zone }}
      title={videos === 'some' ? 'Show these requests; videos are listed under Videos' : 'Show these requests'}
      className={FIGURE_LINK}
    >
      {children}
    </Link>
  );
}

/** Undefined where the list of videos has no such filters. */
function videoFilters({ key, model, status, protocol: _protocol, ...others }: FigureFilters): VideosSearch | undefined {
  const ofVideos = VIDEO_STATUSES.find((one) => one === status);
  if (Object.values(others).some((value) => value !== undefined) || status !== ofVideos) return undefined;
  return { ...(key && { key }), ...(model && { model }), ...(ofVideos && { status: ofVideos }) };
}

/** Looks of a figure that leads to what it is the sum of. */
export const FIGURE_LINK =
  'underline decoration-faint decoration-dotted underline-offset-4 hover:text-accent hover:decoration-solid';
