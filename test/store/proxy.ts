/** TCP proxy that tests interrupt and restore. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TestProxy {
  port: number;
  /** Ends all connections and accepts none. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Leads new connections to another port. */
  redirect(port: number): void;
  /** The next connection that sends the text ends there, after the server has it or without; `all`: with all others. */
  cutAt(text: string, how?: { passes?: boolean; all?: boolean }): void;
  /** The next connection that sends the text gets no answer to it; resolves then. */
  silenceAt(text: string): Promise<void>;
  close(): Promise<void>;
}

export async function startProxy(host: string, port: number): Promise<TestProxy> {
  const sockets = new Set<Socket>();
  let target = port;
  let trap: { text: string; passes: boolean; all: boolean; onSilence?: () => void } | undefined;
  const server = createServer((client) => {
    const upstream = connect(target, host);
    client.prependListener('data', (chunk) => {
      if (!trap || !chunk.includes(trap.text)) return;
      const { passes, all, onSilence } = trap;
      trap = undefined;
      client.unpipe(upstream);
      upstream.unpipe(client);
      if (onSilence) return onSilence();
      upstream.end(passes ? chunk : '', () => (all ? cut() : client.destroy()));
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => undefined);
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = (server.address() as AddressInfo).port;

  async function cut(): Promise<void> {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  }

  return {
    port: own,
    cut,
    async mend() {
      server.listen(own, '127.0.0.1');
      await once(server, 'listening');
    },
    redirect(next) {
      target = next;
    },
    cutAt(text, { passes = true, all = false } = {}) {
      trap = { text, passes, all };
    },
    silenceAt: (text) =>
      new Promise((onSilence) => {
        trap = { text, passes: false, all: false, onSilence };
      }),
    close: cut,
  };
}
