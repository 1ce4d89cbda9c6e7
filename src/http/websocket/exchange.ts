/** Exchange over a WebSocket: one message of the client and the messages back. */

import type { Logger } from 'pino';
import type { GatewayError } from '../../core/errors.ts';
import type { Protocol } from '../../core/protocol.ts';
import { newRequestId } from '../../core/request-id.ts';
import type { Reply } from '../../inference/response/reply.ts';
import type { Key } from '../../keys/store.ts';
import { causeOf, errorResponse } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpResponse } from '../http-response.ts';
import { type Observation, type ObservationOptions, observe } from '../observation.ts';
import { NO_BODY } from '../request-context.ts';
import { createRequestHold, type RequestHold } from '../request-hold.ts';
import { ResponseHeaders } from '../response-headers.ts';
import type { SocketReply } from './reply.ts';

export interface SocketExchangeOptions extends ObservationOptions {
  protocol: Protocol;
  request: Exchange['request'];
  reply: SocketReply;
  log: Logger;
}

export class SocketExchange implements Exchange {
  readonly requestId = newRequestId();
  readonly protocol: Protocol;
  readonly request: Exchange['request'];
  readonly headers: ResponseHeaders;
  readonly hold: RequestHold;
  readonly observation: Observation;
  key?: Key;
  body: Buffer = NO_BODY;
  readonly #reply: SocketReply;
  readonly #log: Logger;

  constructor({ protocol, request, reply, observer, log, clock }: SocketExchangeOptions) {
    const { requestId } = this;
    this.protocol = protocol;
    this.request = request;
    this.headers = new ResponseHeaders(requestId, protocol.requestIdHeader);
    this.hold = createRequestHold(reply);
    this.observation = observe(
      { request, response: reply, requestId, protocol: protocol.id },
      { observer, log, clock },
    );
    this.#reply = reply;
    reply.common = this.headers;
    this.#log = log;
  }

  get isGone(): boolean {
    return this.#reply.destroyed;
  }

  createReply(): Reply {
    return this.#reply;
  }

  send({ status = 200, headers, body }: HttpResponse): void {
    this.hold.release();
    this.#reply.head(status, { ...headers });
    this.#reply.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
  }

  /** Sends an error, also where events were sent before. */
  refuse(error: GatewayError): void {
    this.observation.error = error.code;
    if (error.code === 'internal_error') {
      this.#log.error({ requestId: this.requestId, cause: causeOf(error) }, 'internal error');
    }
    this.send(errorResponse(error, this.protocol, this.requestId));
  }
}
