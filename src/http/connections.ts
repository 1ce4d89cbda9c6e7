/** Ends of connections: at the shutdown as soon as each is idle, for which Node's `server.close` would wait, and behind a refusal. */

import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, systemClock } from '../core/clock.ts';

/** Tracks the connections of a server; `lastResponse` is undefined for a connection without a request. The returned function is called on close. */
export function connectionEnder(
  server: Server,
  lastResponse: (socket: Socket) => ServerResponse | undefined,
): () => void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  return () => {
    for (const socket of sockets) {
      const response = lastResponse(socket);
      if (response) response.once('close', () => server.closeIdleConnections());
      else socket.destroy();
    }
    server.closeIdleConnections();
  };
}

/** Longest time that a client has to read a refusal while it still sends its request. */
const LINGER_MS = 2_000;

/**
 * Lets a client read a response that closes its connection while it still sends its request: where a connection is closed with
 * bytes that nobody has read, the system tells the client at once, which then discards what it has not read itself.
 */
export function lingerAfterResponse(socket: Socket, clock: Pick<Clock, 'after'> = systemClock): void {
  socket.destroySoon = () => {
    socket.end();
    socket.once(
      'close',
      clock.after(LINGER_MS, () => socket.destroy()),
    );
  };
}
