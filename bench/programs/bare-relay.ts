/**
 * Bare relay: `node:http` and undici's dispatch, without any function of a gateway; what a relay of common parts costs.
 * Arguments: the origin of whole answers, and that of all other paths.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

const [, , instant = '', other = ''] = process.argv;
const options = { connections: 20_000, pipelining: 1 };
const pools = { instant: new Pool(instant, options), other: new Pool(other, options) };

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => void parts.push(part));
  request.on('end', () => relay(request, response, parts));
});

function relay(request: IncomingMessage, response: ServerResponse, parts: Buffer[]): void {
  const path = request.url ?? '/';
  const pool = path.startsWith('/instant/') ? pools.instant : pools.other;
  const body = parts.length === 1 ? parts[0] : Buffer.concat(parts);
  const headers = { 'content-type': 'application/json', authorization: request.headers.authorization };
  pool.dispatch(
    { path, method: 'POST', headers, body },
    {
      onRequestStart: () => undefined,
      onResponseStart(controller, status) {
        const raw = controller.rawHeaders as Buffer[];
        const kept: string[] = [];
        for (let index = 0; index + 1 < raw.length; index += 2) {
          const name = raw[index]?.toString('latin1').toLowerCase() ?? '';
          if (name === 'content-type' || name === 'content-length')
            kept.push(name, raw[index + 1]?.toString('latin1') ?? '');
        }
        response.writeHead(status, kept);
      },
      onResponseData: (_controller, data) => void response.write(data),
      onResponseEnd: () => void response.end(),
      onResponseError: () => void response.destroy(),
    },
  );
}

server.listen({ port: 0, host: '127.0.0.1', backlog: 10_000 }, () => {
  process.send?.((server.address() as AddressInfo).port);
});
process.on('disconnect', () => process.exit(0));
