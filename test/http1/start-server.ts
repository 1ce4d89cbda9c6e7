/** Server of connections on a free port, for tests of what is above it. */

import type { GatewayError } from '../../src/core/errors.ts';
import { ConnectionServer, type ConnectionServerOptions } from '../../src/http1/connection-server.ts';
import type { ServerRequest } from '../../src/http1/server-request.ts';
import type { ServerResponse } from '../../src/http1/server-response.ts';

export interface StartedServer {
  port: number;
  close(): Promise<void>;
}

export interface StartOptions extends Partial<Pick<ConnectionServerOptions, 'requestTimeoutMs' | 'clock'>> {
  mayUpgrade?(request: ServerRequest): boolean;
}

const STATUS: Record<string, number> = { headers_too_large: 431, payload_too_large: 413, request_timeout: 408 };

/** Responds with the code of an error as the body. */
export function refuse({ code }: Pick<GatewayError, 'code'>, response: ServerResponse): void {
  response.writeHead(STATUS[code] ?? 400, { 'content-length': String(code.length) });
  response.end([code], code.length);
}

export async function startServer(
  handle: (request: ServerRequest, response: ServerResponse) => void,
  { requestTimeoutMs = 60_000, mayUpgrade = () => false, clock }: StartOptions = {},
): Promise<StartedServer> {
  const server = new ConnectionServer({
    requestTimeoutMs,
    clock,
    handler: { mayUpgrade, handle, refuse: (error, _path, response) => refuse(error, response) },
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  return { port, close: () => server.close() };
}
