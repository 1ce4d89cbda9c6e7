/** The HTTP server: one handler that finds the protocol, the key and the model, and answers in the protocol's own words. */

import { randomUUID } from 'node:crypto';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { Prefixes, Protocol } from '../core/protocol.ts';
import type { Models } from '../inference/models.ts';
import type { RelayOptions } from '../inference/relay.ts';
import type { KeyStore } from '../keys/store.ts';
import { answerCatalog } from './catalog.ts';
import { connectionEnder } from './connections.ts';
import { errorAnswer } from './errors.ts';
import { answerInference } from './inference.ts';
import { createRouter, protocolOfPath } from './paths.ts';

export interface AppOptions {
  protocols: readonly Protocol[];
  prefixes: Prefixes;
  /** Largest request body in bytes. */
  bodyLimit: number;
  keys: Pick<KeyStore, 'authenticate'>;
  models(): Models;
  relay(): RelayOptions;
  log: Logger;
}

/** One request as the handlers see it. */
export interface Exchange {
  requestId: string;
  protocol: Protocol;
  path: string;
  query: URLSearchParams;
  request: FastifyRequest;
  reply: FastifyReply;
  /** Headers of every answer. */
  common: Record<string, string>;
}

export function createApp(options: AppOptions): FastifyInstance {
  const app = Fastify({
    bodyLimit: options.bodyLimit,
    logger: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 4096 },
    // The URL is split by our own router; a malformed one is an unknown path, not a framework's error.
    rewriteUrl: () => '/',
    forceCloseConnections: 'idle',
  });
  const route = createRouter(options.protocols, options.prefixes);
  const endConnections = connectionEnder(app.server);
  app.addHook('preClose', async () => endConnections());
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  function exchangeOf(request: FastifyRequest, reply: FastifyReply): Exchange {
    const { path, query } = splitUrl(request.originalUrl);
    const requestId = `req_${randomUUID().replaceAll('-', '')}`;
    const protocol = protocolOfPath(path, options.protocols, options.prefixes);
    const common = { [protocol.requestIdHeader]: requestId, 'x-polygate-request-id': requestId };
    return { requestId, protocol, path, query, request, reply, common };
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const exchange = exchangeOf(request, reply);
    if (exchange.path === '/healthz' && request.method === 'GET') return reply.send({ status: 'ok' });
    try {
      // Node leaves out the body of an answer to HEAD.
      const method = request.method === 'HEAD' ? 'GET' : request.method;
      const { action } = route(method, exchange.path, exchange.query);
      if (action.type === 'generate' || action.type === 'count')
        return await answerInference(exchange, action, options);
      return answerCatalog(exchange, action, options.models().catalog());
    } catch (error) {
      return refuse(exchange, toGatewayError(error));
    }
  }

  function refuse(exchange: Exchange, error: GatewayError): FastifyReply {
    if (error.code === 'internal_error')
      options.log.error({ requestId: exchange.requestId, error: error.cause }, 'internal error');
    const { status, headers, body } = errorAnswer(error, exchange.protocol, exchange.requestId);
    return exchange.reply
      .code(status)
      .headers({ ...exchange.common, ...headers })
      .send(body);
  }

  app.route({ method: ['GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], url: '/', handler: handle });
  app.setErrorHandler((error, request, reply) =>
    refuse(exchangeOf(request, reply), frameworkError(error, options.bodyLimit)),
  );
  app.setNotFoundHandler((request, reply) => {
    const exchange = exchangeOf(request, reply);
    return refuse(exchange, new GatewayError('not_found', `There is nothing at ${request.method} ${exchange.path}.`));
  });
  return app;
}

function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const mark = url.indexOf('?');
  if (mark < 0) return { path: url, query: new URLSearchParams() };
  return { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}

function frameworkError(error: unknown, bodyLimit: number): GatewayError {
  const { code } = error as { code?: string };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new GatewayError('payload_too_large', `The body is larger than ${bodyLimit} bytes.`);
  }
  if (code?.startsWith('FST_ERR_CTP'))
    return new GatewayError('invalid_request', 'The body could not be read in full.', { cause: error });
  return toGatewayError(error);
}
