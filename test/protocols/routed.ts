/** The meaning of a request line in one protocol, as the route table finds it. */

import type { RouteMatch } from '../../src/core/operation.ts';
import type { CatalogQuery, Protocol } from '../../src/core/protocol.ts';
import type { AppOptions } from '../../src/http/app-options.ts';
import { createRouteTable } from '../../src/http/route-table.ts';
import { catalogRoutes } from '../../src/http/routes/catalog.ts';
import { protocolRoutes } from '../../src/http/routes/protocols.ts';

const PREFIXES = { messages: 'anthropic', generate: 'gemini' };

/** The operation with what the path says of it, or the catalog query; undefined where nothing is. */
export function routed(
  protocol: Protocol,
  method: string,
  path: string,
): ({ type: string } & RouteMatch) | CatalogQuery | undefined {
  const url = new URL(path, 'http://localhost');
  const routes = [
    ...protocolRoutes([protocol], PREFIXES, {} as AppOptions),
    ...catalogRoutes([protocol], PREFIXES, () => {
      throw new Error('no catalog is read');
    }),
  ];
  const found = createRouteTable(routes, protocol).find(method, url.pathname, url.searchParams);
  if (found.route) {
    const { operation } = found.route;
    if (!operation) return found.match as CatalogQuery;
    return { type: operation.name, ...(found.match as RouteMatch) };
  }
  if (['not_found', 'method_not_allowed'].includes(found.error.code)) return undefined;
  throw found.error;
}
