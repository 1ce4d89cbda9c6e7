/** The admin API: a server of its own, on which nothing is answered without the admin token. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import { readBody } from '../../core/json/body.ts';
import { noRoom, readBytes } from '../body.ts';
import { createClientErrorAnswer, type LastRequest, lastRequestOf } from '../client-errors.ts';
import { HTTP_OPTIONS, limitConnections } from '../connection-limits.ts';
import { causeOf, errorAnswer } from '../errors.ts';
import { presentsToken, tokenRequired } from '../operator-access.ts';
import { createRate } from '../rate.ts';
import { checkHead } from '../request-head.ts';
import { keyRoutes } from './keys.ts';
import { recordRoutes } from './records.ts';
import type { AdminOptions, AdminRequest } from './route.ts';

const BODY_LIMIT = 256 * 1024;
/** Milliseconds for a request to come in whole. */
const REQUEST_TIMEOUT_MS = 60_000;
/** Connections at once; they leave the rest of the open files to clients. */
const MAX_CONNECTIONS = 32;
/** Wrong tokens that one address may present: so many at once, and as many a minute. */
const WRONG_TOKENS = 30;

export function createAdminApp(options: AdminOptions): FastifyInstance {
  const { token, protocol, log, bodyBudget } = options;
  const newRequestId = () => `req_${randomUUID().replaceAll('-', '')}`;
  const lastReplies = new WeakMap<Socket, FastifyReply>();
  const app: FastifyInstance = Fastify({
    http: HTTP_OPTIONS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    clientErrorHandler: createClientErrorAnswer({ newRequestId, protocolOf: () => protocol, lastRequest }),
    bodyLimit: BODY_LIMIT,
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    genReqId: newRequestId,
    // Hooks do not run before it.
    frameworkErrors: (_error, request, reply) => refuse(request, reply, refusalOf(request) ?? nothing(request)),
  });
  const wrongToken = createRate({ rate: WRONG_TOKENS / 60, burst: WRONG_TOKENS });
  limitConnections(app.server, { perAddress: MAX_CONNECTIONS, total: MAX_CONNECTIONS, log });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const reservation = bodyBudget.open('admin', 0);
    if (!reservation) throw noRoom();
    const body = readBytes(payload, { headers: request.headers, limit: BODY_LIMIT, reservation });
    return body.finally(reservation.release);
  });

  function refuse({ id }: FastifyRequest, reply: FastifyReply, error: GatewayError): FastifyReply {
    if (error.code === 'internal_error') log.error({ requestId: id, cause: causeOf(error) }, 'internal error');
    const { status, headers, body } = errorAnswer(error, protocol, id);
    return reply
      .code(status)
      .headers({ ...headers, 'x-polygate-request-id': id })
      .send(body);
  }

  function lastRequest(socket: Socket): LastRequest | undefined {
    const reply = lastReplies.get(socket);
    return reply && lastRequestOf(reply, { path: '/', refuse: (error) => refuse(reply.request, reply, error) });
  }

  // By the socket alone: no header says who somebody is but the token.
  function checkToken({ headers, socket, raw }: FastifyRequest): void {
    checkHead(raw);
    const isRight = presentsToken(headers, token);
    if (isRight) return;
    const wait = isRight === undefined ? 0 : wrongToken(socket.remoteAddress ?? '');
    if (wait > 0)
      throw new GatewayError('rate_limit_exceeded', 'Too many wrong tokens; wait a moment.', { retryAfter: wait });
    throw tokenRequired();
  }

  function refusalOf(request: FastifyRequest): GatewayError | undefined {
    try {
      checkToken(request);
      return undefined;
    } catch (error) {
      return toGatewayError(error);
    }
  }

  // Also before what is not found: a stranger does not learn which routes there are.
  app.addHook('onRequest', async (request, reply) => {
    lastReplies.set(request.raw.socket, reply);
    checkToken(request);
  });
  app.setErrorHandler((error, request, reply) => refuse(request, reply, readable(error)));
  app.setNotFoundHandler((request, reply) => refuse(request, reply, nothing(request)));
  for (const { method, path, answer, status = 200 } of [...keyRoutes(options), ...recordRoutes(options)]) {
    app.route({
      method,
      url: path,
      async handler(request, reply) {
        const result = await answer(await adminRequest(request));
        log.info({ requestId: request.id, method, path, status }, 'administered');
        return reply
          .code(status)
          .headers({ 'cache-control': 'no-store', 'x-polygate-request-id': request.id })
          .send(result);
      },
    });
  }
  return app;
}

async function adminRequest({ id, params, url, body }: FastifyRequest): Promise<AdminRequest> {
  const mark = url.indexOf('?');
  return {
    parameters: params as Record<string, string>,
    query: new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)),
    body: Buffer.isBuffer(body) && body.length > 0 ? await readBody(body) : {},
    author: { actor: 'admin', requestId: id },
  };
}

function nothing({ method, url }: FastifyRequest): GatewayError {
  return new GatewayError('not_found', `There is nothing at ${method} ${url.split('?')[0]}.`);
}

function readable(error: unknown): GatewayError {
  const { code } = error as { code?: string };
  if (code?.startsWith('FST_ERR'))
    return new GatewayError('invalid_request', 'The request could not be read.', { cause: error });
  return toGatewayError(error);
}
