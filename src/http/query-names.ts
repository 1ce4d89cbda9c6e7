/** Names of query parameters: a route of the gateway's own API refuses those that its description does not have. */

import { GatewayError } from '../core/errors.ts';
import type { Route } from './route-table.ts';

/** Names by route; the routes are there as long as the process. */
const namesByRoute = new WeakMap<object, ReadonlySet<string>>();

/** Throws `invalid_request` that names the parameter and those that the route has. */
export function checkQueryNames(
  route: Pick<Route, 'templates' | 'describe' | 'hasOwnQuery'>,
  query: URLSearchParams,
): void {
  if (!route.hasOwnQuery || query.size === 0) return;
  const known = namesOf(route);
  for (const name of query.keys()) {
    if (known.has(name)) continue;
    const allowed = known.size === 0 ? 'it takes none' : `it takes ${[...known].join(', ')}`;
    const shown = JSON.stringify(name.slice(0, 100));
    throw new GatewayError('invalid_request', `Unknown query parameter ${shown}; ${allowed}.`, { param: name });
  }
}

function namesOf(route: Pick<Route, 'templates' | 'describe'>): ReadonlySet<string> {
  const known = namesByRoute.get(route);
  if (known) return known;
  const described = route.templates.flatMap((template) => route.describe(template).query ?? []);
  const names = new Set(described.map(({ name }) => name));
  namesByRoute.set(route, names);
  return names;
}
