/** A load balancer as small as one can be: it asks each gateway whether it is ready, and passes requests on to those that are. */

import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** Several times shorter than `server.drain` of the gateways. */
const LOOK_INTERVAL_MS = 100;

export interface Balancer {
  url: string;
  add(url: string): void;
  remove(url: string): void;
  /** Resolves once a gateway is among those that are ready. */
  ready(url: string): Promise<void>;
}

export async function startBalancer(context: TestContext): Promise<Balancer> {
  const targets = new Map<string, { isReady: boolean; onReady: () => void }>();
  let next = 0;
  let closed = false;
  const server = createServer((asked, response) => {
    const ready = [...targets].flatMap(([url, { isReady }]) => (isReady ? [url] : []));
    const url = ready[next++ % ready.length];
    if (url === undefined) response.writeHead(502).end('no gateway is ready');
    else pass(asked, response, url);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    closed = true;
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });

  async function look(url: string): Promise<void> {
    const target = targets.get(url);
    if (!target || closed) return;
    target.isReady = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (target.isReady) target.onReady();
    setTimeout(() => void look(url), LOOK_INTERVAL_MS).unref();
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add(url) {
      targets.set(url, { isReady: false, onReady: () => undefined });
      void look(url);
    },
    remove: (url) => void targets.delete(url),
    ready: (url) =>
      new Promise((resolve) => {
        const target = targets.get(url);
        if (target?.isReady) resolve();
        else if (target) target.onReady = resolve;
      }),
  };
}

function pass(asked: IncomingMessage, response: ServerResponse, url: string): void {
  const { method, headers, url: path } = asked;
  const sent: ClientRequest = request(`${url}${path}`, { method, headers, agent: false }, (answered) => {
    response.writeHead(answered.statusCode ?? 502, answered.headers);
    answered.pipe(response);
    answered.on('error', () => response.destroy());
  });
  sent.on('error', (error) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end(`the balancer: ${error.message}`);
  });
  asked.pipe(sent);
}
