/** Route table of the gateway's server. */

import { systemClock } from '../../core/clock.ts';
import type { Protocol } from '../../core/protocol.ts';
import { createKeeperClient } from '../../stored-responses/keeper-client.ts';
import { adminDescriptions } from '../admin/routes.ts';
import type { AppOptions } from '../app-options.ts';
import { createDocument, operationsOfRoutes } from '../openapi/document.ts';
import type { RequestContext } from '../request-context.ts';
import { createRouteTable, type Route, type RouteTable } from '../route-table.ts';
import { createResponseHandlers } from '../stored-responses.ts';
import { createVideoHandlers } from '../videos.ts';
import type { SocketConnections } from '../websocket/connections.ts';
import { accountRoutes } from './account.ts';
import { catalogRoutes } from './catalog.ts';
import { protocolRoutes } from './protocols.ts';
import { responseRoutes } from './responses.ts';
import { socketRoutes } from './sockets.ts';
import { systemRoutes } from './system.ts';
import { videoRoutes } from './videos.ts';

export function createRoutes(
  options: AppOptions,
  sockets: Pick<SocketConnections, 'open'>,
): RouteTable<RequestContext> {
  const { protocols, prefixes, version, store, videos, admission } = options;
  /** For routes that belong to no protocol. */
  const protocol = protocols[0] as Protocol;
  const describeApi = () =>
    createDocument({ version, operations: operationsOfRoutes([...table.routes, ...adminDescriptions]) });
  const table: RouteTable<RequestContext> = createRouteTable(
    [
      ...protocolRoutes(protocols, prefixes, options),
      ...socketRoutes(protocols, sockets),
      ...catalogRoutes(protocols, prefixes, () => options.models().catalog()),
      ...protocols.filter(({ operations }) => operations.complete.stored).flatMap((one) => storedRoutes(one, options)),
      ...videoRoutes(protocol, createVideoHandlers(videos, admission)),
      ...accountRoutes(protocol, { store, now: videos.clock?.now }),
      ...systemRoutes(protocol, { ...options, describeApi }),
    ],
    protocol,
  );
  return table;
}

function storedRoutes(protocol: Protocol, options: AppOptions): Route<RequestContext>[] {
  const { stored, bodyBudget, models, clock = systemClock } = options;
  const askKeeper = createKeeperClient({
    protocol,
    models,
    now: clock.now,
    upstream: () => options.dispatch().upstream,
    userAgent: () => options.dispatch().userAgent,
  });
  return responseRoutes(protocol, createResponseHandlers({ stored, askKeeper, bodyBudget, clock }));
}
