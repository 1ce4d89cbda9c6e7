/** Request context: a request and its state for handlers, and the functions that respond through the framework. */

import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import type { Protocol } from '../core/protocol.ts';
import { newRequestId } from '../core/request-id.ts';
import type { Key } from '../keys/store.ts';
import type { BodyReservation } from './body-budget.ts';
import { causeOf, errorAnswer } from './errors.ts';
import { type Observation, type ObservationOptions, observe } from './observation.ts';
import { createRequestHold, type RequestHold } from './request-hold.ts';
import { createResponseHeaders, type ResponseHeaders } from './response-headers.ts';

/** Context common to all servers. */
export interface HttpContext {
  requestId: string;
  /** Protocol of the credentials and of error responses. */
  protocol: Protocol;
  path: string;
  query: URLSearchParams;
  request: FastifyRequest;
  reply: FastifyReply;
  headers: ResponseHeaders;
  hold: RequestHold;
  /** Memory reserved for the body. */
  body?: BodyReservation;
  send(answer: HttpAnswer): FastifyReply;
  /** Sends an error in the format of the protocol. */
  refuse(error: GatewayError): FastifyReply;
}

/** Context of a request on the gateway's server. */
export interface RequestContext extends HttpContext {
  observation: Observation;
  /** Authenticated key; absent on routes without one. */
  key?: Key;
}

export interface HttpAnswer {
  /** 200 if absent. */
  status?: number;
  headers?: Record<string, string>;
  /** Sent as JSON unless it is bytes or a stream. */
  body?: Json | Buffer | Readable;
}

/** Request line as the route table reads it. */
export interface RequestTarget {
  path: string;
  query: URLSearchParams;
  protocol: Protocol;
}

export function createHttpContext(
  request: FastifyRequest,
  reply: FastifyReply,
  { path, query, protocol, log }: RequestTarget & { log: Logger },
): HttpContext {
  const requestId = newRequestId();
  const headers = createResponseHeaders(requestId, protocol.requestIdHeader);

  function send({ status = 200, headers: own, body }: HttpAnswer): FastifyReply {
    return reply.code(status).headers(headers.with(own)).send(body);
  }

  return {
    requestId,
    protocol,
    path,
    query,
    request,
    reply,
    headers,
    hold: createRequestHold(reply.raw),
    send,
    refuse(error) {
      if (error.code === 'internal_error') log.error({ requestId, cause: causeOf(error) }, 'internal error');
      return send(errorAnswer(error, protocol, requestId));
    },
  };
}

export function createRequestContext(
  request: FastifyRequest,
  reply: FastifyReply,
  { log, observer, ...target }: RequestTarget & ObservationOptions & { log: Logger },
): RequestContext {
  const context = createHttpContext(request, reply, { ...target, log });
  const { requestId, protocol } = context;
  const observation = observe({ request, response: reply.raw, requestId, protocol: protocol.id }, { observer, log });
  return {
    ...context,
    observation,
    refuse(error) {
      observation.error = error.code;
      return context.refuse(error);
    },
  };
}

/** Throws `invalid_api_key`. */
export function keyOf({ key }: Pick<RequestContext, 'key'>): Key {
  if (!key) throw new GatewayError('invalid_api_key', 'An API key is required.');
  return key;
}

export function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const mark = url.indexOf('?');
  if (mark < 0) return { path: url, query: new URLSearchParams() };
  return { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}
