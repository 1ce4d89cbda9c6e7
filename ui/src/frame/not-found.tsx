/** Page for an address that has none. */

import { Link } from '@tanstack/react-router';

export function NotFound() {
  return (
    <div className="mx-auto max-w-xl py-24 text-center">
      <h1>There is no page at this address</h1>
      <p className="mt-2 text-dim">It may come from a newer version of the gateway.</p>
      <Link to="/" className="button mt-6">
        To the first page
      </Link>
    </div>
  );
}
