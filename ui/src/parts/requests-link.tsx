/** A figure that leads to the requests it is the sum of. */

import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Filters } from '../pages/requests/query.ts';
import type { Span } from '../spans.ts';

/** Those of a figure; the time is told by its span. */
export type FigureFilters = { [Name in keyof Omit<Filters, 'from' | 'to'>]?: Filters[Name] | undefined };

interface RequestsLinkProps {
  span: Pick<Span, 'from' | 'to' | 'zone'>;
  /** What of the requests is within the span: by default their begin, by which sums count them. */
  by?: 'begin' | 'end';
  /** Absent where no filters name these requests. */
  filters: FigureFilters | undefined;
  children: ReactNode;
}

export function RequestsLink({ span: { from, to, zone }, by = 'begin', filters, children }: RequestsLinkProps) {
  if (!filters) return children;
  const time = { from: from.getTime() > 0 ? from.toISOString() : undefined, to: to.toISOString() };
  return (
    <Link
      to="/requests"
      search={{ ...filters, ...(by === 'end' ? time : { started_from: time.from, started_to: time.to }), zone }}
      title="Show these requests"
      className={FIGURE_LINK}
    >
      {children}
    </Link>
  );
}

/** Looks of a figure that leads to what it is the sum of. */
export const FIGURE_LINK =
  'underline decoration-faint decoration-dotted underline-offset-4 hover:text-accent hover:decoration-solid';
