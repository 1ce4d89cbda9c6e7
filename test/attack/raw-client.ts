/** Clients that misbehave on the wire: what is sent, when, and from which address is up to the test. */

import { connect, type Socket } from 'node:net';

export interface RawClient {
  socket: Socket;
  /** All that came so far. */
  readonly received: string;
  /** The first status line's number; undefined where the connection ends before. */
  status: Promise<number | undefined>;
  closed: Promise<void>;
}

/** `from` is an address of this machine. */
export function openClient(url: string, from?: string): RawClient {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, localAddress: from });
  let received = '';
  let answered = (_status: number | undefined): void => undefined;
  const status = new Promise<number | undefined>((resolve) => {
    answered = resolve;
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    received += chunk;
    const found = /^HTTP\/1\.1 (\d{3})/.exec(received)?.[1];
    if (found) answered(Number(found));
  });
  socket.once('close', () => answered(undefined));
  return {
    socket,
    get received() {
      return received;
    },
    status,
    closed,
  };
}

/** The head of a request; `headers` are lines. */
export function headOf(method: string, path: string, headers: readonly string[]): string {
  return `${[`${method} ${path} HTTP/1.1`, 'host: x', ...headers].join('\r\n')}\r\n\r\n`;
}

/** Writes so many bytes of a body as fast as they are taken, until the connection ends or the caller has enough. */
export async function pour(socket: Socket, bytes: number, isEnough = (): boolean => false): Promise<void> {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  for (let sent = 0; sent < bytes && !socket.destroyed && !isEnough(); ) {
    const piece = chunk.subarray(0, Math.min(chunk.length, bytes - sent));
    sent += piece.length;
    if (!socket.write(piece)) await nextDrain(socket);
  }
}

function nextDrain(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}
