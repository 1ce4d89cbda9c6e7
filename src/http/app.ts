/** The HTTP server: one handler that finds the protocol, the key and what is asked for, and answers in the protocol's own words. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { Operation, RouteMatch } from '../core/operation.ts';
import type { CatalogQuery, Protocol } from '../core/protocol.ts';
import type { Key } from '../keys/store.ts';
import { type AccountRoute, accountRoute } from './account-routes.ts';
import { createAuthentication } from './authentication.ts';
import { announcedLength, hasBody, noRoom, readBytes } from './body.ts';
import { answerCatalog } from './catalog.ts';
import { createClientErrorAnswer, lastRequestOf } from './client-errors.ts';
import { HTTP_OPTIONS, limitConnections } from './connection-limits.ts';
import { connectionEnder } from './connections.ts';
import type { AppOptions, RequestContext } from './context.ts';
import { causeOf, errorAnswer } from './errors.ts';
import { answerInference } from './inference.ts';
import { observe } from './observation.ts';
import { createRouter, nothingAt, protocolOfPath } from './paths.ts';
import { checkHead } from './request-head.ts';
import { createRequestHold } from './request-hold.ts';
import { createPages, pageOf } from './system-routes.ts';
import { changes, isPublic, type VideoRoute, videoRoute } from './video-routes.ts';
import { createVideoAnswers } from './videos.ts';

/** What the head of a request asks for, and by whose leave. Models are used with a key and listed without. */
type Admission = { exchange: RequestContext } & (
  | { area: 'inference'; operation: Operation; match: RouteMatch; key: Key }
  | { area: 'catalog'; query: CatalogQuery }
  | { area: 'videos'; route: VideoRoute; key: Key | undefined }
  | { area: 'own'; route: AccountRoute; key: Key }
);

/** Milliseconds for a request to come in whole; a slower client holds a connection and memory for nothing. */
const REQUEST_TIMEOUT = 5 * 60 * 1000;

export function createApp(options: AppOptions): FastifyInstance {
  const exchanges = new WeakMap<FastifyRequest, RequestContext>();
  const lastExchanges = new WeakMap<Socket, RequestContext>();
  const app: FastifyInstance = Fastify({
    http: HTTP_OPTIONS,
    clientErrorHandler: createClientErrorAnswer({
      newRequestId,
      protocolOf: (path) => protocolOfPath(path, options.protocols, options.prefixes),
      lastRequest: (socket) => {
        const last = lastExchanges.get(socket);
        return (
          last && lastRequestOf(last.reply, { path: last.path, refuse: (error) => refuse(last, error, options.log) })
        );
      },
    }),
    bodyLimit: options.bodyLimit,
    requestTimeout: REQUEST_TIMEOUT,
    logger: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 4096 },
    // The URL is split by our own router; a malformed one is an unknown path, not a framework's error.
    rewriteUrl: () => '/',
    forceCloseConnections: 'idle',
  });
  const route = createRouter(options.protocols, options.prefixes);
  const authenticate = createAuthentication(options);
  const answerVideos = createVideoAnswers(options.videos, options.accounts);
  const pages = createPages(options);
  const admissions = new WeakMap<FastifyRequest, Admission>();
  const endConnections = connectionEnder(app.server);
  limitConnections(app.server, { ...options, perAddress: options.connectionsPerAddress });
  app.addHook('preClose', async () => endConnections());
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const reservation = exchanges.get(request)?.body ?? options.bodyBudget.open('', 0);
    if (!reservation) throw noRoom();
    return readBytes(payload, { headers: request.headers, limit: options.bodyLimit, reservation });
  });

  function exchangeFor(request: FastifyRequest, reply: FastifyReply): RequestContext {
    const exchange = exchanges.get(request) ?? exchangeOf(request, reply, options);
    exchanges.set(request, exchange);
    lastExchanges.set(request.raw.socket, exchange);
    return exchange;
  }

  async function admit(exchange: RequestContext): Promise<Admission> {
    const { request, path, query, observation } = exchange;
    const video = videoRoute(request.method, path);
    if (video) {
      observation.route = `videos.${video.action}`;
      const access = { surface: 'videos', changes: changes(video) };
      const key = isPublic(video) ? undefined : await authenticate(exchange, access);
      observation.key = key?.id;
      return { exchange, area: 'videos', route: video, key };
    }
    const own = accountRoute(request.method, path);
    if (own) {
      observation.route = own.name;
      const key = await authenticate(exchange, { changes: false });
      observation.key = key.id;
      return { exchange, area: 'own', route: own, key };
    }
    // Node leaves out the body of an answer to HEAD.
    const found = route(request.method === 'HEAD' ? 'GET' : request.method, path, query);
    speak(exchange, found.protocol);
    if (found.type === 'catalog') {
      observation.route = `catalog.${found.query.type}`;
      return { exchange, area: 'catalog', query: found.query };
    }
    const { operation, match } = found;
    observation.route = `inference.${operation.name}`;
    const key = await authenticate(exchange, { surface: exchange.protocol.id, changes: true });
    observation.key = key.id;
    return { exchange, area: 'inference', operation, match, key };
  }

  /** Takes what the request holds until it ends, before its body is read. */
  async function enter(admission: Admission): Promise<void> {
    if (!('key' in admission) || !admission.key) return;
    const { exchange, key } = admission;
    const { request, common, hold } = exchange;
    if (admission.area === 'inference') Object.assign(common, { 'x-polygate-attempts': '0' });
    if (admission.area === 'inference' || (admission.area === 'videos' && admission.route.action === 'create')) {
      Object.assign(common, options.accounts.rateLimitHeaders(key));
      hold.keep(await options.accounts.enter(key));
    }
    if (!hasBody(request.headers)) return;
    const announced = announcedLength(request.headers);
    const body = options.bodyBudget.open(key.id, announced > options.bodyLimit ? 0 : announced);
    if (!body) throw noRoom();
    exchange.body = body;
    hold.keep(body.release);
  }

  async function answer(admission: Admission): Promise<unknown> {
    const { exchange } = admission;
    switch (admission.area) {
      case 'inference':
        return await answerInference(exchange, admission, options);
      case 'catalog':
        return answerCatalog(exchange, admission.query, options.models().catalog());
      case 'videos':
        return await answerVideos(exchange, admission.route, admission.key);
      case 'own': {
        const { key, route } = admission;
        const body = await route.answer(key, exchange.query, { store: options.store, now: options.videos.now });
        return exchange.reply.headers(exchange.common).send(body);
      }
    }
  }

  async function handle(request: FastifyRequest): Promise<unknown> {
    const admission = admissions.get(request) as Admission;
    try {
      return await answer(admission);
    } catch (error) {
      return refuse(admission.exchange, toGatewayError(error), options.log);
    }
  }

  // The body of a stranger is never read.
  app.addHook('onRequest', async (request, reply) => {
    const exchange = exchangeFor(request, reply);
    try {
      checkHead(request.raw);
      const page = pageOf(pages, exchange);
      if (page) {
        exchange.observation.route = page.route;
        return await page.answer(exchange);
      }
      const admission = await admit(exchange);
      await enter(admission);
      admissions.set(request, admission);
    } catch (error) {
      return refuse(exchange, toGatewayError(error), options.log);
    }
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    exchanges.get(request)?.hold.release();
    done(null, payload);
  });
  app.route({ method: ['GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], url: '/', handler: handle });
  app.setErrorHandler((error, request, reply) =>
    refuse(exchangeFor(request, reply), frameworkError(error), options.log),
  );
  app.setNotFoundHandler((request, reply) => {
    const exchange = exchangeFor(request, reply);
    return refuse(exchange, nothingAt(request.method, exchange.path), options.log);
  });
  return app;
}

function exchangeOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { protocols, prefixes, watch, log }: Pick<AppOptions, 'protocols' | 'prefixes' | 'watch' | 'log'>,
): RequestContext {
  const { path, query } = splitUrl(request.originalUrl);
  const requestId = newRequestId();
  const protocol = protocolOfPath(path, protocols, prefixes);
  const common = { [protocol.requestIdHeader]: requestId, 'x-polygate-request-id': requestId };
  const observation = observe({ request, reply, requestId, protocol }, { watch, log });
  const hold = createRequestHold(reply.raw);
  return { requestId, protocol, path, query, request, reply, common, observation, hold };
}

function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}

function refuse(exchange: RequestContext, error: GatewayError, log: Logger): FastifyReply {
  const { requestId, protocol, reply, common, observation } = exchange;
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

/** The protocol that the route belongs to, where the path alone suggested another. */
function speak(exchange: RequestContext, protocol: Protocol): void {
  if (exchange.protocol === protocol) return;
  delete exchange.common[exchange.protocol.requestIdHeader];
  exchange.protocol = protocol;
  exchange.common[protocol.requestIdHeader] = exchange.requestId;
  exchange.observation.protocol = protocol.id;
}
