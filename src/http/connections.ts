/** Ends connections when the server closes: Node waits for those on which nothing was asked yet, and for those that fall idle later. */

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** Milliseconds between two looks for connections that have become idle. */
const LOOK_INTERVAL = 50;

/** Watches a server; the function that comes back, called when it closes, ends each connection as soon as nothing runs on it. */
export function connectionEnder(server: Server): () => void {
  const unused = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.on('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage) => unused.delete(socket));
  return () => {
    for (const socket of unused) socket.destroy();
    const looking = setInterval(() => server.closeIdleConnections(), LOOK_INTERVAL);
    server.once('close', () => clearInterval(looking));
  };
}
