/**
 * Admin API server: a separate listener on which every request needs the admin token or a session of the dashboard. Sessions
 * see the lists of models and call models here, too, as a key that they name; no key is accepted.
 */

import { GatewayError } from '../../core/errors.ts';
import type { ServerRequest } from '../../http1/server-request.ts';
import type { ServerResponse } from '../../http1/server-response.ts';
import { checkAccess } from '../../keys/scopes.ts';
import { checkSmallBody } from '../body.ts';
import { limitConnections } from '../connection-limits.ts';
import { createKeyEntrance } from '../key-entrance.ts';
import { createTokenCheck } from '../operator-access.ts';
import { HttpContext, RequestContext, splitUrl } from '../request-context.ts';
import { checkQueryNames } from '../request-head.ts';
import { createRouteTable, type Route } from '../route-table.ts';
import { createServer, type HttpServer } from '../server.ts';
import type { AdminContext, AdminServerOptions } from './request.ts';

const BODY_LIMIT_BYTES = 256 * 1024;
const REQUEST_TIMEOUT_MS = 60_000;
/**
 * Maximum number of concurrent connections, of which one address has half; the other open files are left to clients. A browser
 * opens six, and those of several operators may come through one proxy.
 */
const MAX_CONNECTIONS = 256;
/** Owner of all bodies of this server in the body budget. */
const BODY_OWNER = 'admin';
/** Names of routes for anyone at the address of clients. */
const LISTS = ['catalog', 'openapi', 'videos.models'];
/** Name of the call of a model that is no operation of a protocol. */
const VIDEO_CALL = 'videos.create';
/** Access to unknown paths: any session gets `not_found`. */
const UNKNOWN_ROUTE = { access: 'session', changes: false } as const;

export function createAdminApp(options: AdminServerOptions): HttpServer {
  const { token, protocol, log, clock, bodyBudget, gate, calls } = options;
  const ofModels = new Set<Route>(calls && modelRoutes(calls.routes));
  const table = createRouteTable<AdminContext>([...options.routes, ...ofModels], protocol);
  const enterKey = calls && createKeyEntrance(calls);
  const checkTokenFrom = createTokenCheck(token, clock);

  function createContext(request: ServerRequest, response: ServerResponse): AdminContext {
    const { path, query } = splitUrl(request.url);
    const found = table.find(request.method, path, query);
    const target = { query, protocol: found.route?.protocol ?? protocol, log };
    if (!found.route || !ofModels.has(found.route)) {
      return Object.assign(new HttpContext(request, response, target), { found });
    }
    const context = new RequestContext(request, response, { ...target, clock, observer: calls?.observer });
    context.observation.route = found.name;
    return Object.assign(context, { found });
  }

  // The address of the socket: no forwarding header is trusted here.
  function checkToken({ headers, socket }: ServerRequest): void {
    checkTokenFrom(headers, socket.remoteAddress ?? '');
  }

  /** Admits a call by its session only, so that programs cannot call models at this address. */
  async function admitCall(context: RequestContext, route: Route): Promise<string> {
    const { request } = context;
    const found = request.headers.authorization === undefined ? await gate?.keyOf(request, route) : undefined;
    if (!found || !enterKey) {
      checkToken(request);
      throw new GatewayError('permission_denied', 'Models are called here by sessions of the dashboard only.');
    }
    const { surface, changes } = route;
    checkAccess(found.key.settings, { surface, changes, address: request.socket.remoteAddress ?? '' });
    context.protocol.checkHeaders?.(request.headers);
    context.session = found.session;
    return enterKey(context, route, found.key);
  }

  const app = createServer<AdminContext>({
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    bodyLimit: ({ found }) => (calls && found.route && isCall(found.route) ? calls.bodyLimit : BODY_LIMIT_BYTES),
    bodyBudget,
    log,
    clock,
    protocolOf: () => protocol,
    createContext,
    async admit(context) {
      const { request, found } = context;
      if (found.route?.access === 'anyone') {
        checkSmallBody(found.route, request.headers);
        return BODY_OWNER;
      }
      if (found.route && isCall(found.route) && context instanceof RequestContext) {
        return admitCall(context, found.route);
      }
      if (gate && request.headers.authorization === undefined) {
        const session = await gate.admit(request, found.route ?? UNKNOWN_ROUTE);
        if (session) context.session = session;
      }
      // Before anything else, so that an unauthorized client does not learn which routes exist.
      if (!context.session) checkToken(request);
      if (!found.route) throw found.error;
      return BODY_OWNER;
    },
    handle(context) {
      const { found } = context;
      if (!found.route) throw found.error;
      checkQueryNames(found.route, context.query);
      return found.route.handle(context, found.match);
    },
  });
  limitConnections(app.server, { perAddress: MAX_CONNECTIONS, total: MAX_CONNECTIONS, log, clock });
  return app;
}

/** Calls of models, and the lists that their pages read. They need access to the admin API, unlike the same routes for clients. */
function modelRoutes(routes: readonly Route<RequestContext>[]): Route<RequestContext>[] {
  return [
    ...routes.filter(isCall),
    ...routes.filter(({ name }) => LISTS.includes(name)).map((list) => ({ ...list, access: 'admin' as const })),
  ];
}

function isCall({ operation, name }: Pick<Route, 'operation' | 'name'>): boolean {
  return operation !== undefined || name === VIDEO_CALL;
}
