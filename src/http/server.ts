/** HTTP server: takes each request from its head through the checks of its server and its body to its handler. */

import type { Server } from 'node:net';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { Protocol } from '../core/protocol.ts';
import { newRequestId } from '../core/request-id.ts';
import { ConnectionServer, type ListenAddress } from '../http1/connection-server.ts';
import type { ServerRequest } from '../http1/server-request.ts';
import type { ServerResponse } from '../http1/server-response.ts';
import { announcedLength, noRoom, readBytes } from './body.ts';
import type { BodyBudget, BodyReservation } from './body-budget.ts';
import { causeOf, errorResponse } from './errors.ts';
import { writeResponse } from './http-response.ts';
import type { HttpContext } from './request-context.ts';
import { checkHead } from './request-head.ts';
import { ResponseHeaders } from './response-headers.ts';

export interface ServerOptions<Context extends HttpContext> {
  /** Milliseconds for a request to come in whole; a slower client holds a connection and memory for nothing. */
  requestTimeoutMs: number;
  /** Largest body in bytes of a request. */
  bodyLimit(context: Context): number;
  bodyBudget: BodyBudget;
  log: Pick<Logger, 'error'>;
  /** Clock of the timeouts of bodies; connections use the clock of the machine. */
  clock?: Clock;
  /** Whether responses close their connections, so that clients come back elsewhere. */
  isDraining?: (() => boolean) | undefined;
  /** Protocol whose error shape answers malformed requests. */
  protocolOf(path: string): Protocol;
  createContext(request: ServerRequest, response: ServerResponse): Context;
  /**
   * Decides by the head alone whether a request is handled. Returns the owner of its body in the budget of bodies; without
   * one, room is taken as the body arrives. Throws the refusal.
   */
  admit(context: Context): Promise<string | undefined> | string | undefined;
  handle(context: Context): unknown;
  /** Whether an upgrade request may be accepted; others are answered as if they asked for none. */
  mayUpgrade?(request: ServerRequest): boolean;
  /** Called when the server closes. It waits for connections that were upgraded. */
  onClosing?(): void;
}

export interface HttpServer {
  /** The server of Node, for limits on its connections. */
  readonly server: Server;
  /** Resolves with the address, whose port the system chose for port 0. Rejects with the error of the system, e.g. `EADDRINUSE`. */
  listen(address: ListenAddress): Promise<ListenAddress>;
  /** Refuses new requests, and resolves when the running ones have ended. */
  close(): Promise<void>;
}

export function createServer<Context extends HttpContext>(options: ServerOptions<Context>): HttpServer {
  const { requestTimeoutMs, bodyLimit, bodyBudget, log, clock, protocolOf, createContext, admit, handle } = options;
  const { mayUpgrade = () => false, isDraining = () => false, onClosing } = options;
  const connections = new ConnectionServer({
    requestTimeoutMs,
    handler: {
      mayUpgrade,
      handle(request, response) {
        let context: Context;
        try {
          context = createContext(request, response);
        } catch (error) {
          refuse(toGatewayError(error), request.url, response);
          return;
        }
        serve(context).catch((error) => context.refuse(toGatewayError(error)));
      },
      refuse,
    },
  });
  let closing = false;

  /** Responds where there is no context. */
  function refuse(error: GatewayError, path = '/', response: ServerResponse): void {
    const protocol = protocolOf(path);
    const requestId = newRequestId();
    if (error.code === 'internal_error') log.error({ requestId, cause: causeOf(error) }, 'internal error');
    const { headers, ...rest } = errorResponse(error, protocol, requestId);
    const all = new ResponseHeaders(requestId, protocol.requestIdHeader).with(headers);
    writeResponse(response, { ...rest, headers: all }, () => response.destroy());
  }

  async function serve(context: Context): Promise<void> {
    const { request, response } = context;
    if (closing) throw stopping(context);
    if (isDraining() && !request.upgrade) response.closeAfterwards();
    checkHead(request);
    const admitted = admit(context);
    const owner = admitted instanceof Promise ? await admitted : admitted;
    if (request.hasBody && !request.upgrade) {
      const reservation = reserveBody(context, owner);
      context.body = await readBytes(request, { limit: bodyLimit(context), reservation, clock });
    }
    await handle(context);
  }

  /** Reserves room for the body until the request ends. */
  function reserveBody(context: Context, owner: string | undefined): BodyReservation {
    const { request, hold } = context;
    const announced = owner === undefined ? 0 : announcedLength(request.headers);
    const reservation = bodyBudget.open(owner ?? '', announced > bodyLimit(context) ? 0 : announced);
    if (!reservation) throw noRoom();
    hold.keep(reservation.release);
    return reservation;
  }

  return {
    server: connections.net,
    listen: (address) => connections.listen(address),
    close() {
      closing = true;
      onClosing?.();
      return connections.close();
    },
  };
}

function stopping({ response }: HttpContext): GatewayError {
  response.closeAfterwards();
  return new GatewayError('unavailable', 'The gateway is stopping; try again.');
}
