/** A figure that leads to the requests it is the sum of. */

import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Filters } from '../pages/requests/query.ts';
import type { Span } from '../spans.ts';

/** Those of a figure; the time is told by its span. */
export type FigureFilters = { [Name in keyof Omit<Filters, 'from' | 'to'>]?: Filters[Name] | undefined };

interface RequestsLinkProps {
  span: Pick<Span, 'from' | 'to' | 'zone'>;
  /** Absent where no filters name these requests. */
  filters: FigureFilters | undefined;
  children: ReactNode;
}

export function RequestsLink({ span: { from, to, zone }, filters, children }: RequestsLinkProps) {
  if (!filters) return children;
  return (
    <Link
      to="/requests"
      search={{ ...filters, from: from.toISOString(), to: to.toISOString(), zone }}
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
