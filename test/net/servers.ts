/** HTTPS servers on loopback addresses for tests of the guarded client. */

import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

const fixture = (name: string) => readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8');

export const testCa = fixture('test-only-ca.pem');
const identity = { cert: fixture('test-only-server.pem'), key: fixture('test-only-server-key.pem') };

export interface TestServer {
  port: number;
  /** How many TCP connections it has seen. */
  connections(): number;
  close(): Promise<void>;
}

interface Listening {
  listen(port: number, host: string, ready: () => void): unknown;
  address(): AddressInfo | string | null;
  on(event: 'connection', listener: (socket: Socket) => void): unknown;
  close(done: () => void): unknown;
}

async function start(server: Listening, host: string, port: number): Promise<TestServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((ready) => server.listen(port, host, ready));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export function startHttps(listener: RequestListener, host = '127.0.0.1', port = 0): Promise<TestServer> {
  return start(createServer(identity, listener), host, port);
}

/** A server that takes connections and does with them what the listener does. */
export function startPlain(listener: (socket: Socket) => void): Promise<TestServer> {
  return start(createTcpServer(listener), '127.0.0.1', 0);
}

/** A server that speaks TLS and then whatever bytes the listener writes. */
export function startTls(listener: (socket: Socket) => void, options: TlsOptions = {}): Promise<TestServer> {
  const server = createTlsServer({ ...identity, ...options }, (socket) => {
    socket.on('error', () => {});
    listener(socket);
  });
  return start(server, '127.0.0.1', 0);
}
