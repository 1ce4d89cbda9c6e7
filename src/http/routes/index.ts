/** Route table of the gateway's server. */

import { systemClock } from '../../core/clock.ts';
import type { Protocol } from '../../core/protocol.ts';
import { createKeeperClient } from '../../stored-responses/keeper-client.ts';
import { adminDescriptions } from '../admin/routes.ts';
import type { AppOptions } from '../app-options.ts';
import { createConversationHandlers } from '../conversations.ts';
import { createDocument, operationsOfRoutes } from '../openapi/document.ts';
import { createReadLimit } from '../rate.ts';
import type { RequestContext } from '../request-context.ts';
import { createRouteTable, type Route, type RouteTable } from '../route-table.ts';
import { sessionDescriptions } from '../sessions/routes.ts';
import { createStoredRequests } from '../stored-requests.ts';
import { createResponseHandlers } from '../stored-responses.ts';
import { createVideoHandlers } from '../videos/handlers.ts';
import type { SocketConnections } from '../websocket/connections.ts';
import { accountRoutes } from './account.ts';
import { catalogRoutes } from './catalog.ts';
import { keyWebhookRoutes } from './key-webhooks.ts';
import { protocolRoutes } from './protocols.ts';
import { selfRoutes } from './self.ts';
import { socketRoutes } from './sockets.ts';
import { conversationRoutes, responseRoutes } from './stored.ts';
import { systemRoutes } from './system.ts';
import { videoRoutes } from './videos.ts';

export function createRoutes(
  options: AppOptions,
  sockets: Pick<SocketConnections, 'open'>,
): RouteTable<RequestContext> {
  const { protocols, prefixes, version, store, videos, admission, dashboard } = options;
  /** Protocol of routes that belong to none. */
  const protocol = protocols[0] as Protocol;
  const limitReads = createReadLimit();
  const describeApi = () =>
    createDocument({
      version,
      operations: operationsOfRoutes([...table.routes, ...adminDescriptions, ...sessionDescriptions]),
    });
  const table: RouteTable<RequestContext> = createRouteTable(
    [
      ...protocolRoutes(protocols, prefixes, options),
      ...socketRoutes(protocols, sockets),
      ...catalogRoutes(protocols, prefixes, () => options.models().catalog()),
      ...protocols.filter(({ operations }) => operations.complete.stored).flatMap((one) => storedRoutes(one, options)),
      ...videoRoutes(protocol, createVideoHandlers(videos, admission)),
      ...accountRoutes(protocol, { store, admission, models: options.models, limitReads, now: videos.clock?.now }),
      ...keyWebhookRoutes(protocol, {
        store,
        secrets: options.webhookSecrets,
        clock: videos.clock,
        isStopping: options.isDraining,
      }),
      ...selfRoutes(protocol, {
        store,
        recorder: options.recorder,
        countRunning: options.countRunning,
        models: options.models,
        secrets: options.webhookSecrets,
        clock: options.clock ?? systemClock,
        captures: dashboard?.captures,
        limitReads,
      }),
      ...systemRoutes(protocol, { ...options, pages: dashboard?.pages, describeApi }),
      ...(dashboard?.routes ?? []),
    ],
    protocol,
  );
  return table;
}

function storedRoutes(protocol: Protocol, options: AppOptions): Route<RequestContext>[] {
  const { stored, background, streams, bodyBudget, models, clock = systemClock } = options;
  const askKeeper = createKeeperClient({
    protocol,
    models,
    now: clock.now,
    upstream: () => options.dispatch().upstream,
    userAgent: () => options.dispatch().userAgent,
  });
  const requests = createStoredRequests(bodyBudget, clock);
  return [
    ...responseRoutes(
      protocol,
      createResponseHandlers({ stored, background, streams, askKeeper, requests, bodyBudget }),
    ),
    ...conversationRoutes(protocol, createConversationHandlers({ stored, requests })),
  ];
}
