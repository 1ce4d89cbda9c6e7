/** Request context: a request and its state for handlers, and the functions that respond where no upstream does. */

import type { Logger } from 'pino';
import { GatewayError } from '../core/errors.ts';
import type { Protocol } from '../core/protocol.ts';
import { newRequestId } from '../core/request-id.ts';
import type { ServerRequest } from '../http1/server-request.ts';
import type { ServerResponse } from '../http1/server-response.ts';
import type { Capture } from '../inference/capture/capture.ts';
import type { Reply } from '../inference/response/reply.ts';
import type { Key } from '../keys/store.ts';
import { captureWhole, createCapturedReply } from './captured-reply.ts';
import { causeOf, errorResponse } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { type HttpResponse, writeResponse } from './http-response.ts';
import { type Observation, type ObservationOptions, observe } from './observation.ts';
import { createReply } from './reply.ts';
import { createRequestHold, type RequestHold } from './request-hold.ts';
import { ResponseHeaders } from './response-headers.ts';
import type { BrowserSession } from './sessions/sessions.ts';

/** Query of a request, and the protocol of its route. */
export interface RequestTarget {
  query: URLSearchParams;
  protocol: Protocol;
}

export const NO_BODY = Buffer.alloc(0);

/** Context common to all servers. */
export class HttpContext {
  readonly requestId: string = newRequestId();
  readonly request: ServerRequest;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  /** Protocol of the credentials and of error responses. */
  readonly protocol: Protocol;
  readonly headers: ResponseHeaders;
  readonly hold: RequestHold;
  readonly log: Logger;
  /** The body of the request; empty where it has none. */
  body: Buffer = NO_BODY;
  /** Session of the dashboard, where that is the credential of the request. */
  session?: BrowserSession;
  /** Capture of the request; absent unless a session asks for it. */
  capture?: Capture | undefined;

  constructor(
    request: ServerRequest,
    response: ServerResponse,
    { query, protocol, log }: RequestTarget & { log: Logger },
  ) {
    this.request = request;
    this.response = response;
    this.query = query;
    this.protocol = protocol;
    this.log = log;
    this.headers = new ResponseHeaders(this.requestId, protocol.requestIdHeader);
    this.hold = createRequestHold(response);
  }

  send({ status = 200, headers, body }: HttpResponse): void {
    this.hold.release();
    const whole = { status, headers: this.headers.with(headers), body };
    if (this.capture) captureWhole(whole, this.capture);
    writeResponse(this.response, whole, (error) => this.refuse(error));
  }

  /** Sends an error in the format of the protocol; ends the connection where a response has begun. */
  refuse(error: GatewayError): void {
    if (error.code === 'internal_error') {
      this.log.error({ requestId: this.requestId, cause: causeOf(error) }, 'internal error');
    }
    if (this.response.headersSent) this.response.destroy();
    else this.send(errorResponse(error, this.protocol, this.requestId));
  }
}

/** Context of a request on the gateway's server. */
export class RequestContext extends HttpContext implements Exchange {
  readonly observation: Observation;
  /** Authenticated key; absent on routes without one. */
  key?: Key;

  constructor(
    request: ServerRequest,
    response: ServerResponse,
    options: RequestTarget & ObservationOptions & { log: Logger },
  ) {
    super(request, response, options);
    const { requestId, protocol } = this;
    this.observation = observe({ request, response, requestId, protocol: protocol.id }, options);
  }

  /** Whether the client has disconnected, or the response was aborted. */
  get isGone(): boolean {
    return this.response.destroyed;
  }

  createReply(): Reply {
    const { response, headers, capture } = this;
    return capture ? createCapturedReply(response, headers, capture) : createReply(response, headers);
  }

  override refuse(error: GatewayError): void {
    this.observation.error = error.code;
    super.refuse(error);
  }
}

/** Throws `invalid_api_key`. */
export function keyOf({ key }: Pick<RequestContext, 'key'>): Key {
  if (!key) throw new GatewayError('invalid_api_key', 'An API key is required.');
  return key;
}

const NO_QUERY = new URLSearchParams();

/** Splits the target of a request at its first question mark. */
export function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const mark = url.indexOf('?');
  if (mark < 0) return { path: url, query: NO_QUERY };
  return { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}
