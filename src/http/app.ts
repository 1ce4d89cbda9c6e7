/** The HTTP server: takes each request from its head through route, key, limits and body to its handler. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import { createAuthentication } from './authentication.ts';
import { announcedLength, hasBody, noRoom, readBytes } from './body.ts';
import type { BodyReservation } from './body-budget.ts';
import { createClientErrorAnswer, lastRequestOf } from './client-errors.ts';
import { HTTP_OPTIONS, limitConnections } from './connection-limits.ts';
import { connectionEnder } from './connections.ts';
import type { AppOptions, RequestContext } from './context.ts';
import { causeOf, errorAnswer } from './errors.ts';
import { observe } from './observation.ts';
import { createOperatorCheck } from './operator-access.ts';
import { checkHead } from './request-head.ts';
import { createRequestHold } from './request-hold.ts';
import { type FoundRoute, type MissedRoute, nothingAt, type Route, type RouteTable } from './route-table.ts';
import { createRoutes } from './routes/index.ts';

/** A request with its route, from its head to its end. */
interface RoutedRequest {
  context: RequestContext;
  found: FoundRoute<RequestContext> | MissedRoute;
}

declare module 'fastify' {
  interface FastifyRequest {
    routed?: RoutedRequest;
  }
}

/** Key of a socket for the context of its last request. */
const LAST = Symbol('last request');

type ClientSocket = Socket & { [LAST]?: RequestContext };

/** Milliseconds for a request to come in whole; a slower client holds a connection and memory for nothing. */
const REQUEST_TIMEOUT_MS = 5 * 60 * 1000;

export function createApp(options: AppOptions): FastifyInstance {
  const table = createRoutes(options);
  const app: FastifyInstance = Fastify({
    http: HTTP_OPTIONS,
    clientErrorHandler: createClientErrorAnswer({
      newRequestId,
      protocolOf: table.protocolOf,
      lastRequest(socket: ClientSocket) {
        const last = socket[LAST];
        return (
          last && lastRequestOf(last.reply, { path: last.path, refuse: (error) => refuse(last, error, options.log) })
        );
      },
    }),
    bodyLimit: options.bodyLimit,
    requestTimeout: REQUEST_TIMEOUT_MS,
    logger: false,
    exposeHeadRoutes: false,
    // The route table alone reads the URL; for the framework there is one route.
    rewriteUrl: () => '/',
    forceCloseConnections: 'idle',
  });
  const authenticate = createAuthentication(options);
  const checkOperator = createOperatorCheck({ ...options.operator, log: options.log });
  const endConnections = connectionEnder(app.server);
  limitConnections(app.server, { ...options, perAddress: options.connectionsPerAddress });
  app.addHook('preClose', async () => endConnections());
  app.decorateRequest('routed', undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const reservation = request.routed?.context.body ?? options.bodyBudget.open('', 0);
    if (!reservation) throw noRoom();
    return readBytes(payload, { headers: request.headers, limit: options.bodyLimit, reservation });
  });

  function routedOf(request: FastifyRequest, reply: FastifyReply): RoutedRequest {
    request.routed ??= routeRequest(request, reply, { ...options, table });
    (request.raw.socket as ClientSocket)[LAST] = request.routed.context;
    return request.routed;
  }

  /** Checks who may call the route. */
  async function authorize(context: RequestContext, route: Route<RequestContext>): Promise<void> {
    if (route.access === 'admin') checkOperator(route, context.request.headers);
    if (route.access === 'key') {
      context.key = await authenticate(context, { surface: route.surface, changes: route.changes });
      context.observation.key = context.key.id;
    }
  }

  /** Takes what the request holds until it ends, before its body is read. */
  async function admit(
    { request, common, hold, key }: RequestContext,
    route: Route<RequestContext>,
  ): Promise<BodyReservation | undefined> {
    if (!key) return undefined;
    if (route.operation) Object.assign(common, { 'x-polygate-attempts': '0' });
    if (route.limited) {
      Object.assign(common, options.accounts.rateLimitHeaders(key));
      hold.keep(await options.accounts.enter(key));
    }
    if (!hasBody(request.headers)) return undefined;
    const announced = announcedLength(request.headers);
    const body = options.bodyBudget.open(key.id, announced > options.bodyLimit ? 0 : announced);
    if (!body) throw noRoom();
    hold.keep(body.release);
    return body;
  }

  // The body of a stranger is never read.
  app.addHook('onRequest', async (request, reply) => {
    const { context, found } = routedOf(request, reply);
    try {
      checkHead(request.raw);
      if (!found.route) throw found.error;
      context.observation.route = found.name;
      await authorize(context, found.route);
      context.body = await admit(context, found.route);
    } catch (error) {
      return refuse(context, toGatewayError(error), options.log);
    }
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    request.routed?.context.hold.release();
    done(null, payload);
  });
  app.route({
    method: ['GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: '/',
    async handler(request, reply) {
      const { context, found } = routedOf(request, reply);
      try {
        if (!found.route) throw found.error;
        return await found.route.handle(context, found.match);
      } catch (error) {
        return refuse(context, toGatewayError(error), options.log);
      }
    },
  });
  app.setErrorHandler((error, request, reply) =>
    refuse(routedOf(request, reply).context, frameworkError(error), options.log),
  );
  app.setNotFoundHandler((request, reply) => {
    const { context } = routedOf(request, reply);
    return refuse(context, nothingAt(request.method, context.path), options.log);
  });
  return app;
}

function routeRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { table, watch, log }: Pick<AppOptions, 'watch' | 'log'> & { table: RouteTable<RequestContext> },
): RoutedRequest {
  const { path, query } = splitUrl(request.originalUrl);
  const found = table.find(request.method, path, query);
  const { protocol } = found;
  const requestId = newRequestId();
  const common = { [protocol.requestIdHeader]: requestId, 'x-polygate-request-id': requestId };
  const observation = observe({ request, reply, requestId, protocol }, { watch, log });
  const hold = createRequestHold(reply.raw);
  return { context: { requestId, protocol, path, query, request, reply, common, observation, hold }, found };
}

function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}

function refuse(context: RequestContext, error: GatewayError, log: Logger): FastifyReply {
  const { requestId, protocol, reply, common, observation } = context;
  observation.error = error.code;
  if (error.code === 'internal_error') log.error({ requestId, cause: causeOf(error) }, 'internal error');
  const { status, headers, body } = errorAnswer(error, protocol, requestId);
  return reply
    .code(status)
    .headers({ ...common, ...headers })
    .send(body);
}

function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const mark = url.indexOf('?');
  if (mark < 0) return { path: url, query: new URLSearchParams() };
  return { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}

function frameworkError(error: unknown): GatewayError {
  const { code } = error as { code?: string };
  if (code?.startsWith('FST_ERR_CTP'))
    return new GatewayError('invalid_request', 'The body could not be read in full.', { cause: error });
  return toGatewayError(error);
}
