/** Server of HTTP/1.1 connections: accepts them, keeps their time, and ends them. */

import { type AddressInfo, createServer, type Server } from 'node:net';
import { type Clock, every, systemClock } from '../core/clock.ts';
import { LinkedList } from '../core/linked-list.ts';
import { ClientConnection, type ClientConnectionOptions, KEEP_ALIVE_TIMEOUT_MS } from './client-connection.ts';

export interface ConnectionServerOptions extends Pick<ClientConnectionOptions, 'handler' | 'requestTimeoutMs'> {
  clock?: Clock | undefined;
}

export interface ListenAddress {
  host: string;
  port: number;
}

/** Interval in which connections are checked for timeouts, so that they need no timers of their own. */
const CHECK_INTERVAL_MS = 5_000;

export class ConnectionServer {
  /** The server of Node, for limits on its connections. */
  readonly net: Server;
  readonly #clock: Clock;
  readonly #connections = new LinkedList<ClientConnection>();
  #isClosing = false;
  #stopChecks: () => void = () => {};
  /** Fields of all responses of a second. */
  #second = -1;
  #keepFields = '';
  #closeFields = '';

  constructor({ handler, requestTimeoutMs, clock = systemClock }: ConnectionServerOptions) {
    this.#clock = clock;
    const options: ClientConnectionOptions = {
      handler,
      clock,
      requestTimeoutMs,
      commonFields: (isLast) => this.#commonFields(isLast),
      isClosing: () => this.#isClosing,
      onReleased: (connection) => this.#connections.delete(connection),
    };
    this.net = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
      // Over a limit of connections.
      if (!socket.destroyed) this.#connections.add(new ClientConnection(socket, options));
    });
  }

  /** Resolves with the address, whose port the system chose for port 0. Rejects with the error of the system, e.g. `EADDRINUSE`. */
  listen({ host, port }: ListenAddress): Promise<ListenAddress> {
    const { net } = this;
    return new Promise((resolve, reject) => {
      net.once('error', reject);
      net.listen({ host, port }, () => {
        net.off('error', reject);
        this.#stopChecks = every(this.#clock, CHECK_INTERVAL_MS, () => this.#checkTimeouts(), { background: true });
        const bound = net.address() as AddressInfo;
        resolve({ host: bound.address, port: bound.port });
      });
    });
  }

  /** Ends connections, each as soon as no request is in progress on it; resolves when all are closed, also those that were taken over. */
  close(): Promise<void> {
    this.#isClosing = true;
    for (const connection of this.#connections) connection.closeIfIdle();
    return new Promise((resolve) =>
      this.net.close(() => {
        this.#stopChecks();
        resolve();
      }),
    );
  }

  #checkTimeouts(): void {
    const now = this.#clock.monotonic();
    for (const connection of this.#connections) connection.checkTimeouts(now);
  }

  #commonFields(isLast: boolean): string {
    const now = this.#clock.now();
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      const date = `Date: ${new Date(now).toUTCString()}\r\n`;
      this.#closeFields = `${date}Connection: close\r\n`;
      this.#keepFields = `${date}Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_TIMEOUT_MS / 1000}\r\n`;
    }
    return isLast ? this.#closeFields : this.#keepFields;
  }
}
