/** One WebSocket of a client: its messages are requests, handled one after the other. */

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { type Clock, every } from '../../core/clock.ts';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import type { SocketForm, SocketMemory, SocketRequest } from '../../core/socket.ts';
import { WriteProgress } from '../../http1/connection-end.ts';
import type { BodyBudget, BodyReservation } from '../body-budget.ts';
import { SocketChannel } from './channel.ts';
import type { SocketExchange } from './exchange.ts';
import { IncomingMessages } from './incoming.ts';
import { Liveness } from './liveness.ts';
import { SocketReply } from './reply.ts';

/** A message of the client, with its memory. */
export interface SocketMessage {
  bytes: Buffer;
  reservation: BodyReservation;
}

/** A message at hand. */
export interface HandledMessage {
  message: SocketMessage;
  exchange: SocketExchange;
  request: SocketRequest;
  reply: SocketReply;
}

export interface SocketConnectionOptions {
  ws: WebSocket;
  socket: Socket;
  /** Owner in the budget of memory for messages: the key id. */
  owner: string;
  form: SocketForm;
  memory: SocketMemory & { close(): void };
  budget: BodyBudget;
  clock: Clock;
  createExchange(reply: SocketReply): SocketExchange;
  /** Rejects if the key may not be used any more. */
  authenticate(exchange?: SocketExchange): Promise<void>;
  /** Returns whether the response is stored, unless it says otherwise. Rejects with the refusal. */
  handle(handled: HandledMessage): Promise<boolean>;
  /** An error outside of a request, as a message. */
  encodeError(error: GatewayError): string;
  onInternalError(error: GatewayError): void;
  onClose(): void;
}

/** Way in which a connection ends once no request is at hand. */
interface Ending {
  code: number;
  reason: string;
  /** Told to the client before, and to requests that wait. */
  error: GatewayError;
  isTold: boolean;
}

const PING_INTERVAL_MS = 30_000;
const MAX_AGE_MS = 60 * 60 * 1000;
/** Requests that wait for those before them. */
const MAX_WAITING_REQUESTS = 16;

/** Close codes of RFC 6455. */
const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

function tooOld(): Ending {
  const reason = 'The connection has lasted for 60 minutes; open another.';
  const error = new GatewayError('websocket_connection_limit_reached', reason);
  return { code: GOING_AWAY, reason, error, isTold: false };
}

function refusedKey(error: GatewayError, isTold: boolean): Ending {
  return { code: POLICY_VIOLATION, reason: 'The key may not be used any more.', error, isTold };
}

const NO_ROOM = 'The gateway holds as many requests as it can.';

export class SocketConnection {
  readonly #options: SocketConnectionOptions;
  readonly #channel: SocketChannel;
  readonly #incoming: IncomingMessages;
  readonly #liveness: Liveness;
  readonly #progress = new WriteProgress();
  readonly #openedAt: number;
  readonly #stopTicks: () => void;
  readonly #waiting: SocketMessage[] = [];
  /** Reply of the running request. */
  #reply: SocketReply | undefined;
  #isBusy = false;
  #ending: Ending | undefined;

  constructor(options: SocketConnectionOptions) {
    this.#options = options;
    const { ws, socket, owner, budget, clock } = options;
    this.#channel = new SocketChannel(ws, socket);
    this.#liveness = new Liveness(this.#channel);
    this.#incoming = new IncomingMessages({
      owner,
      budget,
      clock,
      onNoRoom: () => this.#channel.close(TRY_AGAIN_LATER, NO_ROOM),
      onSlow: () => this.#channel.close(POLICY_VIOLATION, 'The message came too slowly.'),
    });
    this.#openedAt = clock.monotonic();
    this.#stopTicks = every(clock, PING_INTERVAL_MS, () => this.#tick());
    ws.on('message', (data) => this.#receive(data as Buffer));
    ws.on('ping', (payload) => this.#receiveControl(payload));
    ws.on('pong', (payload) => this.#receiveControl(payload));
    ws.on('error', ignore);
    ws.on('close', () => this.#closed());
    socket.on('data', (bytes: Buffer) => {
      this.#liveness.heard();
      this.#incoming.parsed(bytes.length);
    });
  }

  /** Ends the connection as soon as no request is at hand. */
  goAway(error: GatewayError): void {
    this.#end({ code: GOING_AWAY, reason: 'The gateway is stopping.', error, isTold: true });
  }

  #end(ending: Ending): void {
    this.#ending ??= ending;
    if (!this.#isBusy) void this.#run();
  }

  #receive(bytes: Buffer): void {
    const reservation = this.#incoming.completed(bytes.length);
    if (!reservation) this.#channel.close(TRY_AGAIN_LATER, NO_ROOM);
    else if (this.#waiting.length < MAX_WAITING_REQUESTS && this.#channel.isOpen) {
      this.#waiting.push({ bytes, reservation });
      if (!this.#isBusy) void this.#run();
    } else {
      reservation.release();
      this.#channel.close(POLICY_VIOLATION, `More than ${MAX_WAITING_REQUESTS} requests wait.`);
    }
  }

  #receiveControl(payload: Buffer): void {
    this.#incoming.controlFrame(payload);
    if (!this.#liveness.controlFrame()) this.#channel.close(POLICY_VIOLATION, 'Too many pings.');
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    try {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) await this.#exchange(next);
    } catch (error) {
      this.#options.onInternalError(toGatewayError(error));
      this.#channel.terminate();
    }
    this.#isBusy = false;
    if (!this.#ending || !this.#channel.isOpen) return;
    const { code, reason, error, isTold } = this.#ending;
    if (!isTold) this.#channel.send(this.#options.encodeError(error));
    this.#channel.close(code, reason);
  }

  async #exchange(message: SocketMessage): Promise<void> {
    const { form, memory, createExchange, authenticate, handle } = this.#options;
    const request = form.createRequest(memory);
    const reply = new SocketReply(this.#channel, request);
    this.#reply = reply;
    const closed = new Promise<void>((resolve) => reply.onDone(resolve));
    const exchange = createExchange(reply);
    exchange.hold.keep(message.reservation.release);
    let isStored = false;
    try {
      if (this.#ending) throw this.#ending.error;
      await authenticate(exchange).catch((error) => {
        this.#ending ??= refusedKey(toGatewayError(error), true);
        throw error;
      });
      isStored = await handle({ message, exchange, request, reply });
    } catch (error) {
      exchange.refuse(toGatewayError(error));
    }
    await closed;
    this.#reply = undefined;
    this.#channel.onDrain(undefined);
    if (!reply.destroyed) await request.end(isStored);
  }

  #tick(): void {
    const { socket, clock } = this.#options;
    const isStalled = this.#progress.isStalled(socket, { now: clock.monotonic(), isServerClosing: false });
    if (!this.#liveness.tick() || isStalled) this.#channel.terminate();
    else if (clock.monotonic() - this.#openedAt >= MAX_AGE_MS) {
      this.#end(tooOld());
    } else if (!this.#isBusy) {
      this.#options.authenticate().catch((error) => this.#end(refusedKey(toGatewayError(error), false)));
    }
  }

  #closed(): void {
    this.#stopTicks();
    this.#incoming.close();
    for (const { reservation } of this.#waiting.splice(0)) reservation.release();
    this.#options.memory.close();
    this.#reply?.abort();
    this.#options.onClose();
  }
}

function ignore(): void {}
