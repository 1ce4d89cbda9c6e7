/** Model list routes of the protocols, e.g. `GET /v1/models`; they need no key. */

import type { Catalog } from '../../catalog/catalog.ts';
import type { Prefixes } from '../../core/operation.ts';
import type { CatalogQuery, Protocol } from '../../core/protocol.ts';
import { describeCatalog } from '../openapi/protocols.ts';
import type { RequestContext } from '../request-context.ts';
import { type Route, segmentsBelow } from '../route-table.ts';

export function catalogRoutes(
  protocols: readonly Protocol[],
  prefixes: Prefixes,
  catalog: () => Catalog,
): Route<RequestContext>[] {
  return protocols.flatMap((protocol) =>
    protocol.catalogRoutes(prefixes).map(
      ({ method, path, match, templates }): Route<RequestContext, CatalogQuery> => ({
        name: 'catalog',
        nameOf: ({ type }) => `catalog.${type}`,
        method,
        path,
        match(requested, query) {
          const rest = segmentsBelow(requested, path);
          return rest && match(rest, query);
        },
        templates,
        protocol,
        access: 'anyone',
        changes: false,
        limited: false,
        describe: (template) => describeCatalog(protocol, { ...template, method }),
        async handle(context, query) {
          const { serveCatalog } = await import('../catalog.ts');
          return serveCatalog(context, query, catalog());
        },
      }),
    ),
  );
}
