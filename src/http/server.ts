/** HTTP server: takes each request from its head through the checks of its server and its body to its handler. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from '../core/clock.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import { createServer as createNodeServer } from '../core/node-http.ts';
import type { Protocol } from '../core/protocol.ts';
import { newRequestId } from '../core/request-id.ts';
import { announcedLength, hasBody, noRoom, readBytes } from './body.ts';
import type { BodyBudget, BodyReservation } from './body-budget.ts';
import { createClientErrorResponder, lastRequestOf } from './client-errors.ts';
import { HTTP_OPTIONS } from './connection-limits.ts';
import { connectionEnder, lingerAfterResponse } from './connections.ts';
import type { HttpContext } from './request-context.ts';
import { checkHead } from './request-head.ts';
import { openUpgrade } from './websocket/upgrade.ts';

export interface ServerOptions<Context extends HttpContext> {
  /** Milliseconds for a request to come in whole; a slower client holds a connection and memory for nothing. */
  requestTimeoutMs: number;
  /** Largest body in bytes of a request. */
  bodyLimit(context: Context): number;
  bodyBudget: BodyBudget;
  clock?: Clock;
  /** Whether responses close their connections, so that clients come back elsewhere. */
  isDraining?: (() => boolean) | undefined;
  /** In whose shape errors are written about malformed requests. */
  protocolOf(path: string): Protocol;
  createContext(request: IncomingMessage, response: ServerResponse): Context;
  /**
   * Decides by the head alone whether a request is handled. Returns the owner of its body in the budget of bodies; without
   * one, room is taken as the body arrives. Throws the refusal.
   */
  admit(context: Context): Promise<string | undefined> | string | undefined;
  handle(context: Context): unknown;
  /** Whether an upgrade request may be accepted; others are answered as if they asked for none. */
  mayUpgrade?(request: IncomingMessage): boolean;
  /** Called when the server closes. It waits for connections that were upgraded. */
  onClosing?(): void;
}

export interface ListenAddress {
  host: string;
  port: number;
}

export interface HttpServer {
  /** The server of Node, for limits on its connections. */
  readonly server: Server;
  /** Resolves with the address, whose port the system chose for port 0. Rejects with the error of the system, e.g. `EADDRINUSE`. */
  listen(address: ListenAddress): Promise<ListenAddress>;
  /** Refuses new requests, and resolves when the running ones have ended. */
  close(): Promise<void>;
}

/** Idle timeout of a client's connection between two requests: longer than the pools of common clients keep one. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** Key of a socket for the context of its last request. */
const LAST_CONTEXT = Symbol('last request');

type ClientSocket = Socket & { [LAST_CONTEXT]?: HttpContext };

export function createServer<Context extends HttpContext>(options: ServerOptions<Context>): HttpServer {
  const { requestTimeoutMs, bodyLimit, bodyBudget, clock, protocolOf, createContext, admit, handle } = options;
  const { mayUpgrade = () => false, isDraining = () => false, onClosing } = options;
  const server = createNodeServer({
    ...HTTP_OPTIONS,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    shouldUpgradeCallback: mayUpgrade,
  });
  const endConnections = connectionEnder(server, (socket: ClientSocket) => socket[LAST_CONTEXT]?.response);
  let closing = false;

  server.on(
    'clientError',
    createClientErrorResponder({
      newRequestId,
      protocolOf,
      lastRequest(socket: ClientSocket) {
        const last = socket[LAST_CONTEXT];
        return last && lastRequestOf(last);
      },
    }),
  );
  server.on('request', (request, response) => {
    // Behind the last response of its connection.
    if (request.socket.writableEnded) return;
    const context = createContext(request, response);
    (request.socket as ClientSocket)[LAST_CONTEXT] = context;
    start(context);
  });
  server.on('upgrade', (request, socket: Socket, head) => {
    const { response, upgrade } = openUpgrade(request, socket, head);
    const context = Object.assign(createContext(request, response), { upgrade });
    (socket as ClientSocket)[LAST_CONTEXT] = context;
    start(context);
  });

  function start(context: Context): void {
    serve(context).catch((error) => {
      if (!context.request.complete) lingerAfterResponse(context.request.socket, clock);
      context.refuse(toGatewayError(error));
    });
  }

  async function serve(context: Context): Promise<void> {
    if (closing) throw stopping(context);
    if (isDraining() && !context.upgrade) context.response.setHeader('connection', 'close');
    checkHead(context.request);
    const admitted = admit(context);
    const owner = admitted instanceof Promise ? await admitted : admitted;
    const { request } = context;
    if (hasBody(request.headers) && !context.upgrade) {
      const reservation = reserveBody(context, owner);
      const { response } = context;
      const options = { headers: request.headers, limit: bodyLimit(context), reservation, response, clock };
      context.body = await readBytes(request, options);
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
    server,
    listen: ({ host, port }) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen({ host, port }, () => {
          server.off('error', reject);
          const bound = server.address() as AddressInfo;
          resolve({ host: bound.address, port: bound.port });
        });
      }),
    close() {
      closing = true;
      if (!server.listening) return Promise.resolve();
      onClosing?.();
      endConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function stopping({ response }: HttpContext): GatewayError {
  response.setHeader('connection', 'close');
  return new GatewayError('unavailable', 'The gateway is stopping; try again.');
}
