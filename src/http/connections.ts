/** Connections on which nothing was asked yet: Node takes them for busy, so that closing would wait for them. */

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** Watches a server; the function that comes back ends the connections without any request so far. */
export function unusedConnections(server: Server): () => void {
  const unused = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.on('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage) => unused.delete(socket));
  return () => {
    for (const socket of unused) socket.destroy();
  };
}
