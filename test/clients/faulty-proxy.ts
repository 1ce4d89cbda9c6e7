/** A TCP proxy that loses connections: what a client sees of a network in trouble. */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * What happens to one connection. `refuse`: it ends when a request comes, which nobody gets. `lose-answer`: the gateway
 * gets the request, and its answer is lost. `bad-gateway`: the same, with 502 in place of the answer. `pass`: nothing.
 */
export type Fault = 'refuse' | 'lose-answer' | 'bad-gateway' | 'pass';

export interface FaultyProxy {
  url: string;
  /** What happened to the connections on which something was asked, in order. */
  met: Fault[];
  close(): Promise<void>;
}

const BAD_GATEWAY = 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

/** The connections meet the faults in order, and all later ones pass. */
export async function startFaultyProxy(target: string, faults: readonly Fault[]): Promise<FaultyProxy> {
  const { hostname, port } = new URL(target);
  const met: Fault[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client);
    client.on('close', () => sockets.delete(client));
    client.on('error', () => {});
    client.once('data', (first) => {
      const fault = faults[met.length] ?? 'pass';
      met.push(fault);
      if (fault === 'refuse') return client.destroy();
      const upstream = connect(Number(port), hostname);
      upstream.on('error', () => client.destroy());
      upstream.on('close', () => client.destroy());
      client.on('close', () => upstream.destroy());
      upstream.write(first);
      client.pipe(upstream);
      if (fault === 'pass') upstream.pipe(client);
      else {
        upstream.once('data', () => {
          if (fault === 'bad-gateway') client.write(BAD_GATEWAY);
          client.destroySoon();
        });
      }
      return undefined;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    met,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
