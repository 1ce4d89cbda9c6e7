/** Page for an address that has none, or none for this session. */

import { Link, Navigate } from '@tanstack/react-router';
import type { Entry } from './entries.ts';

interface NotFoundProps {
  /** Page of others; absent where there is none. */
  entry?: Entry;
  /** Set by the router. */
  isNotFound?: boolean;
}

export function NotFound({ entry }: NotFoundProps) {
  // Both are the first page, each of its session.
  if (entry?.to === '/use') return <Navigate to="/key" replace />;
  return (
    <div className="mx-auto max-w-xl py-24 text-center">
      <h1>
        {entry
          ? `This page is for ${entry.for === 'key' ? 'holders of keys' : 'operators'}`
          : 'There is no page at this address'}
      </h1>
      <p className="mt-2 text-dim">
        {entry ? 'Sign in as one of them to see it.' : 'It may come from a newer version of the gateway.'}
      </p>
      <Link to="/" className="button mt-6">
        To the first page
      </Link>
    </div>
  );
}
