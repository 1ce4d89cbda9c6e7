/** Handshake of a WebSocket: the checks of an upgrade request, apart from its authentication. */

import { GatewayError } from '../../core/errors.ts';
import type { ServerRequest } from '../../http1/server-request.ts';

/** Whether a request asks for a WebSocket. */
export function asksForWebSocket({ method, headers }: Pick<ServerRequest, 'method' | 'headers'>): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

const KEY_PATTERN = /^[A-Za-z0-9+/]{22}==$/;
const VERSION = '13';

/** Throws `invalid_request` and `permission_denied` naming the header. */
export function checkHandshake({ headers, hasBody }: Pick<ServerRequest, 'headers' | 'hasBody'>): void {
  if (hasBody) throw refusal('content-length', 'A request for a WebSocket has no body.');
  if (!KEY_PATTERN.test(headers['sec-websocket-key'] ?? '')) {
    throw refusal('sec-websocket-key', 'The header sec-websocket-key must be 16 bytes in base64.');
  }
  if (headers['sec-websocket-version'] !== VERSION) {
    throw refusal('sec-websocket-version', `The header sec-websocket-version must be ${VERSION}.`);
  }
  checkOrigin(headers);
}

/**
 * Pages of other sites may not open a WebSocket, for which browsers ask no permission of the server: a proxy may add the key
 * to all that its network sends.
 */
function checkOrigin({ origin, host }: ServerRequest['headers']): void {
  if (origin === undefined || hostOf(origin) === host?.toLowerCase()) return;
  const message =
    'Pages of other sites may not open a WebSocket: the header origin names another host than the header host.';
  throw new GatewayError('permission_denied', message, { param: 'origin' });
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

function refusal(param: string, message: string): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}
