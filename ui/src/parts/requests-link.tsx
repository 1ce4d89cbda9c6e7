/** A figure that leads to the requests it is the sum of. */

import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { UseFilters } from '../pages/use/search.ts';
import type { Span } from '../spans.ts';

interface RequestsLinkProps {
  span: Span;
  /** Absent where no filters name these requests. */
  filters: UseFilters | undefined;
  children: ReactNode;
}

export function RequestsLink({ span: { from, to, zone }, filters, children }: RequestsLinkProps) {
  if (!filters) return children;
  return (
    <Link
      to="/requests"
      search={{ ...filters, from: from.toISOString(), to: to.toISOString(), zone }}
      title="Show these requests"
      className="underline decoration-faint decoration-dotted underline-offset-4 hover:text-accent hover:decoration-solid"
    >
      {children}
    </Link>
  );
}
