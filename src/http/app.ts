/** The server of clients: finds the route of each request, authenticates it, and checks the permissions of its key. */

import { systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { ServerRequest } from '../http1/server-request.ts';
import type { ServerResponse } from '../http1/server-response.ts';
import type { AppOptions } from './app-options.ts';
import { createAuthentication } from './authentication.ts';
import { checkSmallBody, MAX_SMALL_BODY_BYTES } from './body.ts';
import { limitConnections } from './connection-limits.ts';
import { createKeyEntrance } from './key-entrance.ts';
import { createOperatorCheck } from './operator-access.ts';
import { RequestContext, splitUrl } from './request-context.ts';
import { checkQueryNames } from './request-head.ts';
import type { FoundRoute, MissedRoute, Route } from './route-table.ts';
import { createRoutes } from './routes/index.ts';
import { createServer, type HttpServer } from './server.ts';
import type { GuardedRoute } from './sessions/roles.ts';
import { createSocketConnections } from './websocket/connections.ts';
import { asksForWebSocket } from './websocket/handshake.ts';

type RoutedContext = RequestContext & { found: FoundRoute<RequestContext> | MissedRoute };

const REQUEST_TIMEOUT_MS = 5 * 60 * 1000;

export interface App extends HttpServer {
  routes: readonly Route<RequestContext>[];
}

export function createApp(options: AppOptions): App {
  const { admission, bodyLimit, bodyBudget, log, observer, clock = systemClock } = options;
  const { gate, captures } = options.dashboard ?? {};
  const enterKey = createKeyEntrance({ admission, captures });
  const authenticate = createAuthentication({ ...options, gate });
  const sockets = createSocketConnections(options, authenticate);
  const table = createRoutes(options, sockets);
  const checkOperator = createOperatorCheck({
    ...options.operator,
    trustedProxies: options.trustedProxies,
    clock,
    log,
  });

  function createContext(request: ServerRequest, response: ServerResponse): RoutedContext {
    const { path, query } = splitUrl(request.url);
    const found = table.find(request.method, path, query);
    const target = { query, protocol: found.protocol };
    const context = new RequestContext(request, response, { ...target, log, observer, clock });
    return Object.assign(context, { found });
  }

  function admit(context: RoutedContext): Promise<string | undefined> | string | undefined {
    const { found, request, observation } = context;
    if (!found.route) throw found.error;
    const { access, surface, changes, openLocally } = found.route;
    observation.route = found.name;
    if (openLocally) checkOperator(found.route, request);
    else if (access === 'anyone') checkSmallBody(found.route, request.headers);
    else if (access !== 'key') return admitSession(context, found.route);
    if (access !== 'key') return undefined;
    const key = authenticate(context, { surface, changes });
    return key instanceof Promise
      ? key.then((authenticated) => enterKey(context, found.route, authenticated))
      : enterKey(context, found.route, key);
  }

  async function admitSession(context: RoutedContext, route: GuardedRoute): Promise<string> {
    const session = await gate?.admit(context.request, route);
    if (!session) throw new GatewayError('invalid_api_key', 'A session of the dashboard is required.');
    context.session = session;
    return session.id;
  }

  function mayUpgrade(request: ServerRequest): boolean {
    if (!asksForWebSocket(request) || !options.websockets().enabled) return false;
    const { path, query } = splitUrl(request.url);
    return table.find('GET', path, query).route?.upgrades === true;
  }

  const app = createServer<RoutedContext>({
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    bodyLimit: ({ found }) => (found.route?.access === 'anyone' ? MAX_SMALL_BODY_BYTES : bodyLimit),
    bodyBudget,
    log,
    clock,
    isDraining: options.isDraining,
    protocolOf: table.protocolOf,
    mayUpgrade,
    onClosing: sockets.close,
    createContext,
    admit,
    handle(context) {
      const { found } = context;
      if (!found.route) throw found.error;
      checkQueryNames(found.route, context.query);
      return found.route.handle(context, found.match);
    },
  });
  limitConnections(app.server, { ...options, perAddress: options.connectionsPerAddress });
  return { ...app, routes: table.routes };
}
