/** WebSockets of clients: opened within limits, handled like requests over HTTP, and ended when the gateway stops. */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ServerOptions, WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import { readBody, writeBody } from '../../core/json/body.ts';
import { newRequestId } from '../../core/request-id.ts';
import type { SocketForm } from '../../core/socket.ts';
import type { AppOptions } from '../app-options.ts';
import type { Authenticate } from '../authentication.ts';
import { noRoom } from '../body.ts';
import { callOf, decideCall, handleCall } from '../inference.ts';
import { keyOf, type RequestContext } from '../request-context.ts';
import type { HandledMessage, SocketConnection } from './connection.ts';
import type { SocketExchange } from './exchange.ts';
import { checkHandshake } from './handshake.ts';
import { ConversationMemory } from './memory.ts';

export interface SocketConnections {
  /** Accepts an upgrade request. Rejects with the refusal. */
  open(context: RequestContext, form: SocketForm): Promise<void>;
  /** Ends all connections, each as soon as it has answered the request at hand. */
  close(): void;
}

/** Loaded with the first connection. */
interface LoadedParts {
  server: WebSocketServer;
  Connection: typeof SocketConnection;
  Exchange: typeof SocketExchange;
}

/** Time for the closing handshake. */
const CLOSE_TIMEOUT_MS = 2000;
/** A message of many fragments or tiny packets takes a multiple of its size. */
const MAX_FRAGMENTS = 8192;
const MAX_CHUNKS = 32_768;

const NO_BYTES = Buffer.alloc(0);

export function createSocketConnections(options: AppOptions, authenticate: Authenticate): SocketConnections {
  const { admission, bodyLimit, bodyBudget, clock = systemClock, log, observer } = options;
  const open = new Set<SocketConnection>();
  const memory = new ConversationMemory(options.websockets().memory);
  let parts: LoadedParts | undefined;
  let stopping: GatewayError | undefined;

  async function load(): Promise<LoadedParts> {
    const [{ WebSocketServer: Server }, { SocketConnection: Connection }, { SocketExchange: Exchange }] =
      await Promise.all([import('ws'), import('./connection.ts'), import('./exchange.ts')]);
    const settings: ServerOptions & { closeTimeout: number } = {
      noServer: true,
      clientTracking: false,
      // A small compressed message could become a large one.
      perMessageDeflate: false,
      maxPayload: bodyLimit,
      maxFragments: MAX_FRAGMENTS,
      maxBufferedChunks: MAX_CHUNKS,
      closeTimeout: CLOSE_TIMEOUT_MS,
      handleProtocols: () => false,
    };
    parts ??= { server: new Server(settings), Connection, Exchange };
    return parts;
  }

  async function accept(context: RequestContext, form: SocketForm): Promise<void> {
    const { enabled, perKey } = options.websockets();
    const { request, hold } = context;
    const { upgrade } = request;
    if (!enabled || !upgrade) throw upgradeRequired(enabled);
    checkHandshake(request);
    const key = keyOf(context);
    const place = await admission.connect(key, perKey);
    hold.keep(place);
    const loaded = parts ?? (await load());
    if (stopping) throw stopping;
    if (context.isGone) throw new GatewayError('client_closed', 'The client left.');
    const { socket, head } = upgrade.take();
    // It reads the method, the headers and the socket.
    loaded.server.handleUpgrade(request as unknown as IncomingMessage, socket, head, (ws: WebSocket) =>
      connect(context, form, { ws, socket, ...loaded }),
    );
  }

  function connect(
    context: RequestContext,
    form: SocketForm,
    { ws, socket, Connection, Exchange }: LoadedParts & { ws: WebSocket; socket: Socket },
  ): void {
    const { protocol, request } = context;
    const owner = keyOf(context).id;
    const remembered = memory.open(owner);
    const headers = form.requestHeaders(request.headers);
    const connection: SocketConnection = new Connection({
      ws,
      socket,
      owner,
      form,
      clock,
      memory: remembered,
      budget: bodyBudget,
      createExchange(reply) {
        const exchange = new Exchange({ protocol, request: { headers }, reply, observer, log, clock });
        exchange.observation.route = `inference.${protocol.operations.complete.name}`;
        return exchange;
      },
      async authenticate(exchange) {
        const key = await authenticate(context, { surface: protocol.id, changes: true });
        if (!exchange) return;
        exchange.key = key;
        exchange.observation.key = key.id;
      },
      handle: (handled) => handle(handled, form),
      encodeError(error) {
        const { status, body } = protocol.encodeError(error, newRequestId());
        return form.createRequest(remembered).encodeError({ status, body }, {});
      },
      onInternalError: (error) => log.error({ cause: error.cause }, 'internal error'),
      onClose: () => open.delete(connection),
    });
    open.add(connection);
    if (stopping) connection.goAway(stopping);
  }

  async function handle({ message, exchange, request, reply }: HandledMessage, form: SocketForm): Promise<boolean> {
    const { operations } = exchange.protocol;
    const key = keyOf(exchange);
    exchange.headers.setAttempts(0);
    exchange.headers.setRateLimit(() => admission.rateLimitHeaders(key));
    exchange.hold.keep(await admission.enter(key));
    const { body, size } = await request.read(
      await readBody(message.bytes, { names: form.names }),
      message.bytes.length,
    );
    exchange.body = await writeBody(body, size);
    message.bytes = NO_BYTES;
    const { length } = exchange.body;
    if (length > bodyLimit)
      throw new GatewayError('payload_too_large', `The request is larger than ${bodyLimit} bytes.`);
    if (!message.reservation.growTo(length)) throw noRoom();
    const asked = { call: callOf(exchange, { body }, { operation: operations.complete, match: {} }), match: {} };
    asked.call.previous = request.previous;
    exchange.body = NO_BYTES;
    if (request.needsUpstream) {
      await handleCall(exchange, asked, options);
      return asked.call.keeper?.isStored === true;
    }
    const { state } = options.dispatch();
    const { model } = await decideCall(exchange, { ...asked, state }, options);
    const created = Math.floor(clock.now() / 1000);
    reply.endWith(request.ownResponse({ requestId: exchange.requestId, model, created }));
    return false;
  }

  return {
    open: accept,
    close() {
      stopping = new GatewayError('unavailable', 'The gateway is stopping; try again.');
      for (const connection of open) connection.goAway(stopping);
    },
  };
}

function upgradeRequired(enabled: boolean): GatewayError {
  const message = enabled
    ? 'This path takes WebSockets, and POST for requests over HTTP.'
    : 'WebSockets are switched off here: send requests with POST.';
  return new GatewayError('upgrade_required', message);
}
