/** Client that sends bytes as they are given, and waits for bytes that it is told. */

import { connect, type Socket } from 'node:net';

export interface WireClient {
  socket: Socket;
  /** All that came and was not taken. */
  readonly received: string;
  send(text: string): void;
  /** Resolves when a text has come, and takes all up to its end. Rejects if the connection ends before. */
  until(text: string): Promise<string>;
  /** Resolves with the rest when the connection is closed. */
  closed(): Promise<string>;
}

export function openWire(port: number): WireClient {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true }).setEncoding('latin1');
  let received = '';
  let notify: () => void = () => {};
  const isClosed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  // It is closed then.
  socket.on('error', () => {});
  socket.on('data', (part) => {
    received += part;
    notify();
  });
  socket.on('close', () => notify());

  return {
    socket,
    get received() {
      return received;
    },
    send: (text) => void socket.write(text, 'latin1'),
    async until(text) {
      while (!received.includes(text)) {
        if (socket.closed) throw new Error(`closed after ${JSON.stringify(received)}`);
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
      }
      const end = received.indexOf(text) + text.length;
      const taken = received.slice(0, end);
      received = received.slice(end);
      return taken;
    },
    async closed() {
      // As a client does that has read the end.
      if (socket.readableEnded) socket.end();
      else socket.once('end', () => socket.end());
      await isClosed;
      return received;
    },
  };
}
