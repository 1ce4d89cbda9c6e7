/** Admin API server: a separate listener on which every request needs the admin token. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../core/errors.ts';
import { limitConnections } from '../connection-limits.ts';
import { presentsToken, tokenRequired } from '../operator-access.ts';
import { checkQueryNames } from '../query-names.ts';
import { createRate } from '../rate.ts';
import { HttpContext, splitUrl } from '../request-context.ts';
import { createRouteTable } from '../route-table.ts';
import { createServer, type HttpServer } from '../server.ts';
import { checkSmallBody } from '../small-body.ts';
import type { AdminContext, AdminServerOptions } from './request.ts';

const BODY_LIMIT_BYTES = 256 * 1024;
const REQUEST_TIMEOUT_MS = 60_000;
/** Maximum number of concurrent connections; the other open files are left to clients. */
const MAX_CONNECTIONS = 32;
/** Wrong tokens allowed per client address: burst, and number per minute. */
const MAX_WRONG_TOKENS = 30;
/** Owner of all bodies of this server in the body budget. */
const BODY_OWNER = 'admin';
/** What is not there, every session may ask for. */
const UNKNOWN_ROUTE = { access: 'session', changes: false } as const;

export function createAdminApp(options: AdminServerOptions): HttpServer {
  const { token, protocol, log, bodyBudget, gate } = options;
  const table = createRouteTable<AdminContext>(options.routes, protocol);
  const wrongToken = createRate({ rate: MAX_WRONG_TOKENS / 60, burst: MAX_WRONG_TOKENS, now: options.clock.monotonic });

  function createContext(request: IncomingMessage, response: ServerResponse): AdminContext {
    const { path, query } = splitUrl(request.url ?? '/');
    const found = table.find(request.method ?? 'GET', path, query);
    return Object.assign(new HttpContext(request, response, { path, query, protocol, log }), { found });
  }

  // The address of the socket: no forwarding header is trusted here.
  function checkToken({ headers, socket }: IncomingMessage): void {
    const isRight = presentsToken(headers, token);
    if (isRight) return;
    const wait = isRight === undefined ? 0 : wrongToken(socket.remoteAddress ?? '');
    if (wait === 0) throw tokenRequired();
    throw new GatewayError('rate_limit_exceeded', 'Too many wrong tokens; wait a moment.', { retryAfter: wait });
  }

  const app = createServer<AdminContext>({
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    bodyLimit: BODY_LIMIT_BYTES,
    bodyBudget,
    clock: options.clock,
    protocolOf: () => protocol,
    createContext,
    async admit(context) {
      const { request, found } = context;
      if (found.route?.access === 'anyone') {
        checkSmallBody(found.route, request.headers);
        return BODY_OWNER;
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
  limitConnections(app.server, { perAddress: MAX_CONNECTIONS, total: MAX_CONNECTIONS, log, clock: options.clock });
  return app;
}
