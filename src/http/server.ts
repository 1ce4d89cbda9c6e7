/** HTTP server: takes each request from its head through the checks of its server and its body to its handler. */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { Protocol } from '../core/protocol.ts';
import { newRequestId } from '../core/request-id.ts';
import { announcedLength, hasBody, noRoom, readBytes } from './body.ts';
import type { BodyBudget, BodyReservation } from './body-budget.ts';
import { createClientErrorAnswer, lastRequestOf } from './client-errors.ts';
import { HTTP_OPTIONS } from './connection-limits.ts';
import type { HttpContext } from './request-context.ts';
import { checkHead } from './request-head.ts';
import { nothingAt } from './route-table.ts';

export interface ServerOptions<Context extends HttpContext> {
  /** Milliseconds for a request to come in whole; a slower client holds a connection and memory for nothing. */
  requestTimeoutMs: number;
  /** Largest body in bytes. */
  bodyLimit: number;
  bodyBudget: BodyBudget;
  /** In whose shape errors are written about what is no request at all. */
  protocolOf(path: string): Protocol;
  createContext(request: FastifyRequest, reply: FastifyReply): Context;
  /**
   * Decides by the head alone whether a request is handled. Returns the owner of its body in the budget of bodies; without
   * one, room is taken as the body arrives. Throws what the client is refused with.
   */
  admit(context: Context): Promise<string | undefined>;
  handle(context: Context): unknown;
}

declare module 'fastify' {
  interface FastifyRequest {
    context?: HttpContext;
  }
}

/** Key of a socket for the context of its last request. */
const LAST = Symbol('last request');

type ClientSocket = Socket & { [LAST]?: HttpContext };

/** The URL is read by the server's route table; for the framework there is one route. */
const FRAMEWORK_PATH = '/';
const METHODS = ['GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export function createServer<Context extends HttpContext>({
  requestTimeoutMs,
  bodyLimit,
  bodyBudget,
  protocolOf,
  createContext,
  admit,
  handle,
}: ServerOptions<Context>): FastifyInstance {
  const app: FastifyInstance = Fastify({
    http: HTTP_OPTIONS,
    clientErrorHandler: createClientErrorAnswer({
      newRequestId,
      protocolOf,
      lastRequest(socket: ClientSocket) {
        const last = socket[LAST];
        return last && lastRequestOf(last.reply, last);
      },
    }),
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    logger: false,
    exposeHeadRoutes: false,
    rewriteUrl: () => FRAMEWORK_PATH,
    forceCloseConnections: 'idle',
  });
  app.decorateRequest('context', undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const reservation = request.context?.body ?? bodyBudget.open('', 0);
    if (!reservation) throw noRoom();
    return readBytes(payload, { headers: request.headers, limit: bodyLimit, reservation });
  });

  function contextOf(request: FastifyRequest, reply: FastifyReply): Context {
    request.context ??= createContext(request, reply);
    (request.raw.socket as ClientSocket)[LAST] = request.context;
    return request.context as Context;
  }

  /** Reserves room for the body until the request ends. */
  function reserveBody({ request, hold }: HttpContext, owner: string): BodyReservation | undefined {
    if (!hasBody(request.headers)) return undefined;
    const announced = announcedLength(request.headers);
    const body = bodyBudget.open(owner, announced > bodyLimit ? 0 : announced);
    if (!body) throw noRoom();
    hold.keep(body.release);
    return body;
  }

  // The body of a stranger is never read.
  app.addHook('onRequest', async (request, reply) => {
    const context = contextOf(request, reply);
    try {
      checkHead(request.raw);
      const owner = await admit(context);
      if (owner !== undefined) context.body = reserveBody(context, owner);
    } catch (error) {
      return context.refuse(toGatewayError(error));
    }
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    request.context?.hold.release();
    done(null, payload);
  });
  app.route({
    method: METHODS,
    url: FRAMEWORK_PATH,
    async handler(request, reply) {
      const context = contextOf(request, reply);
      try {
        return await handle(context);
      } catch (error) {
        return context.refuse(toGatewayError(error));
      }
    },
  });
  app.setErrorHandler((error, request, reply) => contextOf(request, reply).refuse(bodyError(error)));
  // For methods that the framework does not know; no route has one.
  app.setNotFoundHandler((request, reply) => {
    const context = contextOf(request, reply);
    return context.refuse(nothingAt(request.method, context.path));
  });
  return app;
}

function bodyError(error: unknown): GatewayError {
  const { code } = error as { code?: string };
  if (code?.startsWith('FST_ERR'))
    return new GatewayError('invalid_request', 'The body could not be read in full.', { cause: error });
  return toGatewayError(error);
}
