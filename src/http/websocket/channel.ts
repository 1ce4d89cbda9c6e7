/** Channel of a WebSocket: messages to the client, and the queue of those not written yet. */

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

export class SocketChannel {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  #onDrain: (() => void) | undefined;

  constructor(ws: WebSocket, socket: Socket) {
    this.#ws = ws;
    this.#socket = socket;
    socket.on('drain', () => this.#onDrain?.());
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN;
  }

  /** The client reads slowly. */
  get full(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** Bytes that were handed to the system. */
  get written(): number {
    return this.#socket.bytesWritten - this.waiting;
  }

  /** Bytes that are not written yet. */
  get waiting(): number {
    return this.#socket.writableLength;
  }

  /** Sends a text message; does nothing after the connection is closed. */
  send(message: string): void {
    if (this.isOpen) this.#ws.send(message);
  }

  ping(): void {
    if (this.isOpen) this.#ws.ping();
  }

  /** Starts the closing handshake; `reason` has at most 123 bytes. */
  close(code: number, reason: string): void {
    this.#ws.close(code, reason);
  }

  terminate(): void {
    this.#ws.terminate();
  }

  /** Writes the messages of a function at once. */
  together(write: () => void): void {
    this.#socket.cork();
    try {
      write();
    } finally {
      this.#socket.uncork();
    }
  }

  /** Replaces the previous listener. */
  onDrain(listener: (() => void) | undefined): void {
    this.#onDrain = listener;
  }

  /** Called once, when everything before is written or the client has disconnected. */
  whenWritten(listener: () => void): void {
    if (this.#socket.destroyed) listener();
    else this.#socket.write(NOTHING, () => listener());
  }
}

const NOTHING = Buffer.alloc(0);
