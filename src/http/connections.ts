/** Connection shutdown: closes unused and idle connections, for which Node's `server.close` would wait. */

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** Interval of the check for connections that became idle. */
const IDLE_CHECK_INTERVAL_MS = 50;

/** Tracks the connections of a server. The returned function, called on close, closes each as soon as it is idle. */
export function connectionEnder(server: Server): () => void {
  const unused = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.on('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage) => unused.delete(socket));
  return () => {
    for (const socket of unused) socket.destroy();
    const looking = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_INTERVAL_MS);
    server.once('close', () => clearInterval(looking));
  };
}
