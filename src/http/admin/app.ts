/** The admin API: a server of its own, on which nothing is answered without the admin token. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors.ts';
import { limitConnections } from '../connection-limits.ts';
import { presentsToken, tokenRequired } from '../operator-access.ts';
import { createRate } from '../rate.ts';
import { createHttpContext, splitUrl } from '../request-context.ts';
import { createRouteTable } from '../route-table.ts';
import { createServer } from '../server.ts';
import { createKeyHandlers } from './keys.ts';
import { createRecordHandlers } from './records.ts';
import type { AdminContext, AdminOptions } from './request.ts';
import { adminRoutes } from './routes.ts';

const BODY_LIMIT_BYTES = 256 * 1024;
const REQUEST_TIMEOUT_MS = 60_000;
/** Connections at once; they leave the rest of the open files to clients. */
const MAX_CONNECTIONS = 32;
/** Wrong tokens that one address may present: so many at once, and as many a minute. */
const WRONG_TOKENS = 30;
/** The owner of all bodies in the budget of bodies. */
const BODY_OWNER = 'admin';

export function createAdminApp(options: AdminOptions): FastifyInstance {
  const { token, protocol, log, bodyBudget } = options;
  const handlers = { ...createKeyHandlers(options), ...createRecordHandlers(options) };
  const table = createRouteTable(adminRoutes(protocol, handlers), protocol);
  const wrongToken = createRate({ rate: WRONG_TOKENS / 60, burst: WRONG_TOKENS });

  function createContext(request: FastifyRequest, reply: FastifyReply): AdminContext {
    const { path, query } = splitUrl(request.originalUrl);
    const found = table.find(request.method, path, query);
    return { ...createHttpContext(request, reply, { path, query, protocol, log }), found, log };
  }

  // By the socket alone: no header says who somebody is but the token.
  function checkToken({ headers, socket }: FastifyRequest): void {
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
    protocolOf: () => protocol,
    createContext,
    async admit({ request, found }) {
      // First of all: a stranger does not learn which routes there are.
      checkToken(request);
      if (!found.route) throw found.error;
      return BODY_OWNER;
    },
    handle(context) {
      const { found } = context;
      if (!found.route) throw found.error;
      return found.route.handle(context, found.match);
    },
  });
  limitConnections(app.server, { perAddress: MAX_CONNECTIONS, total: MAX_CONNECTIONS, log });
  return app;
}
