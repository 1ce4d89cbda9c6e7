/** Connection shutdown: closes each connection as soon as it is idle, for which Node's `server.close` would wait. */

import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

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
